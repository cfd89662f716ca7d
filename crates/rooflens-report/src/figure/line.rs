//! Values over a swept quantity.

use crate::figure::axis::{Axis, Refused, Scale};
use crate::figure::paper::FigurePaper;
use crate::figure::place::{self, Area, OccupiedAreas};
use crate::figure::ruler::{Ends, Ruler};
use crate::figure::sheet::{Sheet, Sign, number_of};
use crate::figure::svg::{self, COLOURS, LABEL, MARGIN, Point, SMALL};

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
/// Series that the description names.
const TOLD: usize = 12;

/// Lines that bear their names.
const NAMED: usize = 6;

/// Width of a name.
const NAME: f64 = 180.0;
/// Bold words are wider.
const BOLD: f64 = LABEL * 1.06;
/// From a name to the next below.
const ROW: f64 = 16.0;
/// From the plot to the names next to it.
const BESIDE: f64 = 10.0;
/// A line that ends within this share of the plot's width from its edge has its name next to the plot.
const NEAR: f64 = 0.01;

#[derive(Debug, Clone, Default)]
pub(crate) struct LineSeries {
    pub(crate) name: String,
    /// `(x, y)` in any order; a missing `y` is a gap.
    pub(crate) points: Vec<(f64, Option<f64>)>,
}

impl LineSeries {
    pub(crate) fn new(name: impl Into<String>, points: impl IntoIterator<Item = (f64, Option<f64>)>) -> Self {
        LineSeries { name: name.into(), points: points.into_iter().collect() }
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct ReferenceLine {
    pub(crate) at: f64,
    pub(crate) label: String,
}

impl ReferenceLine {
    pub(crate) fn new(at: f64, label: impl Into<String>) -> Self {
        ReferenceLine { at, label: label.into() }
    }
}

/// Values over a swept quantity, one line a series.
///
/// Up to six lines bear their names at their ends; more, or lines whose ends are crowded, have a legend.
#[derive(Debug, Clone, Default)]
pub(crate) struct LineChart {
    pub(crate) title: String,
    pub(crate) subtitle: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) series: Vec<LineSeries>,
    pub(crate) x_rules: Vec<ReferenceLine>,
    pub(crate) y_rules: Vec<ReferenceLine>,
}

struct Drawn<'a> {
    /// Which series it is: its colour.
    index: usize,
    name: &'a str,
    /// Points in order, cut at gaps.
    runs: Vec<Vec<(f64, f64)>>,
}

