//! What a notebook shows.

use rooflens_report::block::{Level, Table};
use rooflens_report::format;

/// Rows of a table in a notebook.
pub const ROWS: usize = 10;

/// A table of the report, its numbers as people read them.
pub fn table(table: &Table, limit: usize) -> String {
    let shown = table.shown(Level::Screen);
    let head: String = shown.iter().map(|&column| cell("th", &table.columns[column].title, false)).collect();
    let row = |row: &rooflens_report::block::Row| {
        let cells = shown
            .iter()
            .map(|&column| cell("td", &format::cell(&row.cells[column]), table.columns[column].number));
        format!("<tr>{}</tr>", cells.collect::<String>())
    };
    let rows: String = table.rows.iter().take(limit).map(row).collect();
    let more = match table.rows.len().saturating_sub(limit) {
        0 => String::new(),
        more => format!("<p>{} more</p>", format::plural(more as i64, "row")),
    };
    format!("<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}")
}

fn cell(tag: &str, text: &str, is_number: bool) -> String {
    let align = if is_number { "right" } else { "left" };
    format!("<{tag} style=\"text-align:{align}\">{}</{tag}>", escape(text))
}

/// Text from a trace is hostile.
pub fn escape(text: &str) -> String {
    rooflens_report::escape_html(text)
}
