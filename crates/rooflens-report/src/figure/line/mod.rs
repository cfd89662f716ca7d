//! Values over a swept quantity.

mod names;
mod rules;

use crate::figure::axis::{Axis, Refused, Scale};
use crate::figure::paper::FigurePaper;
use crate::figure::place::{Area, OccupiedAreas};
use crate::figure::ruler::{Ends, Ruler};
use crate::figure::sheet::{Sheet, Sign, number_of};
use crate::figure::svg::{self, MARGIN, Point, SMALL};

/// Height of the plot.
const HEIGHT: f64 = 300.0;
/// Room between the plot's edge and the first value.
const INSET: f64 = 8.0;
/// An even axis whose values begin below this share of the last begins at nothing.
const NEAR_NOTHING: f64 = 0.15;
/// More points than this have no dots.
const DOTS: usize = 24;
/// Dots of all series.
const ALL_DOTS: usize = 400;
/// Series that the description tells of.
const TOLD: usize = 12;

/// One line.
#[derive(Debug, Clone, Default)]
pub struct LineSeries {
    /// What it is.
    pub(crate) name: String,
    /// `(x, y)` in any order; a missing `y` is a gap.
    pub(crate) points: Vec<(f64, Option<f64>)>,
}

impl LineSeries {
    /// A line through points.
    pub fn new(name: impl Into<String>, points: impl IntoIterator<Item = (f64, Option<f64>)>) -> Self {
        LineSeries { name: name.into(), points: points.into_iter().collect() }
    }
}

/// A line across the whole chart.
#[derive(Debug, Clone, Default)]
pub struct ReferenceLine {
    /// The value it stands at.
    pub(crate) at: f64,
    /// What begins or ends there.
    pub(crate) label: String,
}

impl ReferenceLine {
    /// A rule at a value.
    pub fn new(at: f64, label: impl Into<String>) -> Self {
        ReferenceLine { at, label: label.into() }
    }
}

/// Values over a swept quantity, one line a series.
///
/// Up to six lines bear their names at their ends; more, or lines whose ends are crowded, have a legend.
#[derive(Debug, Clone, Default)]
pub struct LineChart {
    /// What it shows.
    pub title: String,
    /// Of what, under which assumptions; may be empty.
    pub subtitle: String,
    /// The level axis.
    pub x: Axis,
    /// The upright axis.
    pub y: Axis,
    /// The lines.
    pub series: Vec<LineSeries>,
    /// Upright lines at values of `x`.
    pub x_rules: Vec<ReferenceLine>,
    /// Level lines at values of `y`.
    pub y_rules: Vec<ReferenceLine>,
}

/// What of a series can be drawn.
#[derive(Debug)]
struct Drawn<'a> {
    /// Which series it is: its colour.
    index: usize,
    name: &'a str,
    /// Points in order, cut at gaps.
    runs: Vec<Vec<(f64, f64)>>,
}

/// Everything that is drawn.
#[derive(Debug)]
struct Content<'a> {
    series: Vec<Drawn<'a>>,
    x_rules: Vec<&'a ReferenceLine>,
    y_rules: Vec<&'a ReferenceLine>,
    left_out: Vec<String>,
    x: (f64, f64),
    y: (f64, f64),
}

/// The plot and its axes.
#[derive(Debug)]
struct Frame {
    plot: Area,
    x: Ruler,
    y: Ruler,
}

impl Frame {
    fn at(&self, (x, y): (f64, f64)) -> Point {
        (self.x.at(x), self.y.at(y))
    }
}

impl LineChart {
    /// The figure as SVG text, for a page.
    pub fn svg(&self) -> String {
        self.svg_on(FigurePaper::default())
    }

    /// The figure as SVG text.
    pub(crate) fn svg_on(&self, paper: FigurePaper) -> String {
        let content = self.content();
        let direct =
            (content.series.len() <= names::MOST).then(|| self.draw(&content, paper, true)).flatten();
        direct.or_else(|| self.draw(&content, paper, false)).unwrap_or_default()
    }