struct Content<'a> {
    series: Vec<Drawn<'a>>,
    x_rules: Vec<&'a ReferenceLine>,
    y_rules: Vec<&'a ReferenceLine>,
    left_out: Vec<String>,
    x: (f64, f64),
    y: (f64, f64),
}

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
    pub(crate) fn svg(&self) -> String {
        self.svg_on(FigurePaper::default())
    }

    pub(crate) fn svg_on(&self, paper: FigurePaper) -> String {
        let content = self.content();
        let direct = (content.series.len() <= NAMED).then(|| self.draw(&content, paper, true)).flatten();
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
        let (x, x_rules, far_x) = include(span(points().map(|point| point.0)), &self.x_rules, &self.x);
        let (y, y_rules, far_y) = include(span(points().map(|point| point.1)), &self.y_rules, &self.y);
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
        draw_rules(&mut sheet, content, &frame, &mut places);
        self.lines(&mut sheet, content, &frame);
        if direct {
            draw_names(&mut sheet, content, &frame, &mut places)?;
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
        let beside = if direct { names_margin(content, sheet.paper) } else { 0.0 };
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

fn dash(index: usize) -> String {
    match svg::round(index) {
        0 => String::new(),
        round => format!(" dash{round}"),
    }
}

fn span(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
}

fn names_margin(content: &Content<'_>, paper: FigurePaper) -> f64 {
    // A single place lies in the middle.
    let is_last = |end: (f64, f64)| content.x.0 < content.x.1 && end.0 >= content.x.1;
    let beside = content.series.iter().filter(|drawn| last(drawn).is_some_and(is_last));
    let widest = beside.map(|drawn| svg::width(&name(drawn, paper), BOLD)).fold(0.0, f64::max);
    widest + BESIDE + MARGIN
}

fn name(drawn: &Drawn<'_>, paper: FigurePaper) -> String {
    svg::fitted(drawn.name, BOLD, paper.name(NAME))
}

fn last(drawn: &Drawn<'_>) -> Option<(f64, f64)> {
    drawn.runs.last().and_then(|run| run.last()).copied()
}

/// The lines' names at their ends; nothing where one of them finds no place.
fn draw_names(
    sheet: &mut Sheet,
    content: &Content<'_>,
    frame: &Frame,
    places: &mut OccupiedAreas,
) -> Option<()> {
    let plot = frame.plot;
    let ends: Vec<(&Drawn<'_>, Point)> =
        content.series.iter().filter_map(|drawn| Some((drawn, frame.at(last(drawn)?)))).collect();
    let edge = plot.right - NEAR * (plot.right - plot.left);
    let (beside, inside): (Vec<_>, Vec<_>) = ends.into_iter().partition(|(_, end)| end.0 >= edge);
    let wanted: Vec<f64> = beside.iter().map(|(_, end)| end.1).collect();
    let heights = place::spread(&wanted, ROW, (plot.top, plot.bottom));
    for ((drawn, end), height) in beside.iter().zip(heights) {
        let class = format!("t{}", drawn.index % COLOURS);
        if (height - end.1).abs() > 3.0 {
            let knee = plot.right + BESIDE - 3.0;
            sheet.svg.line(&format!("lead {class}"), (end.0 + 4.0, end.1), (knee, height));
        }
        sheet.svg.text(
            &format!("own {class}"),
            (plot.right + BESIDE, height + 4.0),
            &name(drawn, sheet.paper),
        );
    }
    for (drawn, end) in inside {
        let words = name(drawn, sheet.paper);
        let wide = svg::width(&words, BOLD);
        let starts = [
            (end.0 + 9.0, end.1 + 4.0),
            (end.0 + 5.0, end.1 - 9.0),
            (end.0 + 5.0, end.1 + 17.0),
            (end.0 - wide / 2.0, end.1 - 10.0),
            (end.0 - wide / 2.0, end.1 + 19.0),
            (end.0 - wide, end.1 - 10.0),
            (end.0 - wide, end.1 + 19.0),
        ];
        let start = places.settle(&words, BOLD, &starts)?;
        sheet.svg.text(&format!("own halo t{}", drawn.index % COLOURS), start, &words);
    }
    Some(())
}

/// The span with the rules that lie in it or not far from it, those rules, and what is said of the others.
fn include<'a>(
    values: (f64, f64),
    rules: &'a [ReferenceLine],
    axis: &Axis,
) -> ((f64, f64), Vec<&'a ReferenceLine>, Vec<String>) {
    let place = |value: f64| if axis.scale == Scale::Linear { value } else { value.log10() };
    // As far beyond the values as these are wide.
    let reach = (place(values.1) - place(values.0)).max(if axis.scale == Scale::Linear { 0.0 } else { 0.3 });
    let is_near = |rule: &&ReferenceLine| {
        let at = place(rule.at);
        axis.refuses(rule.at).is_none() && at >= place(values.0) - reach && at <= place(values.1) + reach
    };
    let (near, far): (Vec<&ReferenceLine>, Vec<&ReferenceLine>) = rules.iter().partition(is_near);
    let span = near.iter().fold(values, |(low, high), rule| (low.min(rule.at), high.max(rule.at)));
    let said = far.iter().map(|rule| {
        let at = axis.unit.label(rule.at);
        format!("the line \u{201c}{}\u{201d} at {at}", svg::fitted(&rule.label, SMALL, 300.0))
    });
    (span, near, said.collect())
}

fn draw_rules(sheet: &mut Sheet, content: &Content<'_>, frame: &Frame, places: &mut OccupiedAreas) {
    let plot = frame.plot;
    for rule in &content.x_rules {
        let x = frame.x.at(rule.at);
        sheet.svg.line("rule", (x, plot.top), (x, plot.bottom));
        places.take_line(&[(x, plot.top), (x, plot.bottom)]);
    }
    for rule in &content.y_rules {
        let y = frame.y.at(rule.at);
        sheet.svg.line("rule", (plot.left, y), (plot.right, y));
        places.take_line(&[(plot.left, y), (plot.right, y)]);
    }
    for rule in &content.x_rules {
        let x = frame.x.at(rule.at);
        let rows = (0..12).map(|row| plot.top + 14.0 + f64::from(row) * 24.0);
        let starts = |wide: f64| rows.flat_map(|y| [(x + 6.0, y), (x - 6.0 - wide, y)]).collect();
        word(sheet, places, rule, plot, starts);
    }
    for rule in &content.y_rules {
        let y = frame.y.at(rule.at);
        let starts = |wide: f64| {
            let room = plot.right - plot.left - wide - 12.0;
            let columns = (0..7).map(|column| plot.left + 8.0 + room * f64::from(column) / 6.0);
            columns.flat_map(|x| [(x, y - 6.0), (x, y + 14.0)]).collect()
        };
        word(sheet, places, rule, plot, starts);
    }
}

/// A rule's name at the first place that is free, else at one where it only crosses lines, else at its
/// first place.
fn word(
    sheet: &mut Sheet,
    places: &mut OccupiedAreas,
    rule: &ReferenceLine,
    plot: Area,
    starts: impl FnOnce(f64) -> Vec<Point>,
) {
    let words = svg::fitted(&rule.label, SMALL, (plot.right - plot.left) * 0.45);
    let starts: Vec<Point> = starts(svg::width(&words, SMALL));
    let within = |start: &&Point| start.0 >= plot.left && start.0 + svg::width(&words, SMALL) <= plot.right;
    let found = places.settle(&words, SMALL, &starts).or_else(|| {
        let readable = |start: &&Point| places.hides_nothing(&Area::of(&words, SMALL, **start));
        starts.iter().filter(within).find(readable).or_else(|| starts.iter().find(within)).copied()
    });
    if let Some(start) = found.filter(|_| !words.is_empty()) {
        places.take(Area::of(&words, SMALL, start));
        sheet.svg.text("halo", start, &words);
    }
}
