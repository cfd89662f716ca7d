//! Columns that fit: names are shortened first, then optional columns and bars are left out, then names are
//! shortened further; where even that is too wide, the columns are printed in several blocks. Numbers are never
//! cut. Names also take what room is left, so that the numbers of all tables end at the same edge.

use crate::block::Tone;
use crate::render::bars;
use crate::render::terminal::canvas::{Ink, StyledText, TextLine, line_width};
use crate::text;

const INDENT: usize = 2;
const GAP: usize = 2;
/// Names are shortened to this before anything is left out.
const SHORT_NAME: usize = 26;
/// Names are shortened to this before a table is broken into blocks.
const SHORTEST_NAME: usize = 14;
const SHORTEST_STACK: usize = 8;
/// A wider table is hard to read across.
const WIDEST: usize = 120;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fit {
    /// A name or words: shortened in the middle where room is scarce.
    Name,
    /// A number, aligned right and never cut.
    Number,
    Bar,
    Stack,
}

#[derive(Debug, Clone)]
pub(crate) struct GridColumn {
    pub(crate) header: StyledText,
    pub(crate) fit: Fit,
    pub(crate) may_go: bool,
}

#[derive(Debug, Clone)]
pub(crate) enum GridItem {
    Text(StyledText),
    Bar(Vec<(Tone, f64)>),
}

impl GridItem {
    fn width(&self) -> usize {
        match self {
            GridItem::Text(span) => span.width(),
            GridItem::Bar(_) => 0,
        }
    }
}

pub(crate) struct Grid {
    pub(crate) columns: Vec<GridColumn>,
    pub(crate) rows: Vec<Vec<GridItem>>,
    /// Stands in place of the headers after the first; may be empty.
    pub(crate) legend: Vec<StyledText>,
}

impl Grid {
    /// The header and one line per row, for a terminal of `width` columns.
    pub(crate) fn lines(&self, width: usize) -> Vec<TextLine> {
        let width = width.min(WIDEST);
        let natural: Vec<usize> = (0..self.columns.len()).map(|column| self.natural(column, width)).collect();
        let columns = self.fitting(&natural, width);
        let shortest = [SHORT_NAME, SHORTEST_NAME].into_iter();
        let shortest = shortest
            .clone()
            .find(|&shortest| self.needed(&columns, &natural, shortest) <= width)
            .unwrap_or(SHORTEST_NAME);
        let blocks = self.blocks(columns, &natural, shortest, width);
        blocks.iter().flat_map(|columns| self.block(columns, &natural, shortest, width)).collect()
    }

    /// The columns in groups that fit; each group begins with the first column.
    fn blocks(
        &self,
        columns: Vec<usize>,
        natural: &[usize],
        shortest: usize,
        width: usize,
    ) -> Vec<Vec<usize>> {
        let Some(&first) = columns.first().filter(|_| self.legend.is_empty()) else { return vec![columns] };
        let mut blocks = vec![vec![first]];
        for &column in &columns[1..] {
            if let Some(block) = blocks.last_mut() {
                block.push(column);
                if block.len() > 2 && self.needed(block, natural, shortest) > width {
                    block.pop();
                    blocks.push(vec![first, column]);
                }
            }
        }
        blocks
    }

    fn block(&self, columns: &[usize], natural: &[usize], shortest: usize, width: usize) -> Vec<TextLine> {
        let widths = self.widths(columns, natural, shortest, width);
        let mut lines = if self.legend.is_empty() {
            let header: Vec<GridItem> =
                self.columns.iter().map(|column| GridItem::Text(column.header.clone())).collect();
            vec![self.line(&header, columns, &widths, 0)]
        } else {
            self.legend_lines(widths[0], width)
        };
        lines.extend(self.rows.iter().map(|row| self.line(row, columns, &widths, INDENT)));
        lines
    }

    fn legend_lines(&self, margin: usize, width: usize) -> Vec<TextLine> {
        let mut lines = vec![];
        let mut line = vec![self.columns[0].header.clone()];
        let mut used = line_width(&line);
        for span in &self.legend {
            let gap = if line.len() == 1 { (margin + GAP).saturating_sub(used) } else { GAP };
            if line.len() > 1 && used + gap + span.width() > width {
                lines.push(std::mem::replace(&mut line, vec![StyledText::new("", Ink::Plain)]));
                used = 0;
            }
            let gap = if line.len() == 1 { (margin + GAP).saturating_sub(used) } else { GAP };
            line.extend([StyledText::new(" ".repeat(gap), Ink::Plain), span.clone()]);
            used += gap + span.width();
        }
        lines.push(line);
        lines
    }

    fn natural(&self, column: usize, width: usize) -> usize {
        // Row items are indented in the first column, its header is not.
        let indent = if column == 0 { INDENT } else { 0 };
        let rows = self.rows.iter().map(|row| row[column].width() + indent).max().unwrap_or(0);
        match self.columns[column].fit {
            Fit::Name | Fit::Number => rows.max(self.columns[column].header.width()),
            // The same length in all tables.
            Fit::Bar => (width / 8).clamp(8, 16),
            Fit::Stack => SHORTEST_STACK,
        }
    }

    /// The width of a column whose name, if it is one, is shortened. Words that may go are whole or not there.
    fn least(&self, column: usize, natural: &[usize], shortest: usize) -> usize {
        match &self.columns[column] {
            GridColumn { fit: Fit::Name, may_go: false, .. } => natural[column].min(shortest),
            _ => natural[column],
        }
    }

