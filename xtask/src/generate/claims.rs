//! The table in docs/accuracy.md of claims that were once wrong, with the tests that hold them now.

use std::collections::BTreeMap;

use anyhow::Context as _;
use anyhow::{Result, ensure};

use super::markdown::test_link;
use crate::workspace;

const BEGIN: &str = "<!-- Kept by `cargo xtask generate`: tests are named after the row. -->\n";
const END: &str = "<!-- End of the table. -->\n";

/// What each row is about. A test that holds it has a name that begins with the row's.
const ROWS: &[(&str, &str)] = &[
    ("expert_01", "Nested annotations of one step are one step, with one lower bound"),
    ("expert_02", "The lower bound of a class is that of its own operators, not apportioned by time"),
    ("expert_03", "A model that cannot have made the trace is refused"),
    ("expert_04", "Durations on the host and on the device are told apart"),
    ("expert_05", "Shares in a sentence add up with the tables"),
    ("expert_06", "The cause of a gap is what covers most of it"),
    ("expert_07", "Pinned memory is not advised for pinned copies"),
    ("expert_08", "What can be saved has one value"),
    ("expert_09", "Waiting for a slow rank is not communication"),
    ("expert_10", "A trace that lost its device events says so first"),
    ("expert_11", "The largest loss comes first, with the achieved rate against the roof"),
    ("expert_12", "Kernels that Inductor made are compiled already"),
    ("expert_13", "Padding by the engine is not blamed on the model's code"),
    ("expert_14", "Eager steps are to be captured or compiled"),
    ("expert_15", "Changes to the model's design stand under a heading of their own"),
    ("expert_16", "Gains are computed from steps, not from artefacts, and pay for what they add"),
    ("expert_17", "Every kind of loss has a rule"),
    ("expert_18", "A bound uses the fastest kernels that exist for the formats"),
    ("expert_19", "The format of recurrent states is shown and can be set"),
    ("expert_20", "A bound that no implementation beats, and an estimate beside it"),
    ("expert_21", "Image tokens enter the language model"),
    ("expert_22", "Device memory is what drivers report"),
    ("expert_23", "Layouts that engines refuse, nodes, and links between them"),
    ("expert_24", "Cache layouts as engines have them; a bound never promises a target"),
    ("expert_25", "`compare` shows every number at every width"),
    ("expert_26", "`compare` by phase, class and operator; every table adds up"),
    ("expert_27", "`compare` shows idle time and its causes"),
    ("expert_28", "Classes of the kernels of current engines"),
    ("newcomer_01", "Steps of SGLang are counted once"),
    ("newcomer_02", "Names are shortened, never numbers"),
    ("newcomer_03", "Default runs can be compared"),
    ("newcomer_04", "A context may be written as `4k` everywhere"),
    ("newcomer_05", "A metric has one value"),
    ("newcomer_06", "The verdict agrees with its tables"),
    ("newcomer_07", "`model.path` uses the checkpoint's weights"),
    ("newcomer_08", "A run that would do nothing is refused"),
    ("newcomer_09", "Gains are in the time without the profiler"),
    ("newcomer_10", "A target is met only by the estimate"),
    ("newcomer_11", "What fits a device is said to fit"),
    ("newcomer_12", "A wrong model is refused; the trace's own device is used"),
    ("newcomer_13", "A truncated GPU trace is not a CPU-only one"),
    ("newcomer_14", "`kernels top` and `analyze` agree"),
    ("newcomer_15", "The page: nothing clipped, charts before prose, the terminal's own list"),
    ("newcomer_16", "Names of operators keep their underscores"),
    ("newcomer_17", "Advice names only options that the runtime has"),
    ("newcomer_18", "`trend` names runs and reads kept metrics"),
    ("newcomer_19", "Limits, batches, names and folders mean what they say"),
    ("newcomer_20", "`explain` knows the words on the screen"),
];

pub(crate) fn page() -> Result<String> {
    let text = workspace::read("docs/accuracy.md")?;
    let (before, rest) = text.split_once(BEGIN).context("docs/accuracy.md has no table of claims")?;
    let (_, after) = rest.split_once(END).context("the table of claims in docs/accuracy.md has no end")?;
    Ok(format!("{before}{BEGIN}\n{}\n{END}{after}", table(&tests()?)?))
}

fn tests() -> Result<BTreeMap<&'static str, Vec<(String, String)>>> {
    let mut found: BTreeMap<&str, Vec<(String, String)>> = BTreeMap::new();
    for (name, file) in all_tests()? {
        for (row, _) in ROWS.iter().filter(|(row, _)| name.contains(row)) {
            found.entry(row).or_default().push((name.clone(), file.clone()));
        }
    }
    Ok(found)
}

/// Tests whose names are a prefix, one or more numbers and what they hold, by each number.
pub(crate) fn tests_named(prefix: &str) -> Result<BTreeMap<u32, Vec<(String, String)>>> {
    let mut found: BTreeMap<u32, Vec<(String, String)>> = BTreeMap::new();
    for (name, file) in all_tests()? {
        let words = name.strip_prefix(prefix).unwrap_or_default().split('_');
        for number in words.map_while(|word| word.parse().ok()) {
            found.entry(number).or_default().push((name.clone(), file.clone()));
        }
    }
    Ok(found)
}

/// Every test that is named after a row of some table, with its file.
fn all_tests() -> Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    for file in workspace::files()? {
        let ending = file.extension().and_then(|ending| ending.to_str());
        let shown = file.to_string_lossy().replace('\\', "/");
        if matches!(ending, Some("rs" | "py")) && !shown.starts_with("xtask/") {
            let text = workspace::read(&file)?;
            found.extend(text.lines().filter_map(test_name).map(|name| (name.to_owned(), shown.clone())));
        }
    }
    Ok(found)
}

/// `expert_01_a_step` of `fn expert_01_a_step() {` or `def test_expert_01_a_step(self)`.
fn test_name(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let name = line.strip_prefix("fn ").or_else(|| line.strip_prefix("def test_"))?;
    let name = &name[..name.find('(')?];
    ["expert_", "newcomer_", "parity_"].iter().any(|start| name.starts_with(start)).then_some(name)
}

fn table(tests: &BTreeMap<&str, Vec<(String, String)>>) -> Result<String> {
    let mut text = String::from("| row | claim | tests |\n| --- | --- | --- |\n");
    for (row, claim) in ROWS {
        let found = tests.get(row).map_or(&[][..], Vec::as_slice);
        ensure!(!found.is_empty(), "no test is named after {row} ({claim})");
        let links: Vec<String> = found.iter().map(|(name, file)| test_link(name, file)).collect();
        text.push_str(&format!("| {} | {claim} | {} |\n", row.replace('_', " "), links.join(", ")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tests() {
        assert_eq!(test_name("fn expert_01_a_step() {"), Some("expert_01_a_step"));
        assert_eq!(test_name("    def test_newcomer_07_weights(self) -> None:"), Some("newcomer_07_weights"));
        assert_eq!(test_name("fn helper() {"), None);
    }

    #[test]
    fn every_row_has_a_test() {
        table(&tests().unwrap()).unwrap();
    }
}
