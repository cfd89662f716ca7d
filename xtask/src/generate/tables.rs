//! The tables of a run and of a store, and the named queries, from their own declarations.

use std::fmt::Write as _;

use anyhow::Result;
use rooflens_queries::NamedQuery;
use rooflens_schema::SCHEMA_VERSION;
use rooflens_schema::table::{Encoding, TableSpec};
use rooflens_schema::tables::specs;
use rooflens_store::tables::KEPT_AT_HOME;
use rooflens_store::{ColumnValue, StoreArea, StoreTable};

use super::markdown::cell;

pub(crate) fn tables() -> Result<String> {
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

pub(crate) fn store() -> Result<String> {
    let mut page = "# Store\n\n\
        `rooflens store add RUN --store STORE` writes these tables as Parquet files; `rooflens query` reads them. Every \
        table also has `day` (text, the UTC day on which the run began) and `tenant` (text), which are in the paths of \
        the files: a condition on them reads only those files. How files lie and which of them count: \
        [scale.md](../scale.md). A run that several tenants have is there once for each: join on `run_id` and \
        `tenant`.\n\n## Tables\n\n| table | area | a row is |\n| --- | --- | --- |\n"
        .to_owned();
    for table in rooflens_store::tables() {
        writeln!(page, "| [`{0}`](#{0}) | {1} | {2} |", table.name, table.area.as_str(), cell(table.doc))?;
    }
    let (names, _) = rooflens_store::KERNEL_NAMES;
    writeln!(
        page,
        "\n`{names}` is a view of `kernel_dim` with each kernel once: `kernel_id`, `name`, `short_name`, `class`, `library`, \
         `dtype`. Join it where names are wanted; a join with `kernel_dim` itself repeats rows, since each run brings its \
         kernels."
    )?;
    page.push_str("\nColumns of a run's tables that stay on its machine:\n\n");
    for (table, columns) in KEPT_AT_HOME {
        let columns: Vec<String> = columns.iter().map(|column| format!("`{column}`")).collect();
        match *columns == ["`*`"] {
            true => writeln!(page, "- `{table}`: as a whole")?,
            false => writeln!(page, "- `{table}`: {}", columns.join(", "))?,
        }
    }
    for table in rooflens_store::tables() {
        store_table(&mut page, table)?;
    }
    page.push_str("\n## Named queries\n\n`rooflens query NAME --store STORE parameter=value …`. `rooflens query NAME --show duckdb` prints the SQL for another engine.\n\n| query | what it answers |\n| --- | --- |\n");
    for query in rooflens_queries::all() {
        writeln!(page, "| [`{0}`](#{0}) | {1} |", query.name(), cell(query.title()))?;
    }
    for query in rooflens_queries::all() {
        named(&mut page, query)?;
    }
    Ok(page)
}

fn store_table(page: &mut String, table: &StoreTable) -> Result<()> {
    let area = match table.area {
        StoreArea::Rollups => "A roll-up",
        StoreArea::Events => "Events: in the order of the run as added; compacted",
    };
    writeln!(
        page,
        "\n### {}\n\n{} {area}, sorted by `{}`.\n",
        table.name,
        table.doc,
        table.sort.join("`, `")
    )?;
    page.push_str("| column | type | unit | meaning |\n| --- | --- | --- | --- |\n");
    for column in &table.columns {
        let kind = match column.value {
            ColumnValue::Text => "text",
            ColumnValue::Int => "int",
            ColumnValue::BigInt => "bigint",
            ColumnValue::Double => "double",
            ColumnValue::Bool => "boolean",
        };
        let null = if column.nullable { ", null" } else { "" };
        writeln!(page, "| `{}` | {kind}{null} | {} | {} |", column.name, column.unit, cell(column.doc))?;
    }
    Ok(())
}

fn named(page: &mut String, query: &NamedQuery) -> Result<()> {
    let needs = query.needs().map(|needs| format!(" Needs: {needs}")).unwrap_or_default();
    let tables = query.tables().join("`, `");
    writeln!(page, "\n### {}\n\n{}{needs} Reads `{tables}`.\n", query.name(), query.doc())?;
    page.push_str("| parameter | type | default | meaning |\n| --- | --- | --- | --- |\n");
    for parameter in query.parameters() {
        let default = match parameter.default.as_deref() {
            None => "required".to_owned(),
            Some("") => "empty".to_owned(),
            Some(value) => format!("`{value}`"),
        };
        let kind = parameter.kind.name();
        writeln!(page, "| `{}` | {kind} | {default} | {} |", parameter.name, cell(&parameter.meaning))?;
    }
    page.push_str("\n| column | unit | meaning |\n| --- | --- | --- |\n");
    for column in query.columns() {
        writeln!(page, "| `{}` | {} | {} |", column.name, column.unit, cell(&column.meaning))?;
    }
    Ok(())
}