    fn content(&self) -> Content<'_> {
        let mut refused = Refused::default();
        let mut series = vec![];
        for (index, line) in self.series.iter().enumerate() {
            let runs = self.runs(line, &mut refused);
            if !runs.is_empty() {
                series.push(Drawn { index, name: &line.name, runs });
            }
        }
        let points = || series.iter().flat_map(|drawn| drawn.runs.iter().flatten());
        let (x, x_rules, far_x) = rules::include(span(points().map(|point| point.0)), &self.x_rules, &self.x);
        let (y, y_rules, far_y) = rules::include(span(points().map(|point| point.1)), &self.y_rules, &self.y);
        let x = if self.x.scale == Scale::Linear && x.0 > 0.0 && x.0 < x.1 * NEAR_NOTHING {
            (0.0, x.1)
        } else {
            x
        };
        let mut left_out = refused.remarks("not above zero on a logarithmic axis");
        left_out.extend(number_of(
            self.series.len() - series.len(),
            "series without values",
            "series without values",
        ));
        left_out.extend(far_x.into_iter().chain(far_y));
        Content { series, x_rules, y_rules, left_out, x, y }
    }

    /// The points that can be drawn, by x, cut at gaps.
    fn runs(&self, line: &LineSeries, refused: &mut Refused) -> Vec<Vec<(f64, f64)>> {
        let mut points = line.points.clone();
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        let mut runs = vec![vec![]];
        for (x, y) in points {
            match y {
                Some(y) if refused.admits(&[self.x.refuses(x), self.y.refuses(y)]) => {
                    if let Some(run) = runs.last_mut() {
                        run.push((x, y));
                    }
                }
                _ => runs.push(vec![]),
            }
        }
        runs.retain(|run| !run.is_empty());
        runs
    }

    /// The figure with names at the lines' ends or with a legend; nothing where the names do not fit.
    fn draw(&self, content: &Content<'_>, paper: FigurePaper, direct: bool) -> Option<String> {
        let mut sheet = Sheet::new(paper, &self.title, &self.subtitle);
        if !direct {
            sheet.legend(&legend(&content.series));
        }
        sheet.caption(&self.y.label);
        let frame = self.frame(content, &sheet, direct);
        sheet.axes(frame.plot, (&frame.x, &self.x.label), Some(&frame.y));
        let mut places = OccupiedAreas::within(frame.plot);
        for run in content.series.iter().flat_map(|drawn| &drawn.runs) {
            let points: Vec<Point> = run.iter().map(|point| frame.at(*point)).collect();
            places.take_line(&points);
            points.iter().for_each(|point| places.take(Area::around(*point, 3.0)));
        }
        rules::draw(&mut sheet, content, &frame, &mut places);
        self.lines(&mut sheet, content, &frame);
        if direct {
            names::draw(&mut sheet, content, &frame, &mut places)?;
        }
        if content.series.is_empty() {
            sheet.nothing(frame.plot);
        }
        Some(sheet.finish(&self.title, &self.description(content), &content.left_out))
    }

    fn frame(&self, content: &Content<'_>, sheet: &Sheet, direct: bool) -> Frame {
        let top = sheet.y;
        let bottom = top + sheet.paper.height(HEIGHT);
        let y = Ruler::new(self.y.unit, self.y.scale, content.y, Ends::Ticks, (bottom, top));
        let left = MARGIN + y.widest(SMALL) + 8.0;
        let beside = if direct { names::margin(content, sheet.paper) } else { 0.0 };
        let right = sheet.width() - beside.max(MARGIN + 8.0);
        let plot = Area { left, top, right, bottom };
        // A line that begins at nothing begins at the axis.
        let inset = if self.x.scale == Scale::Linear && content.x.0 == 0.0 { 0.0 } else { INSET };
        let x = Ruler::new(
            self.x.unit,
            self.x.scale,
            content.x,
            Ends::Values,
            (left + inset, right - if direct { 2.0 } else { INSET }),
        );
        if content.series.is_empty() {
            Frame { plot, x: x.bare(), y: y.bare() }
        } else {
            Frame { plot, x, y }
        }
    }

    fn lines(&self, sheet: &mut Sheet, content: &Content<'_>, frame: &Frame) {
        let total: usize = content.series.iter().flat_map(|drawn| &drawn.runs).map(Vec::len).sum();
        for drawn in &content.series {
            let colour = svg::colour(drawn.index);
            let mut path = String::new();
            let mut last = (f64::NAN, f64::NAN);
            for run in &drawn.runs {
                let mut points: Vec<Point> = run.iter().map(|point| frame.at(*point)).collect();
                // What falls upon the point before does not show.
                points.retain(|point| {
                    let moved =
                        (point.0 - last.0).abs() > 0.1 || (point.1 - last.1).abs() > 0.1 || last.0.is_nan();
                    last = if moved { *point } else { last };
                    moved
                });
                last = (f64::NAN, f64::NAN);
                path.push_str(&svg::steps(&points));
            }
            sheet.svg.path(&format!("line {colour}{}", dash(drawn.index)), &path);
            let dotted = total <= ALL_DOTS && drawn.runs.iter().map(Vec::len).sum::<usize>() <= DOTS;
            for run in drawn.runs.iter().filter(|run| dotted || run.len() == 1) {
                for point in run {
                    let (x, y) = (self.x.unit.label(point.0), self.y.unit.label(point.1));
                    let tip = format!("{}: {y} at {x}", svg::kept(drawn.name));
                    sheet.svg.disc(&format!("dot {colour}"), frame.at(*point), 3.2, &tip);
                }
            }
        }
    }

    /// The chart for those who cannot see it.
    fn description(&self, content: &Content<'_>) -> String {
        let (x, y) = (svg::kept(&self.x.label), svg::kept(&self.y.label));
        let mut words = format!("Line chart of {y} over {x}.");
        for drawn in content.series.iter().take(TOLD) {
            let ends = (
                drawn.runs.first().and_then(|run| run.first()),
                drawn.runs.last().and_then(|run| run.last()),
            );
            if let (Some(first), Some(last)) = ends {
                let told = |point: &(f64, f64)| {
                    format!("{} at {}", self.y.unit.label(point.1), self.x.unit.label(point.0))
                };
                words.push_str(&format!(
                    " {}: from {} to {}.",
                    svg::kept(drawn.name),
                    told(first),
                    told(last)
                ));
            }
        }
        let more = content.series.len().saturating_sub(TOLD);
        words + &number_of(more, "more line.", "more lines.").map_or(String::new(), |more| format!(" {more}"))
    }
}

fn legend(series: &[Drawn<'_>]) -> Vec<(Sign, String)> {
    let class = |index: usize| format!("{}{}", svg::colour(index), dash(index));
    series.iter().map(|drawn| (Sign::Line(class(drawn.index)), drawn.name.to_owned())).collect()
}

/// The class that tells lines of one colour apart.
fn dash(index: usize) -> String {
    match svg::round(index) {
        0 => String::new(),
        round => format!(" dash{round}"),
    }
}

fn span(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
}
