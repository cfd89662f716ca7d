//! Kernel names of inference engines and libraries, as collected from their sources.

use super::super::{ActivityHint, KernelClass, describe};
use std::collections::HashMap;

/// One line per name: name, class, library, where it was found, with tabs between.
const ENGINES: &str = include_str!("../../../../../fixtures/kernel-names/engines.tsv");

/// Names from sources that nobody looked at while the rules were written.
const HELD_OUT: &str = include_str!("../../../../../fixtures/kernel-names/held-out.tsv");

/// How many of [`HELD_OUT`] must be right. The others' names do not tell what they do.
const HELD_OUT_RIGHT: usize = 50;

struct Row {
    name: &'static str,
    class: &'static str,
    library: &'static str,
    source: &'static str,
}

fn rows(text: &'static str) -> Vec<Row> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let rows = lines.map(|line| {
        let cells: Vec<&str> = line.split('\t').collect();
        let [name, class, library, source] = cells[..] else { panic!("not four columns: {line}") };
        Row { name, class, library, source }
    });
    rows.collect()
}

fn wrong(rows: &[Row]) -> Vec<String> {
    let class = |row: &Row| describe(row.name, ActivityHint::Kernel).class.as_str();
    let wrong = rows.iter().filter(|row| class(row) != row.class);
    wrong.map(|row| format!("{} instead of {}: {}", class(row), row.class, row.name)).collect()
}

#[test]
fn expert_28_kernels_of_current_engines_have_their_class() {
    let wrong = wrong(&rows(ENGINES));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn expert_28_rules_hold_for_names_they_were_not_written_for() {
    let rows = rows(HELD_OUT);
    let wrong = wrong(&rows);
    let right = rows.len() - wrong.len();
    assert!(right >= HELD_OUT_RIGHT, "{right} of {} are right\n{}", rows.len(), wrong.join("\n"));
}

#[test]
fn the_names_are_many_balanced_and_sourced() {
    let rows = rows(ENGINES);
    assert!(rows.len() >= 200, "{} names", rows.len());
    let mut libraries: HashMap<&str, usize> = HashMap::new();
    let mut classes: HashMap<&str, usize> = HashMap::new();
    let mut names = std::collections::HashSet::new();
    for row in &rows {
        assert!(names.insert(row.name), "twice: {}", row.name);
        assert!(KernelClass::named(row.class).is_some(), "{}: no class {}", row.name, row.class);
        assert!(row.source.len() > 12, "{}: where was it found?", row.name);
        *libraries.entry(row.library).or_default() += 1;
        *classes.entry(row.class).or_default() += 1;
    }
    let libraries_used =
        "vllm sglang tensorrt-llm flashinfer deepgemm flashmla deepep cutlass cublas aiter hipblaslt";
    for library in libraries_used.split(' ') {
        assert!(libraries.get(library).is_some_and(|count| *count >= 12), "{library}: too few names");
    }
    let classes_used =
        "gemm gemv moe attention norm activation quantization rope kv_cache sampling communication ssm copy";
    for class in classes_used.split(' ') {
        assert!(classes.get(class).is_some_and(|count| *count >= 5), "{class}: too few names");
    }
}
