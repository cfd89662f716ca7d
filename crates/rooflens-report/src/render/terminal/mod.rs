//! One screen.

mod canvas;
mod grid;

use rooflens_analyze::Findings;

use crate::block::{Block, Cell, Chart, Level, Mark, Remark, Row, Stack, StackBar, Table, Tone};
use crate::format;
use crate::render::{Part, bars, filled};
use crate::section::Detail;
use crate::{sections, text};
use canvas::{Ink, StyledText, TextLine, line_width};
use grid::{Fit, Grid, GridColumn, GridItem};

/// What the terminal can show.
#[derive(Debug, Clone)]
pub struct TerminalOptions {
    /// Columns; no line is wider.
    pub width: usize,
    /// Whether escape codes for colours may be written.
    pub color: bool,
    /// Whether anything beyond ASCII may be written.
    pub unicode: bool,
    /// Rows of a table.
    pub limit: usize,
}

impl Default for TerminalOptions {
    fn default() -> Self {
        TerminalOptions { width: 100, color: false, unicode: true, limit: 5 }
    }
}

/// Where the text next to a title begins.
const MARGIN: usize = 18;
/// A verdict longer than this many lines is cut.
const LEAD_LINES: usize = 6;
/// A remark longer than this is cut.
const REMARK_LINES: usize = 2;
/// An item of a list longer than this is cut: what to type must not be.
const ITEM_LINES: usize = 10;
/// What to do next ends with what it gains, so it has room for a long kernel name before that.
const STEP_LINES: usize = 5;
/// A line of values is no longer than this: the scale stands near it.
const SPARK_COLUMNS: usize = 60;
/// Any other sentence longer than this is cut.
const TEXT_LINES: usize = 3;

/// The findings on one screen, beginning with the verdict.
pub fn screen(findings: &Findings, options: &TerminalOptions) -> String {
    parts(&filled(sections::ALL, findings, Detail::Screen { rows: options.limit }, None), options)
}

pub(crate) fn parts(parts: &[Part], options: &TerminalOptions) -> String {
    let mut lines: Vec<TextLine> = vec![];
    let mut airy = false;
    for part in parts {
        let mut title = part.title;
        for block in &part.blocks {
            if let Block::Heading(heading) = block {
                title = heading;
                continue;
            }
            // What stands beside its title needs no air; what stands below it does.
            let tall = matches!(block, Block::Table(_) | Block::Stack(_) | Block::Steps(_));
            let ended = lines.last().is_none_or(Vec::is_empty);
            if !ended && (tall || (airy && title == part.title)) {
                lines.push(vec![]);
            }
            airy = tall || (airy && title != part.title);
            lines.extend(draw(title, block, options.width));
            title = "";
        }
    }
    canvas::paint(&lines, options)
}

fn draw(title: &str, block: &Block, width: usize) -> Vec<TextLine> {
    let beside_width = room(width);
    match block {
        Block::Lead(sentence) => {
            let mut lines = paragraph(sentence, width, Ink::Strong, LEAD_LINES);
            lines.push(vec![]);
            lines
        }
        Block::Heading(heading) => vec![vec![StyledText::new(heading, Ink::Strong)]],
        Block::Text(sentence) => {
            below_or_beside(title, paragraph(sentence, beside_width, Ink::Faint, TEXT_LINES), width)
        }
        Block::Steps(steps) => {
            let step = |(index, step): (usize, &String)| {
                let number = StyledText::new(format!("{}. ", index + 1), Ink::Strong);
                let room = beside_width.saturating_sub(number.width());
                hang(vec![number], paragraph(step, room, Ink::Plain, STEP_LINES))
            };
            beside(title, steps.iter().enumerate().flat_map(step).collect(), width)
        }
        Block::Lines(sentences) => {
            let line = |sentence: &String| {
                let mark = StyledText::new("· ", Ink::Faint);
                let room = beside_width.saturating_sub(mark.width());
                hang(vec![mark], paragraph(sentence, room, Ink::Faint, ITEM_LINES))
            };
            beside(title, sentences.iter().flat_map(line).collect(), width)
        }
        Block::Facts(facts) => {
            // What is not known costs a line here, and stands in the report.
            let known = facts.iter().filter(|fact| !matches!(fact.value, Cell::Missing(_)));
            let facts = known.map(|fact| {
                let gap = if fact.label.is_empty() { "" } else { " " };
                let label = StyledText::new(format!("{}{gap}", fact.label), Ink::Faint);
                vec![label, StyledText::new(format::cell(&fact.value), Ink::Plain)]
            });
            beside(title, flow(facts, beside_width), width)
        }
        Block::Table(table) => table_grid(title, table, width).lines(width),
        Block::Stack(stack) => stack_grid(title, stack).lines(width),
        Block::Chart(chart) if chart.mark == Mark::Points => {
            beside(&chart.title, vec![scaled_line(chart, beside_width)], width)
        }
        Block::Chart(chart) => {
            let line = vec![StyledText::new(bars::sparkline(chart, beside_width), Ink::Tone(Tone::Plain))];
            beside(&chart.title, vec![line], width)
        }
        Block::Remarks(remarks) => {
            beside(title, remarks.iter().flat_map(|note| remark(note, beside_width)).collect(), width)
        }
        // A figure needs more than characters; its file is named where it is written.
        Block::Drawing(_) => Vec::new(),
        Block::Folded { title, blocks } => {
            let title = std::iter::once(title.as_str()).chain(std::iter::repeat(""));
            title.zip(blocks).flat_map(|(title, block)| draw(title, block, width)).collect()
        }
    }
}

