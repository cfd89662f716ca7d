//! Comma-separated values after RFC 4180: every column, nothing rounded.

use std::borrow::Cow;

use crate::block::Table;
use crate::format;

pub(crate) fn table(table: &Table) -> String {
    let mut out = String::new();
    line(&mut out, table.columns.iter().map(|column| column.key.to_string()));
    for row in &table.rows {
        line(&mut out, row.cells.iter().map(format::raw));
    }
    out
}

fn line(out: &mut String, fields: impl Iterator<Item = String>) {
    for (index, field) in fields.enumerate() {
        if index > 0 {
            out.push(',');
        }
        out.push_str(&quoted(&field));
    }
    out.push_str("\r\n");
}

pub(crate) fn quoted(field: &str) -> Cow<'_, str> {
    match field.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")).into(),
        false => field.into(),
    }
}
