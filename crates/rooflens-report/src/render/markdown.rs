//! GitHub-flavoured Markdown.

use rooflens_analyze::Findings;

use crate::block::{Block, Cell, Chart, Level, Remark, Row, Stack, Table};
use crate::format;
use crate::render::{Extras, Part, bars, filled, url_path, with_more};
use crate::section::Detail;
use crate::{sections, text};

/// Rows of a table in `report.md`.
const ROWS: usize = 20;
/// Characters of a name.
const NAME: usize = 1_000;
/// Columns of a bar or line.
const WIDTH: usize = 60;

/// A Markdown file of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkdownPage {
    /// Everything, long tables cut.
    Report,
    /// Every operator with its shapes.
    Operators,
    /// Every kernel, by class and by library.
    Kernels,
}

impl MarkdownPage {
    /// Every page.
    pub const ALL: &'static [MarkdownPage] =
        &[MarkdownPage::Report, MarkdownPage::Operators, MarkdownPage::Kernels];

    /// Its file name in the report's folder.
    pub fn file_name(self) -> &'static str {
        match self {
            MarkdownPage::Report => "report.md",
            MarkdownPage::Operators => "operators.md",
            MarkdownPage::Kernels => "kernels.md",
        }
    }
}

/// A page of the findings in GitHub-flavoured Markdown.
pub fn page(findings: &Findings, page: MarkdownPage, extras: Extras<'_>) -> String {
    let (title, section, detail) = match page {
        MarkdownPage::Report => ("Where the time goes", None, Detail::Page { rows: ROWS }),
        MarkdownPage::Operators => ("Operators", Some("operators"), Detail::Full),
        MarkdownPage::Kernels => ("Kernels", Some("kernels"), Detail::Full),
    };
    let wanted = sections::ALL.iter().filter(|one| section.is_none_or(|name| one.name == name));
    let mut out = format!("# {title}\n");
    let mut filled = filled(wanted, findings, detail, extras.top.filter(|_| page == MarkdownPage::Report));
    if page == MarkdownPage::Report {
        filled = with_more(filled, extras.more);
    }
    if filled.is_empty() {
        out.push_str("\nThe trace has none.\n");
    }
    for (number, part) in filled.iter().enumerate() {
        // The verdict opens a report under its title, unless a run's numbers do.
        let heading = page == MarkdownPage::Report && (number > 0 || part.name != "verdict");
        draw_part(&mut out, part, heading, detail == Detail::Full);
    }
    out
}

pub(crate) fn parts(title: &str, parts: &[Part]) -> String {
    let mut out = format!("# {}\n", escape(title));
    for part in parts {
        let heading = !part.title.is_empty() && !matches!(part.blocks.first(), Some(Block::Lead(_)));
        draw_part(&mut out, part, heading, true);
    }
    out
}

fn draw_part(out: &mut String, part: &Part, heading: bool, full: bool) {
    if heading {
        out.push_str(&format!("\n## {}\n", part.title));
    }
    // A figure without a file cannot be referred to.
    let is_shown = |block: &&Block| !matches!(block, Block::Drawing(drawing) if drawing.path.is_empty());
    for block in part.blocks.iter().filter(is_shown) {
        out.push('\n');
        draw(out, block, full);
    }
}