fn scaled_line(chart: &Chart, width: usize) -> TextLine {
    let (low, high) = bars::extent(&bars::totals(chart));
    let (low, high) = (format::value(low, &chart.y.1), format::value(high, &chart.y.1));
    let scale = if low == high { format!("  {low}") } else { format!("  {low} to {high}") };
    let scale = text::elide(&scale, width);
    let columns = width.saturating_sub(text::width(&scale)).min(SPARK_COLUMNS);
    let line = StyledText::new(bars::scaled_sparkline(chart, columns), Ink::Tone(Tone::Plain));
    vec![line, StyledText::new(scale, Ink::Faint)]
}

fn room(width: usize) -> usize {
    width.saturating_sub(MARGIN.min(width / 3))
}

/// A title in the margin, lines beside it; a title that the margin does not hold has a line of its own.
fn below_or_beside(title: &str, lines: Vec<TextLine>, width: usize) -> Vec<TextLine> {
    let title = text::clean(title);
    if text::width(&title) < width - room(width) {
        return beside(&title, lines, width);
    }
    let heading = vec![StyledText::new(text::elide(&title, width), Ink::Strong)];
    std::iter::once(heading).chain(beside("", lines, width)).collect()
}

fn beside(title: &str, lines: Vec<TextLine>, width: usize) -> Vec<TextLine> {
    let margin = width - room(width);
    let title = StyledText::new(text::elide(&text::clean(title), margin.saturating_sub(1)), Ink::Strong);
    let padding = StyledText::new(" ".repeat(margin.saturating_sub(title.width())), Ink::Plain);
    hang(vec![title, padding], lines)
}

fn hang(mark: TextLine, lines: Vec<TextLine>) -> Vec<TextLine> {
    let space = vec![StyledText::new(" ".repeat(line_width(&mark)), Ink::Plain)];
    let marks = std::iter::once(mark).chain(std::iter::repeat(space));
    marks.zip(lines).map(|(mark, line)| mark.into_iter().chain(line).collect()).collect()
}

fn paragraph(sentence: &str, width: usize, ink: Ink, most: usize) -> Vec<TextLine> {
    // More than these lines can hold need not be measured.
    let enough = sentence.char_indices().nth((most + 1) * width.max(1)).map_or(sentence.len(), |(at, _)| at);
    let mut lines = text::wrap(&text::clean(&sentence[..enough]), width);
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            *last = format!("{}…", text::elide(last, width.saturating_sub(1)));
        }
    }
    lines.into_iter().map(|line| vec![StyledText::new(line, ink)]).collect()
}

fn flow(items: impl Iterator<Item = TextLine>, width: usize) -> Vec<TextLine> {
    let mut lines: Vec<TextLine> = vec![];
    for item in items {
        match lines.last_mut() {
            Some(line) if line_width(line) + 3 + line_width(&item) <= width => {
                line.push(StyledText::new(" · ", Ink::Faint));
                line.extend(item);
            }
            _ => lines.push(item),
        }
    }
    lines
}

