//! Tables: a body for each row, so that sorting and folding need no bookkeeping.

use crate::block::{Cell, Level, Row, Table, TableColumn, Tone};
use crate::format;
use crate::render::html::timeline::PlaceIndex;
use crate::render::html::words::{escape, title_attribute};
use crate::render::url_path;
use crate::text;

/// A table of so few columns takes half of the page.
pub(crate) const FEW_COLUMNS: usize = 5;
/// From this many rows on a table can be filtered and is folded.
const MANY: usize = 13;
/// Characters of a name in its cell; the row opens to the whole.
const NAME: usize = 72;

/// Longer text is a sentence, and needs room.
const SENTENCE: usize = 40;

pub(crate) fn draw(table: &Table, places: Option<&PlaceIndex<'_>>) -> String {
    let shown = table.shown(Level::Page);
    let many = table.rows.len() >= MANY;
    let head: String = shown.iter().map(|index| header(&table.columns[*index])).collect();
    let place = places.and_then(|places| places.of_table(table));
    let place = |row: &Row| place.as_ref().and_then(|place| place(row));
    let body: String = table.rows.iter().map(|row| body(table, row, &shown, place(row))).collect();
    let tools = if many { "<div class=\"tools\"></div>" } else { "" };
    let opens = table.rows.iter().any(|row| !more(row, &shown).is_empty());
    let classes = [(many, " short"), (opens, " openable"), (shown.len() <= FEW_COLUMNS, " few")];
    let class: String = classes.iter().filter(|(is, _)| *is).map(|(_, class)| *class).collect();
    let mut out = format!(
        "{tools}<div class=\"scroll\"><table class=\"data{class}\" data-name=\"{}\"><thead><tr>{head}</tr></thead>\n{body}</table></div>\n",
        table.name
    );
    for sentence in
        [table.left_out.as_ref().map(format::left_out), format::hollow(table)].into_iter().flatten()
    {
        out.push_str(&format!("<p class=\"aside\">{}</p>\n", escape(&sentence)));
    }
    out
}

pub(crate) fn has_prose(table: &Table) -> bool {
    let is_prose = |cell: &Cell| matches!(cell, Cell::Text(words) if words.len() > SENTENCE);
    let shown = table.shown(Level::Page);
    table.rows.iter().any(|row| shown.iter().any(|index| is_prose(&row.cells[*index])))
}

fn header(column: &TableColumn) -> String {
    let class = if column.number { " class=\"n\"" } else { "" };
    format!("<th scope=\"col\"{class}{}>{}</th>", title_attribute(&column.help), escape(&column.title))
}

fn body(table: &Table, row: &Row, shown: &[usize], place: Option<String>) -> String {
    let more = more(row, shown);
    let cells: String = shown
        .iter()
        .enumerate()
        .map(|(place, index)| {
            cell(&table.columns[*index], &row.cells[*index], row.tone, place == 0 && !more.is_empty())
        })
        .collect();
    let place = place.map(|place| format!(" data-place=\"{}\"", escape(&place))).unwrap_or_default();
    format!("<tbody{place}><tr>{cells}</tr>{more}</tbody>\n")
}

fn more(row: &Row, shown: &[usize]) -> String {
    let mut out = String::new();
    for cell in shown.iter().map(|index| &row.cells[*index]) {
        if let Cell::Code { short, full } = cell
            && (full.is_some() || short.chars().count() > NAME)
        {
            let name = escape(full.as_ref().unwrap_or(short));
            out.push_str(&format!(
                "<tr class=\"more\"><td colspan=\"{}\"><code>{name}</code></td></tr>",
                shown.len()
            ));
        }
    }
    for child in &row.children {
        let cells: String = shown
            .iter()
            .map(|index| match &child.cells[*index] {
                Cell::Missing(_) => "<td></td>".to_owned(),
                Cell::Code { short, .. } => format!("<td><code>{}</code></td>", escape(short)),
                other => format!("<td class=\"n\">{}</td>", value(other)),
            })
            .collect();
        out.push_str(&format!("<tr class=\"more\">{cells}</tr>"));
    }
    out
}

fn cell(column: &TableColumn, cell: &Cell, tone: Tone, opens: bool) -> String {
    let button = if opens { "<button aria-expanded=\"false\" aria-label=\"More\"></button>" } else { "" };
    let class = match (column.bar, column.number, opens) {
        (true, _, _) => " class=\"n bar\"",
        (_, true, _) => " class=\"n\"",
        (_, _, true) => " class=\"opens\"",
        _ => match cell {
            Cell::Text(words) if words.len() > SENTENCE => " class=\"prose\"",
            Cell::Text(_) => " class=\"phrase\"",
            _ => "",
        },
    };
    let sort = if column.number { format!(" data-v=\"{}\"", format::raw(cell)) } else { String::new() };
    let bar = match cell {
        Cell::Share(share) if column.bar && share.is_finite() => format!(
            "<svg viewBox=\"0 0 100 1\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\
             <rect width=\"{:.2}\" height=\"1\" class=\"t-{}\"/></svg>",
            share.clamp(0.0, 1.0) * 100.0,
            tone.as_str()
        ),
        _ => String::new(),
    };
    let value = if column.bar { format!("<span>{}</span>", value(cell)) } else { value(cell) };
    format!("<td{class}{sort}>{button}{bar}{value}</td>")
}

pub(crate) fn value(cell: &Cell) -> String {
    match cell {
        Cell::Missing(reason) => {
            format!("<span class=\"missing\"{}>{}</span>", title_attribute(reason), format::MISSING)
        }
        Cell::Code { short, .. } => {
            format!("<code>{}</code>", breakable(&text::elide(&text::clean(short), NAME)))
        }
        Cell::Best(best) => {
            format!("<b class=\"best\" title=\"the best of its column\">{} ★</b>", value(best))
        }
        Cell::Link { words, path } => format!("<a href=\"{}\">{}</a>", url_path(path), escape(words)),
        Cell::Word(_) => format!("<span class=\"word\">{}</span>", escape(&format::cell(cell))),
        other => escape(&format::cell(other)),
    }
}

fn breakable(name: &str) -> String {
    name.split_inclusive(['_', ':', '/', '.', ',', '<', '('])
        .map(escape)
        .collect::<Vec<String>>()
        .join("<wbr>")
}
