//! Columns that fit: names give way first, then the columns that may go, then the bars. Names also
//! take what room is left, so that the numbers of all tables end at the same edge.

use crate::block::Tone;
use crate::render::bars;
use crate::render::terminal::canvas::{Ink, Line, Span, line_width};
use crate::text;

const INDENT: usize = 2;
const GAP: usize = 2;
/// A name shorter than this tells little.
const SHORTEST_NAME: usize = 26;
const SHORTEST_STACK: usize = 8;
/// A wider table is hard to read across.
const WIDEST: usize = 120;

/// What stands in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// Words that may be cut.
    Name,
    /// Words that may not.
    Word,
    /// Numbers, aligned right.
    Number,
    /// A bar of a share.
    Bar,
    /// A bar of parts, which takes what is left.
    Stack,
}

/// A column.
#[derive(Debug, Clone)]
pub struct GridColumn {
    /// Its header.
    pub header: Span,
    /// What stands in it.
    pub fit: Fit,
    /// Whether it may go where there is no room.
    pub may_go: bool,
}

/// What stands in a row of a column.
#[derive(Debug, Clone)]
pub enum Item {
    /// Words or a number.
    Text(Span),
    /// Parts with their shares.
    Bar(Vec<(Tone, f64)>),
}

impl Item {
    fn width(&self) -> usize {
        match self {
            Item::Text(span) => span.width(),
            Item::Bar(_) => 0,
        }
    }
}

/// Rows and columns.
#[derive(Debug)]
pub struct Grid {
    /// The columns.
    pub columns: Vec<GridColumn>,
    /// An item for each column.
    pub rows: Vec<Vec<Item>>,
    /// Stands in place of the headers after the first; may be empty.
    pub legend: Vec<Span>,
}

impl Grid {
    /// The header and a line a row, for a terminal of `width` columns.
    pub fn lines(&self, width: usize) -> Vec<Line> {
        let width = width.min(WIDEST);
        let natural: Vec<usize> = (0..self.columns.len()).map(|column| self.natural(column, width)).collect();
        let columns = self.fitting(&natural, width);
        let widths = self.widths(&columns, &natural, width);
        let mut lines = if self.legend.is_empty() {
            let header: Vec<Item> =
                self.columns.iter().map(|column| Item::Text(column.header.clone())).collect();
            vec![self.line(&header, &columns, &widths, 0)]
        } else {
            self.legend_lines(widths[0], width)
        };
        lines.extend(self.rows.iter().map(|row| self.line(row, &columns, &widths, INDENT)));
        lines
    }

    fn legend_lines(&self, margin: usize, width: usize) -> Vec<Line> {
        let mut lines = vec![];
        let mut line = vec![self.columns[0].header.clone()];
        let mut used = line_width(&line);
        for span in &self.legend {
            let gap = if line.len() == 1 { (margin + GAP).saturating_sub(used) } else { GAP };
            if line.len() > 1 && used + gap + span.width() > width {
                lines.push(std::mem::replace(&mut line, vec![Span::new("", Ink::Plain)]));
                used = 0;
            }
            let gap = if line.len() == 1 { (margin + GAP).saturating_sub(used) } else { GAP };
            line.extend([Span::new(" ".repeat(gap), Ink::Plain), span.clone()]);
            used += gap + span.width();
        }
        lines.push(line);
        lines
    }

    /// Columns that the widest item takes.
    fn natural(&self, column: usize, width: usize) -> usize {
        // Row items are indented in the first column, its header is not.
        let indent = if column == 0 { INDENT } else { 0 };
        let rows = self.rows.iter().map(|row| row[column].width() + indent).max().unwrap_or(0);
        match self.columns[column].fit {
            Fit::Name | Fit::Word | Fit::Number => rows.max(self.columns[column].header.width()),
            // The same length in all tables.
            Fit::Bar => (width / 8).clamp(8, 16),
            Fit::Stack => SHORTEST_STACK,
        }
    }

    fn least(&self, column: usize, natural: &[usize]) -> usize {
        match self.columns[column].fit {
            Fit::Name => natural[column].min(SHORTEST_NAME),
            _ => natural[column],
        }
    }

    /// The columns there is room for.
    fn fitting(&self, natural: &[usize], width: usize) -> Vec<usize> {
        let mut kept: Vec<usize> = (0..self.columns.len()).collect();
        let too_wide = |kept: &[usize]| {
            kept.iter().map(|column| self.least(*column, natural) + GAP).sum::<usize>() > width + GAP
        };
        let rightmost = |kept: &[usize]| kept.iter().rposition(|column| self.columns[*column].may_go);
        let bar = |kept: &[usize]| kept.iter().rposition(|column| self.columns[*column].fit == Fit::Bar);
        if too_wide(&kept)
            && let Some(index) = rightmost(&kept)
        {
            kept.remove(index);
        }
        if too_wide(&kept)
            && let Some(index) = bar(&kept)
        {
            kept.remove(index);
        }
        while too_wide(&kept)
            && let Some(index) = rightmost(&kept)
        {
            kept.remove(index);
        }
        kept
    }

    /// What is left goes to the stack, else to the name.
    fn widths(&self, columns: &[usize], natural: &[usize], width: usize) -> Vec<usize> {
        let mut widths: Vec<usize> = columns.iter().map(|column| self.least(*column, natural)).collect();
        let used: usize = widths.iter().sum::<usize>() + GAP * columns.len().saturating_sub(1);
        let left = width.saturating_sub(used);
        for fit in [Fit::Stack, Fit::Name] {
            if let Some(index) = columns.iter().position(|column| self.columns[*column].fit == fit) {
                widths[index] += left;
                break;
            }
        }
        widths
    }

    fn line(&self, items: &[Item], columns: &[usize], widths: &[usize], indent: usize) -> Line {
        let mut line = vec![];
        for (place, (column, width)) in columns.iter().zip(widths).enumerate() {
            let indent = if place == 0 { indent } else { GAP };
            let room = if place == 0 { width.saturating_sub(indent) } else { *width };
            line.push(Span::new(" ".repeat(indent), Ink::Plain));
            match &items[*column] {
                Item::Text(span) => {
                    let shown = text::elide(&span.text, room);
                    let padding = Span::new(" ".repeat(room - text::width(&shown)), Ink::Plain);
                    let shown = Span { text: shown, ink: span.ink };
                    if self.columns[*column].fit == Fit::Number {
                        line.extend([padding, shown]);
                    } else {
                        line.extend([shown, padding]);
                    }
                }
                Item::Bar(parts) => line.extend(self.bar(*column, parts, room)),
            }
        }
        line
    }

    fn bar(&self, column: usize, parts: &[(Tone, f64)], room: usize) -> Line {
        let mut line: Line = if self.columns[column].fit == Fit::Stack {
            let shares: Vec<f64> = parts.iter().map(|(_, share)| *share).collect();
            let columns = bars::apportion(&shares, room);
            let part = |((tone, _), columns): (&(Tone, f64), usize)| {
                Span::new(bars::glyph(*tone).to_string().repeat(columns), Ink::Tone(*tone))
            };
            parts.iter().zip(columns).map(part).collect()
        } else {
            parts.iter().map(|(tone, share)| Span::new(bars::share(*share, room), Ink::Tone(*tone))).collect()
        };
        let used: usize = line.iter().map(Span::width).sum();
        line.push(Span::new(" ".repeat(room.saturating_sub(used)), Ink::Plain));
        line
    }
}
