//! The tables of a store and the queries that have names, from their own declarations.

use std::fmt::Write as _;

use anyhow::Result;
use rooflens_queries::NamedQuery;
use rooflens_store::tables::KEPT_AT_HOME;
use rooflens_store::{ColumnValue, StoreArea, StoreTable, tables};

use super::cell;

pub fn page() -> Result<String> {
    let mut page = "# Store\n\n\
        `rooflens store add RUN --store STORE` writes these tables as Parquet files; `rooflens query` reads them. Every \
        table also has `day` (text, the UTC day on which the run began) and `tenant` (text), which are in the paths of \
        the files: a condition on them reads only those files. How files lie and which of them count: \
        [scale.md](../scale.md). A run that several tenants have is there once for each: join on `run_id` and \
        `tenant`.\n\n## Tables\n\n| table | area | a row is |\n| --- | --- | --- |\n"
        .to_owned();
    for table in tables() {
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
    for table in tables() {
        columns(&mut page, table)?;
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

fn columns(page: &mut String, table: &StoreTable) -> Result<()> {
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
