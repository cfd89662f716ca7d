//! Comma-separated values after RFC 4180: every column, nothing rounded.

use crate::block::Table;
use crate::format;

/// A table with a header line.
pub fn table(table: &Table) -> String {
    let mut out = String::new();
    line(&mut out, table.columns.iter().map(|column| column.key.to_owned()));
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
        if field.contains([',', '"', '\n', '\r']) {
            out.push('"');
            out.push_str(&field.replace('"', "\"\""));
            out.push('"');
        } else {
            out.push_str(&field);
        }
    }
    out.push_str("\r\n");
}