fn remark(remark: &Remark, width: usize) -> Vec<TextLine> {
    let mut head = remark.code.replace('_', " ");
    let often = remark.how_often();
    if !often.is_empty() {
        head.push_str(&format!(" {often}"));
    }
    if !remark.source.is_empty() {
        head.push_str(&format!(" in {}", remark.source));
    }
    let grade = StyledText::new(format!("{:<10}", remark.grade.as_str()), Ink::Grade(remark.grade));
    let sentence = format!("{}: {}", text::elide(&text::clean(&head), 60), remark.message);
    let room = width.saturating_sub(grade.width());
    hang(vec![grade], paragraph(&sentence, room, Ink::Plain, REMARK_LINES))
}

fn table_grid(title: &str, table: &Table, width: usize) -> Grid {
    let shown = table.shown(Level::Screen);
    let mut columns = vec![];
    for index in &shown {
        let column = &table.columns[*index];
        let first = columns.is_empty();
        let header = match (&table.left_out, first && !title.is_empty()) {
            (Some(rest), true) => {
                let all = (table.rows.len() + rest.rows) as i64;
                format!("{title} · {} of {}", table.rows.len(), format::count(all))
            }
            (None, true) => title.to_owned(),
            _ => column.title.to_string(),
        };
        let ink = if first && !title.is_empty() { Ink::Strong } else { Ink::Faint };
        let fit = if column.number { Fit::Number } else { Fit::Name };
        columns.push(GridColumn {
            header: StyledText::new(header, ink),
            fit,
            may_go: column.level == Level::Screen,
        });
        if column.bar {
            columns.push(GridColumn {
                header: StyledText::new("", Ink::Plain),
                fit: Fit::Bar,
                may_go: false,
            });
        }
    }
    let row = |row: &Row| {
        let mut items = vec![];
        for index in &shown {
            let cell = &row.cells[*index];
            let aside = matches!(cell, Cell::Word(_)) && !items.is_empty();
            let ink = if aside || matches!(cell, Cell::Missing(_)) { Ink::Faint } else { Ink::Plain };
            // A name of 100 kB is cut once, before it is measured; a number is never cut.
            let shown = text::clean(&format::cell(cell));
            let shown = if table.columns[*index].number { shown } else { text::elide(&shown, width) };
            items.push(GridItem::Text(StyledText { text: shown, ink }));
            if table.columns[*index].bar {
                let share = if let Cell::Share(share) = cell { *share } else { 0.0 };
                items.push(GridItem::Bar(vec![(row.tone, share)]));
            }
        }
        items
    };
    Grid { columns, rows: table.rows.iter().map(row).collect(), legend: vec![] }
}

/// The header is the legend; each share repeats the character of its part.
fn stack_grid(title: &str, stack: &Stack) -> Grid {
    let column = |header: StyledText, fit, may_go| GridColumn { header, fit, may_go };
    let none = || StyledText::new("", Ink::Plain);
    let mut columns = vec![
        column(StyledText::new(title, Ink::Strong), Fit::Name, false),
        column(none(), Fit::Stack, false),
    ];
    columns.extend(stack.parts.iter().map(|_| column(none(), Fit::Number, false)));
    columns.push(column(none(), Fit::Number, true));
    let row = |bar: &StackBar| {
        let shares = bar.shares();
        let parts = || stack.parts.iter().map(|(tone, _)| *tone).zip(&shares);
        let mut items = vec![
            GridItem::Text(StyledText::new(&bar.label, Ink::Plain)),
            GridItem::Bar(parts().map(|(tone, share)| (tone, share.unwrap_or(0.0))).collect()),
        ];
        items.extend(parts().map(|(tone, share)| {
            let share = share.map_or(format::MISSING.to_owned(), format::share);
            GridItem::Text(StyledText::new(format!("{} {share:>5}", bars::glyph(tone)), Ink::Tone(tone)))
        }));
        items.push(GridItem::Text(StyledText::new(format::time(bar.whole_ns as f64), Ink::Faint)));
        items
    };
    let part = |(tone, name): &(Tone, String)| {
        StyledText::new(format!("{} {name}", bars::glyph(*tone)), Ink::Tone(*tone))
    };
    Grid {
        columns,
        rows: stack.bars.iter().map(row).collect(),
        legend: stack.parts.iter().map(part).collect(),
    }
}