    fn needed(&self, columns: &[usize], natural: &[usize], shortest: usize) -> usize {
        let widths: usize = columns.iter().map(|&column| self.least(column, natural, shortest)).sum();
        widths + GAP * columns.len().saturating_sub(1)
    }

    /// The columns that are shown: all, without optional ones and bars where there is no room.
    fn fitting(&self, natural: &[usize], width: usize) -> Vec<usize> {
        let mut kept: Vec<usize> = (0..self.columns.len()).collect();
        let too_wide = |kept: &[usize]| self.needed(kept, natural, SHORT_NAME) > width;
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

    /// The longest names are shortened most; what is left goes to the stack, else to the first name.
    fn widths(&self, columns: &[usize], natural: &[usize], shortest: usize, width: usize) -> Vec<usize> {
        let longest = columns.iter().map(|&column| natural[column]).max().unwrap_or(0);
        let fits = |longest: &usize| self.needed(columns, natural, *longest) <= width;
        let longest = (shortest..=longest).rev().find(fits).unwrap_or(shortest);
        let mut widths: Vec<usize> =
            columns.iter().map(|&column| self.least(column, natural, longest)).collect();
        let left = width.saturating_sub(self.needed(columns, natural, longest));
        for fit in [Fit::Stack, Fit::Name] {
            if let Some(index) = columns.iter().position(|column| self.columns[*column].fit == fit) {
                widths[index] += left;
                break;
            }
        }
        widths
    }

    fn line(&self, items: &[GridItem], columns: &[usize], widths: &[usize], indent: usize) -> TextLine {
        let mut line = vec![];
        for (place, (column, width)) in columns.iter().zip(widths).enumerate() {
            let indent = if place == 0 { indent } else { GAP };
            let room = if place == 0 { width.saturating_sub(indent) } else { *width };
            line.push(StyledText::new(" ".repeat(indent), Ink::Plain));
            match &items[*column] {
                GridItem::Text(span) => {
                    let shown = text::elide(&span.text, room);
                    let padding = StyledText::new(" ".repeat(room - text::width(&shown)), Ink::Plain);
                    let shown = StyledText { text: shown, ink: span.ink };
                    if self.columns[*column].fit == Fit::Number {
                        line.extend([padding, shown]);
                    } else {
                        line.extend([shown, padding]);
                    }
                }
                GridItem::Bar(parts) => line.extend(self.bar(*column, parts, room)),
            }
        }
        line
    }

    fn bar(&self, column: usize, parts: &[(Tone, f64)], room: usize) -> TextLine {
        let mut line: TextLine = if self.columns[column].fit == Fit::Stack {
            let shares: Vec<f64> = parts.iter().map(|(_, share)| *share).collect();
            let columns = bars::apportion(&shares, room);
            let part = |((tone, _), columns): (&(Tone, f64), usize)| {
                StyledText::new(bars::glyph(*tone).to_string().repeat(columns), Ink::Tone(*tone))
            };
            parts.iter().zip(columns).map(part).collect()
        } else {
            parts
                .iter()
                .map(|(tone, share)| StyledText::new(bars::share(*share, room), Ink::Tone(*tone)))
                .collect()
        };
        let used: usize = line.iter().map(StyledText::width).sum();
        line.push(StyledText::new(" ".repeat(room.saturating_sub(used)), Ink::Plain));
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(names: usize, numbers: usize) -> Grid {
        let column = |fit, may_go| GridColumn { header: StyledText::new("Title", Ink::Faint), fit, may_go };
        let columns = (0..names)
            .map(|_| column(Fit::Name, false))
            .chain((0..numbers).map(|_| column(Fit::Number, false)))
            .collect();
        let text = |words: String| GridItem::Text(StyledText::new(words, Ink::Plain));
        let row = |row: usize| {
            let names = (0..names).map(|at| text(format!("name{at}_{}", "x".repeat(7 * (row + at)))));
            let numbers = (0..numbers).map(|at| text(format!("{}{row}{at}.25 ms", "9".repeat(at % 4))));
            names.chain(numbers).collect()
        };
        Grid { columns, rows: (0..9).map(row).collect(), legend: vec![] }
    }

    fn shown(grid: &Grid, width: usize) -> String {
        let line = |line: TextLine| line.into_iter().map(|span| span.text).collect::<String>();
        grid.lines(width).into_iter().map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn newcomer_02_every_number_is_shown_at_any_width() {
        for (names, numbers) in [(1, 3), (2, 4), (3, 8), (1, 12), (2, 0)] {
            let grid = grid(names, numbers);
            for width in 30..=130 {
                let told = shown(&grid, width);
                assert!(told.lines().all(|line| text::width(line) <= width), "{width}\n{told}");
                for item in grid.rows.iter().flat_map(|row| &row[names..]) {
                    let GridItem::Text(span) = item else { continue };
                    assert!(told.contains(&format!(" {}", span.text)), "{width}: {}\n{told}", span.text);
                }
            }
        }
    }

    #[test]
    fn a_table_that_is_too_wide_comes_in_blocks() {
        let told = shown(&grid(1, 6), 40);
        let headers = told.lines().filter(|line| line.starts_with("Title")).count();
        assert!(headers > 1, "{told}");
        assert_eq!(shown(&grid(1, 6), 120).lines().count(), 10);
    }
}