fn draw(out: &mut String, block: &Block, full: bool) {
    match block {
        Block::Lead(sentence) => out.push_str(&format!("**{}**\n", prose(sentence))),
        Block::Heading(heading) => out.push_str(&format!("### {}\n", escape(heading))),
        Block::Text(sentence) => out.push_str(&format!("{}\n", prose(sentence))),
        Block::Steps(steps) => {
            out.push_str("### What to look at next\n\n");
            for (index, step) in steps.iter().enumerate() {
                out.push_str(&format!("{}. {}\n", index + 1, prose(step)));
            }
        }
        Block::Lines(lines) => {
            for line in lines {
                out.push_str(&format!("- {}\n", prose(line)));
            }
        }
        Block::Facts(facts) => {
            for fact in facts {
                out.push_str(&format!("- {}: {}\n", prose(&fact.label), cell(&fact.value)));
            }
        }
        Block::Table(table) => draw_table(out, table, full),
        Block::Stack(stack) => draw_stack(out, stack),
        Block::Chart(chart) => draw_chart(out, chart),
        Block::Remarks(remarks) => draw_remarks(out, remarks),
        Block::Drawing(drawing) => {
            let path = url_path(&drawing.path);
            out.push_str(&format!("![{}]({path})\n", escape(&drawing.title)));
        }
        Block::Folded { title, blocks } => {
            out.push_str(&format!(
                "<details><summary>{}</summary>\n",
                text::without_markup(&text::clean(title))
            ));
            for block in blocks {
                out.push('\n');
                draw(out, block, full);
            }
            out.push_str("\n</details>\n");
        }
    }
}

fn draw_table(out: &mut String, table: &Table, full: bool) {
    let shown = table.shown(Level::Page);
    header(out, shown.iter().map(|index| (&*table.columns[*index].title, table.columns[*index].number)));
    for row in &table.rows {
        line(out, shown.iter().map(|index| cell(&row.cells[*index])));
        for child in row.children.iter().filter(|_| full) {
            line(out, shown.iter().enumerate().map(|(place, index)| part(child, *index, place == 0)));
        }
    }
    for sentence in
        [table.left_out.as_ref().map(format::left_out), format::hollow(table)].into_iter().flatten()
    {
        out.push_str(&format!("\n{}\n", escape(&sentence)));
    }
    if full {
        full_names(out, table);
    }
}

/// A cell of a row's part: nothing where a number is not kept for parts.
fn part(row: &Row, index: usize, first: bool) -> String {
    match &row.cells[index] {
        Cell::Missing(_) => String::new(),
        found if first => format!("↳ {}", cell(found)),
        found => cell(found),
    }
}

fn full_names(out: &mut String, table: &Table) {
    let name = |row: &Row| {
        row.cells.iter().find_map(|cell| match cell {
            Cell::Code { short, full } => Some((full.as_ref().unwrap_or(short).clone(), full.is_some())),
            _ => None,
        })
    };
    let names: Vec<(String, bool)> = table.rows.iter().filter_map(name).collect();
    if names.iter().any(|(_, longer)| *longer) {
        out.push_str("\n### Full names\n\nIn the order of the table.\n\n");
        for (index, (name, _)) in names.iter().enumerate() {
            out.push_str(&format!("{}. {}\n", index + 1, code(name)));
        }
    }
}

/// One bar has a row for each part; several have a row each.
fn draw_stack(out: &mut String, stack: &Stack) {
    let parts = || stack.parts.iter().map(|(tone, name)| format!("{} {}", bars::glyph(*tone), escape(name)));
    if let [bar] = stack.bars.as_slice() {
        let columns = [(bar.label.as_str(), false), ("share", true), ("time", true)];
        header(out, columns.into_iter());
        for ((part, share), ns) in parts().zip(bar.shares()).zip(&bar.parts_ns) {
            line(out, [part, shown(share), format::time(*ns as f64)].into_iter());
        }
        return;
    }
    let titles: Vec<String> =
        [String::new(), String::new()].into_iter().chain(parts()).chain(["span".to_owned()]).collect();
    header(out, titles.iter().enumerate().map(|(place, title)| (title.as_str(), place > 1)));
    for bar in &stack.bars {
        let exact: Vec<f64> = bar.shares().iter().map(|share| share.unwrap_or(0.0)).collect();
        let columns = stack.parts.iter().zip(bars::apportion(&exact, WIDTH / 2));
        let drawn: String =
            columns.map(|((tone, _), columns)| bars::glyph(*tone).to_string().repeat(columns)).collect();
        let cells = [escape(&bar.label), code(&drawn)].into_iter().chain(bar.shares().into_iter().map(shown));
        line(out, cells.chain([format::time(bar.whole_ns as f64)]));
    }
}

