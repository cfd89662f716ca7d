//! Rows of a trace.

use rooflens_core::fleet::json_value;
use rooflens_core::kept::KeptTables;
use rooflens_schema::parquet_io::MemoryTable;
use serde_json::Value as Json;

use crate::mcp::bounded::{CELL, cut};
use crate::mcp::work::error_text;

/// The most rows of one answer.
pub(crate) const MOST_ROWS: usize = 200;

/// Every table with its columns and rows.
pub(crate) fn list(tables: &KeptTables) -> Result<String, String> {
    let mut lines = vec!["table | rows | columns".to_owned()];
    for name in tables.names().map_err(|error| error_text(&error))? {
        if let Some(table) = tables.table(&name).map_err(|error| error_text(&error))? {
            let columns: Vec<&str> =
                table.schema.fields().iter().map(|field| field.name().as_str()).collect();
            lines.push(format!("{name} | {} | {}", rows_of(&table), columns.join(", ")));
        }
    }
    Ok(lines.join("\n"))
}

fn rows_of(table: &MemoryTable) -> usize {
    table.batches.iter().map(|batch| batch.num_rows()).sum()
}

/// Which rows and columns are wanted.
pub(crate) struct WantedRows {
    /// Columns, in this order; empty for all.
    pub(crate) columns: Vec<String>,
    /// The column that rows are ordered by, largest first.
    pub(crate) largest: Option<String>,
    /// Rows before the first that is wanted.
    pub(crate) offset: usize,
    /// How many rows.
    pub(crate) limit: usize,
}

/// Some rows of a table, as lines of values with `|` between them; how many there are in all.
pub fn read(table: &MemoryTable, wanted: &WantedRows) -> Result<(String, usize), String> {
    let position = |name: &String| {
        let known = || table.schema.fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>();
        table.schema.index_of(name).map_err(|_| format!("no column {name}; there are {}", known().join(", ")))
    };
    let columns: Vec<usize> = match wanted.columns.is_empty() {
        true => (0..table.schema.fields().len()).collect(),
        false => wanted.columns.iter().map(position).collect::<Result<_, _>>()?,
    };
    let mut rows: Vec<(usize, usize)> = Vec::new();
    for (at, batch) in table.batches.iter().enumerate() {
        rows.extend((0..batch.num_rows()).map(|row| (at, row)));
    }
    let all = rows.len();
    if let Some(column) = wanted.largest.as_ref().map(position).transpose()? {
        let number = |&(batch, row): &(usize, usize)| {
            json_value(table.batches[batch].column(column), row).as_f64().unwrap_or(f64::NEG_INFINITY)
        };
        rows.sort_by(|a, b| number(b).total_cmp(&number(a)));
    }
    let mut lines = vec![names(table, &columns)];
    for (batch, row) in rows.into_iter().skip(wanted.offset).take(wanted.limit) {
        let cells = columns.iter().map(|&column| cell(&json_value(table.batches[batch].column(column), row)));
        lines.push(cells.collect::<Vec<_>>().join(" | "));
    }
    Ok((lines.join("\n"), all))
}

fn names(table: &MemoryTable, columns: &[usize]) -> String {
    columns.iter().map(|&at| table.schema.field(at).name().as_str()).collect::<Vec<_>>().join(" | ")
}

fn cell(value: &Json) -> String {
    let text = match value {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        other => other.to_string(),
    };
    // A name may hold anything: it stays on its line and in its cell.
    cut(&text, CELL).replace(['\n', '\r', '|'], " ")
}
