//! The tables, from their own declarations.

use std::fmt::Write as _;

use anyhow::Result;
use rooflens_schema::SCHEMA_VERSION;
use rooflens_schema::table::{Encoding, TableSpec};
use rooflens_schema::tables::specs;

use super::cell;

pub fn page() -> Result<String> {
    let mut page = format!(
        "# Tables\n\nSchema version {SCHEMA_VERSION}. `rooflens analyze … -o DIR` writes each table as \
         `DIR/tables/<name>.parquet`, which any Parquet reader can open. Times are whole nanoseconds since \
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
        writeln!(page, "\n`{}` is one of:\n", column.name)?;
        for (word, meaning) in &column.words {
            writeln!(page, "- `{word}`: {meaning}")?;
        }
    }
    Ok(())
}

fn is_word(column: &rooflens_schema::table::ColumnSchema) -> bool {
    !column.words.is_empty()
}