fn shown(share: Option<f64>) -> String {
    share.map_or(format::MISSING.to_owned(), format::share)
}

fn draw_chart(out: &mut String, chart: &Chart) {
    let peak = bars::totals(chart).into_iter().fold(0.0, f64::max);
    let peak = format::value(peak, &chart.y.1);
    out.push_str(&format!("{}: {} {}, peak {peak}\n\n", escape(&chart.title), chart.y.0, chart.x.0));
    out.push_str(&format!("    {}\n", bars::sparkline(chart, WIDTH)));
}

fn draw_remarks(out: &mut String, remarks: &[Remark]) {
    header(out, [("", false), ("what", false), ("count", true), ("where", false), ("", false)].into_iter());
    for remark in remarks {
        let grade = remark.grade.as_str().to_owned();
        let words =
            [escape(&remark.code), remark.how_often(), escape(&remark.source), escape(&remark.message)];
        line(out, std::iter::once(grade).chain(words));
    }
}

fn header<'a>(out: &mut String, columns: impl Iterator<Item = (&'a str, bool)> + Clone) {
    line(out, columns.clone().map(|(title, _)| escape(title)));
    line(out, columns.map(|(_, number)| if number { "---:" } else { "---" }.to_owned()));
}

fn line(out: &mut String, cells: impl Iterator<Item = String>) {
    out.push('|');
    for cell in cells {
        out.push_str(&format!(" {cell} |"));
    }
    out.push('\n');
}

fn cell(cell: &Cell) -> String {
    match cell {
        // In a table a bar ends the cell even inside code.
        Cell::Code { short, .. } => code(short).replace('|', "\\|"),
        Cell::Text(_) | Cell::Word(_) => escape(&format::cell(cell)),
        Cell::Link { words, path } => format!("[{}]({})", escape(words), url_path(path)),
        Cell::Best(best) => format!("**{}** ★", self::cell(best)),
        number => format::cell(number),
    }
}

fn code(name: &str) -> String {
    let name = text::clip(&text::clean(name), NAME);
    if name.trim().is_empty() {
        return name;
    }
    let runs = name.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(runs + 1);
    let space = if runs > 0 { " " } else { "" };
    format!("{fence}{space}{name}{space}{fence}")
}

fn prose(sentence: &str) -> String {
    let piece = |(words, is_code)| if is_code { code(words) } else { escape(words) };
    text::pieces(&text::clip(sentence, NAME)).into_iter().map(piece).collect()
}

fn escape(words: &str) -> String {
    let words = text::clip(&text::clean(words), NAME);
    let mut out = String::with_capacity(words.len());
    let mut before = ' ';
    let mut rest = words.chars().peekable();
    while let Some(c) = rest.next() {
        let special = match c {
            '\\' | '`' | '*' | '[' | ']' | '|' | '~' => true,
            // Inside a word it is no emphasis.
            '_' => !(before.is_alphanumeric() && rest.peek().is_some_and(|next| next.is_alphanumeric())),
            '#' | '+' | '-' | '=' => out.is_empty(),
            _ => false,
        };
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            _ => {
                if special {
                    out.push('\\');
                }
                out.push(c);
            }
        }
        before = c;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_only_text() {
        assert_eq!(escape("a|b\nc <b> & `x`"), "a\\|b c &lt;b&gt; &amp; \\`x\\`");
        assert_eq!(escape("launch_bound _x_"), "launch_bound \\_x\\_");
        assert_eq!(escape("# no heading"), "\\# no heading");
    }

    #[test]
    fn code_is_only_code() {
        assert_eq!(code("f<int>"), "`f<int>`");
        assert_eq!(code("a``b"), "``` a``b ```");
        assert_eq!(cell(&Cell::code("a|b")), "`a\\|b`");
        assert_eq!(code(" "), " ");
    }
}
