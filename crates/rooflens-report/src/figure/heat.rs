//! One value for each row and column.

use std::collections::BTreeMap;

use crate::figure::paper::FigurePaper;
use crate::figure::place::Area;
use crate::figure::sheet::{Sheet, number_of};
use crate::figure::svg::{self, LABEL, MARGIN, SMALL};
use crate::figure::unit::FigureUnit;

/// Height of a row.
const ROW: f64 = 22.0;
/// Width of a row's name.
const NAME: f64 = 190.0;
/// Rows and columns at most.
const MOST: (usize, usize) = (40, 400);
/// Width of a cell at most.
const WIDEST: f64 = 60.0;
/// The faintest cell that is not nothing can still be seen.
const FAINTEST: f64 = 0.08;
/// From one name of a column to the next.
const GAP: f64 = 14.0;
/// Cells that the description names.
const TOLD: usize = 8;
/// Parts of the scale.
const SHADES: usize = 24;

#[derive(Debug, Clone, Default)]
pub(crate) struct HeatMap {
    pub(crate) title: String,
    pub(crate) subtitle: String,
    pub(crate) label: String,
    pub(crate) value: String,
    pub(crate) unit: FigureUnit,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<String>,
    pub(crate) cells: BTreeMap<(usize, usize), f64>,
}

impl HeatMap {
    pub(crate) fn svg_on(&self, paper: FigurePaper) -> String {
        let (rows, columns) = (self.rows.len().min(MOST.0), self.columns.len().min(MOST.1));
        let mut left_out: Vec<String> =
            number_of(self.rows.len() - rows, "row", "rows").into_iter().collect();
        left_out.extend(number_of(self.columns.len() - columns, "column", "columns"));
        let drawn: Vec<((usize, usize), f64)> = self
            .cells
            .iter()
            .map(|(at, value)| (*at, *value))
            .filter(|((column, row), value)| *column < columns && *row < rows && value.is_finite())
            .collect();
        let most = drawn.iter().map(|cell| cell.1).fold(0.0, f64::max);
        let mut sheet = Sheet::new(paper, &self.title, &self.subtitle);
        self.scale(&mut sheet, most);
        let plot = self.frame(&sheet, rows, columns);
        let wide = (plot.right - plot.left) / columns.max(1) as f64;
        for row in 0..rows {
            let y = plot.top + row as f64 * ROW;
            sheet.svg.rect("gap", (plot.left, y), (plot.right - plot.left, ROW - 1.0), "");
            let name = svg::fitted(&self.rows[row], LABEL, paper.name(NAME));
            sheet.svg.text("strong e", (plot.left - 8.0, y + ROW / 2.0 + 4.0), &name);
        }
        for ((column, row), value) in &drawn {
            let at = (plot.left + *column as f64 * wide, plot.top + *row as f64 * ROW);
            let gap = if wide > 4.0 { 1.0 } else { 0.0 };
            let tip = format!(
                "{} {}, {}: {}",
                self.label,
                svg::kept(&self.columns[*column]),
                svg::kept(&self.rows[*row]),
                self.unit.label(*value)
            );
            sheet.svg.tinted("cell", at, (wide - gap, ROW - 1.0), tint(*value, most), &tip);
        }
        self.names(&mut sheet, plot, columns, wide);
        if drawn.is_empty() {
            sheet.nothing(plot);
        }
        sheet.finish(&self.title, &self.description(&drawn), &left_out)
    }

    fn frame(&self, sheet: &Sheet, rows: usize, columns: usize) -> Area {
        let fitted =
            |name: &String| svg::width(&svg::fitted(name, LABEL, sheet.paper.name(NAME)), LABEL * 1.05);
        let names = self.rows.iter().take(rows).map(fitted).fold(0.0, f64::max);
        let left = MARGIN + names + 10.0;
        let right = (sheet.width() - MARGIN).min(left + columns as f64 * WIDEST).max(left + WIDEST);
        let top = sheet.y + 8.0;
        Area { left, top, right, bottom: top + rows.max(2) as f64 * ROW }
    }

    fn scale(&self, sheet: &mut Sheet, most: f64) {
        if most <= 0.0 {
            return;
        }
        let y = sheet.y + 4.0;
        let start = format!("{}: 0", self.value);
        sheet.svg.text("name", (MARGIN, y + 10.0), &start);
        let left = MARGIN + svg::width(&start, LABEL) + 10.0;
        for shade in 0..SHADES {
            let at = (left + shade as f64 * 6.0, y);
            let value = most * (shade as f64 + 1.0) / SHADES as f64;
            sheet.svg.tinted("cell", at, (6.0, 12.0), tint(value, most), "");
        }
        sheet.svg.text("name", (left + SHADES as f64 * 6.0 + 8.0, y + 10.0), &self.unit.label(most));
        sheet.y += 22.0;
    }

    fn names(&self, sheet: &mut Sheet, plot: Area, columns: usize, wide: f64) {
        let longest =
            self.columns.iter().take(columns).map(|name| svg::width(name, SMALL)).fold(0.0, f64::max);
        let every = (((longest + GAP) / wide).ceil() as usize).max(1);
        for column in (0..columns).step_by(every) {
            let x = plot.left + (column as f64 + 0.5) * wide;
            sheet.svg.text("m", (x, plot.bottom + 16.0), &self.columns[column]);
        }
        sheet.y = plot.bottom + 40.0;
        sheet.svg.text("name m", ((plot.left + plot.right) / 2.0, sheet.y - 4.0), &self.label);
    }

    fn description(&self, drawn: &[((usize, usize), f64)]) -> String {
        let mut cells = drawn.to_vec();
        cells.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let told: Vec<String> = cells
            .iter()
            .take(TOLD)
            .map(|((column, row), value)| {
                let (column, row) = (svg::kept(&self.columns[*column]), svg::kept(&self.rows[*row]));
                format!("{} {column}, {row}: {}", self.label, self.unit.label(*value))
            })
            .collect();
        format!("Heat map of {} by {}. The largest: {}.", self.value, self.label, told.join("; "))
    }
}

fn tint(value: f64, most: f64) -> f64 {
    if value <= 0.0 || most <= 0.0 {
        return 0.0;
    }
    FAINTEST + (1.0 - FAINTEST) * (value / most).min(1.0)
}
