//! The tables, from their own declarations.

use std::fmt::Write as _;

use anyhow::{Context, Result};
use rooflens_schema::table::{Encoding, TableSpec};
use rooflens_schema::tables::{
    ActivityKind, ApiKind, BlockState, CounterSource, CounterStep, GapCause, PhaseKind, PhaseSource,
    RangeStyle, Transpose, specs,
};
use rooflens_schema::{SCHEMA_VERSION, Severity, Stage};

use super::cell;

pub fn page() -> Result<String> {
    let mut page = format!(
        "# Tables\n\nSchema version {SCHEMA_VERSION}. `rooflens analyze … -o DIR` writes each table as \
         `DIR/tables/<name>.parquet`, which any engine that knows Parquet reads. Times are whole nanoseconds since \
         the run's clock base; a null is a value that was not measured. A minor version only adds columns that may \
         be null; a major version may change or remove one.\n\n| table | a row is |\n| --- | --- |\n"
    );
    for spec in specs() {
        writeln!(page, "| [`{0}`](#{0}) | {1} |", spec.name, cell(spec.doc))?;
    }
    for spec in specs() {
        table(&mut page, &spec)?;
    }
    Ok(page)
}

fn table(page: &mut String, spec: &TableSpec) -> Result<()> {
    writeln!(page, "\n## {}\n\n{}\n", spec.name, spec.doc)?;
    page.push_str("| column | type | unit | encoding | meaning |\n| --- | --- | --- | --- | --- |\n");
    if spec.per_rank {
        page.push_str("| `rank` | Int32 | id | dictionary | Rank of the job. |\n");
    }
    for column in &spec.columns {
        let encoding = match column.encoding {
            Encoding::Delta => "delta",
            Encoding::Dictionary => "dictionary",
        };
        let kind = if is_word(column) { "Utf8".to_owned() } else { column.data_type.to_string() };
        let null = if column.nullable { ", null" } else { "" };
        writeln!(
            page,
            "| `{}` | {kind}{null} | {} | {encoding} | {} |",
            column.name,
            column.unit,
            cell(column.doc)
        )?;
    }
    for column in spec.columns.iter().filter(|column| is_word(column)) {
        let words = words(spec.name, column.name).with_context(|| {
            format!("add the words of {}.{} to xtask/src/generate/tables.rs", spec.name, column.name)
        })?;
        writeln!(page, "\n`{}` is one of:\n", column.name)?;
        for (word, meaning) in words {
            writeln!(page, "- `{word}`: {meaning}")?;
        }
    }
    Ok(())
}

fn is_word(column: &rooflens_schema::table::Column) -> bool {
    // Only closed sets of words are dictionaries in the schema itself.
    column.data_type.to_string().starts_with("Dictionary")
}

/// The words of a column and what they mean.
fn words(table: &str, column: &str) -> Option<Vec<(&'static str, &'static str)>> {
    macro_rules! all {
        ($words:ty) => {
            <$words>::ALL.iter().map(|word| (word.as_str(), word.doc())).collect()
        };
    }
    Some(match (table, column) {
        ("kernels", "kind") => all!(ActivityKind),
        ("kernels", "gap_cause") => all!(GapCause),
        ("api", "kind") => all!(ApiKind),
        ("ranges", "style") => all!(RangeStyle),
        ("memory_blocks", "state") => all!(BlockState),
        ("gemms", "trans_a" | "trans_b") => all!(Transpose),
        ("counters", "source") => all!(CounterSource),
        ("counters", "step") => all!(CounterStep),
        ("phases", "kind") => all!(PhaseKind),
        ("phases", "source") => all!(PhaseSource),
        ("notes", "stage") => all!(Stage),
        ("notes", "severity") => all!(Severity),
        _ => return None,
    })
}
