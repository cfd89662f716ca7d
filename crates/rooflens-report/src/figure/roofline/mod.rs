//! Operators under the roofs of devices.

mod points;
mod roofs;

use crate::figure::axis::{Axis, Refused};
use crate::figure::paper::FigurePaper;
use crate::figure::place::{Area, OccupiedAreas};
use crate::figure::ruler::{Ends, Ruler};
use crate::figure::sheet::{Sheet, Sign, number_of};
use crate::figure::svg::{self, MARGIN, Point, SMALL};
use crate::figure::unit::FigureUnit;

/// Height of the plot.
const HEIGHT: f64 = 370.0;
/// Values beyond these powers of ten are of no device.
const SANE: std::ops::Range<f64> = 1e-60..1e60;
/// Operators that are drawn: those of most weight.
const MOST: usize = 1_000;
/// Operators that the description names.
const TOLD: usize = 12;

const INTENSITY: FigureUnit = FigureUnit::Si("FLOP/B");
const SPEED: FigureUnit = FigureUnit::Si("FLOP/s");
const BANDWIDTH: FigureUnit = FigureUnit::Si("B/s");

#[derive(Debug, Clone, Default)]
pub(crate) struct RooflineDevice {
    pub(crate) name: String,
    pub(crate) bytes_per_s: f64,
    pub(crate) flops_per_s: Vec<(String, f64)>,
}

impl RooflineDevice {
    pub(crate) fn new<'a>(
        name: impl Into<String>,
        bytes_per_s: f64,
        flops_per_s: impl IntoIterator<Item = (&'a str, f64)>,
    ) -> Self {
        let flops_per_s = flops_per_s.into_iter().map(|(name, peak)| (name.to_owned(), peak)).collect();
        RooflineDevice { name: name.into(), bytes_per_s, flops_per_s }
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct RooflineOperator {
    pub(crate) label: String,
    /// FLOPs for each byte moved.
    pub(crate) intensity: f64,
    /// Attainable or achieved FLOP/s.
    pub(crate) flops_per_s: f64,
    /// Its share of the time, or any other weight: the area of its dot. All dots are alike where none has
    /// a weight.
    pub(crate) weight: Option<f64>,
    /// What it belongs to: its colour. A group with the name of a device has its colour too.
    pub(crate) group: String,
    /// Shown in place of intensity and FLOP/s, if its place stands for something else.
    pub(crate) told: Option<String>,
}

/// Operators under the roofs of one or several devices.
///
/// A label stands next to its dot if there is room, the heaviest first; others have a number there
/// and their name below the chart.
#[derive(Debug, Clone, Default)]
pub(crate) struct RooflineChart {
    pub(crate) title: String,
    pub(crate) subtitle: String,
    pub(crate) devices: Vec<RooflineDevice>,
    pub(crate) operators: Vec<RooflineOperator>,
    /// What the area of a dot is, as `share of time`; may be empty.
    pub(crate) weight: String,
    /// Intensities are multiples of the ridge and speeds shares of the ceiling: one roof for every precision.
    pub(crate) normalised: bool,
}

/// A device whose peaks can be drawn.
struct Roof<'a> {
    name: &'a str,
    bytes_per_s: f64,
    /// By height, the highest first.
    peaks: Vec<(&'a str, f64)>,
    class: String,
    ink: String,
    normalised: bool,
}

impl Roof<'_> {
    fn intensity(&self, intensity: f64) -> String {
        if self.normalised { FigureUnit::Number.label(intensity) } else { INTENSITY.label(intensity) }
    }

    fn speed(&self, speed: f64) -> String {
        if self.normalised { FigureUnit::Share.label(speed) } else { SPEED.label(speed) }
    }

    fn words(&self, name: &str) -> String {
        if self.normalised {
            name.to_owned()
        } else {
            format!("{name} · {}", BANDWIDTH.label(self.bytes_per_s))
        }
    }

    fn ridge(&self, peak: f64) -> f64 {
        peak / self.bytes_per_s
    }
}

struct Content<'a> {
    roofs: Vec<Roof<'a>>,
    /// By weight, the heaviest first.
    operators: Vec<&'a RooflineOperator>,
    groups: Vec<&'a str>,
    left_out: Vec<String>,
}

struct Frame {
    plot: Area,
    x: Ruler,
    y: Ruler,
    span: (f64, f64),
}

impl Frame {
    fn at(&self, (x, y): (f64, f64)) -> Point {
        (self.x.at(x), self.y.at(y))
    }
}

impl RooflineChart {
    pub(crate) fn svg(&self) -> String {
        self.svg_on(FigurePaper::default())
    }

    pub(crate) fn svg_on(&self, paper: FigurePaper) -> String {
        let mut content = self.content();
        let mut sheet = Sheet::new(paper, &self.title, &self.subtitle);
        sheet.legend(&self.legend(&content));
        let (height, across) = match self.normalised {
            true => {
                ("Share of the ceiling of its precision", "Arithmetic intensity ÷ ridge of its precision")
            }
            false => ("Performance", "Arithmetic intensity (FLOP/B)"),
        };
        sheet.caption(height);
        let frame = frame(&content, paper, sheet.y);
        if let [only] = &content.roofs[..] {
            roofs::shade(&mut sheet, only, &frame);
        }
        sheet.axes(frame.plot, (&frame.x, across), Some(&frame.y));
        let mut places = OccupiedAreas::within(frame.plot);
        let dots = points::dots(&content, &frame);
        dots.iter().for_each(|dot| places.take(Area::around(dot.at, dot.radius * 0.9)));
        roofs::draw(&mut sheet, &content.roofs, &frame, &mut places);
        let numbered = points::draw(&mut sheet, &dots, &mut places);
        if content.roofs.is_empty() && dots.is_empty() {
            sheet.nothing(frame.plot);
        }
        if !numbered.names.is_empty() {
            sheet.y += 4.0;
            sheet.legend(&numbered.names);
        }
        let unnamed = number_of(
            numbered.unnamed,
            "label omitted for lack of space",
            "labels omitted for \
        lack of space",
        );
        content.left_out.extend(unnamed);
        sheet.finish(&self.title, &description(&content), &content.left_out)
    }

    fn content(&self) -> Content<'_> {
        let mut refused = Refused::default();
        let axis = Axis::log10("", FigureUnit::Number);
        let mut is_drawn = |value: f64| {
            let value = if SANE.contains(&value) || value <= 0.0 { value } else { f64::NAN };
            refused.admits(&[axis.refuses(value)])
        };
        let mut operators: Vec<&RooflineOperator> = self
            .operators
            .iter()
            .filter(|operator| is_drawn(operator.intensity) && is_drawn(operator.flops_per_s))
            .collect();
        let weight =
            |operator: &RooflineOperator| operator.weight.filter(|weight| weight.is_finite()).unwrap_or(0.0);
        operators.sort_by(|one, other| weight(other).total_cmp(&weight(one)));
        let groups = distinct(operators.iter().map(|operator| operator.group.as_str()));
        let mut roofs: Vec<Roof<'_>> = vec![];
        for (index, device) in self.devices.iter().enumerate() {
            let mut peaks: Vec<(&str, f64)> =
                device.flops_per_s.iter().map(|(name, peak)| (name.as_str(), *peak)).collect();
            peaks.retain(|(_, peak)| is_drawn(*peak));
            peaks.sort_by(|one, other| other.1.total_cmp(&one.1));
            if is_drawn(device.bytes_per_s) && !peaks.is_empty() {
                let (class, ink) = self.look(index, &groups);
                roofs.push(Roof {
                    name: &device.name,
                    bytes_per_s: device.bytes_per_s,
                    peaks,
                    class,
                    ink,
                    normalised: self.normalised,
                });
            }
        }
        let mut left_out = refused.remarks("not above zero");
        left_out.extend(number_of(
            self.devices.len() - roofs.len(),
            "device without a roof",
            "devices without a roof",
        ));
        left_out.extend(number_of(operators.len().saturating_sub(MOST), "light operator", "light operators"));
        operators.truncate(MOST);
        Content { roofs, operators, groups, left_out }
    }

    /// Colours belong to groups; devices take theirs, or have dashes alone.
    fn look(&self, index: usize, groups: &[&str]) -> (String, String) {
        let named = groups.iter().position(|group| *group == self.devices[index].name);
        let colour = if groups.is_empty() && self.devices.len() > 1 { Some(index) } else { named };
        match colour {
            Some(colour) => (svg::colour(colour), format!("t{}", colour % svg::COLOURS)),
            None if index == 0 => ("ink".to_owned(), "ink".to_owned()),
            None => (format!("ink dash{}", 1 + (index - 1) % 3), "ink".to_owned()),
        }
    }

    fn legend(&self, content: &Content<'_>) -> Vec<(Sign, String)> {
        let mut entries = vec![];
        if content.roofs.len() > 1 {
            entries.extend(content.roofs.iter().map(|roof| {
                let name = svg::fitted(roof.name, svg::LABEL, 150.0);
                (Sign::Line(roof.class.clone()), roof.words(&name))
            }));
        }
        let is_device =
            |group: &str| content.roofs.len() > 1 && content.roofs.iter().any(|roof| roof.name == group);
        entries.extend(
            content
                .groups
                .iter()
                .enumerate()
                .filter(|(_, group)| !group.trim().is_empty() && !is_device(group))
                .map(|(index, group)| (Sign::Disc(svg::colour(index)), (*group).to_owned())),
        );
        let weighted = content.operators.iter().any(|operator| operator.weight.is_some());
        if weighted && !self.weight.trim().is_empty() {
            entries.push((Sign::Nothing, format!("Area of a dot: {}", svg::kept(&self.weight))));
        }
        entries
    }
}

fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut out: Vec<&str> = vec![];
    for name in names {
        if !out.contains(&name) {
            out.push(name);
        }
    }
    out
}

/// Axes that hold every ridge with some slope and some roof next to it, and every operator.
fn frame(content: &Content<'_>, paper: FigurePaper, top: f64) -> Frame {
    let ridges = content.roofs.iter().flat_map(|roof| roof.peaks.iter().map(|(_, peak)| roof.ridge(*peak)));
    let mut span = (f64::INFINITY, f64::NEG_INFINITY);
    for ridge in ridges {
        span = (span.0.min(ridge / 30.0), span.1.max(ridge * 6.0));
    }
    for operator in &content.operators {
        span = (span.0.min(operator.intensity / 2.0), span.1.max(operator.intensity * 2.0));
    }
    let mut speeds = (f64::INFINITY, f64::NEG_INFINITY);
    for roof in &content.roofs {
        let high = roof.peaks.first().map_or(0.0, |peak| peak.1);
        speeds = (speeds.0.min(roof.bytes_per_s * span.0), speeds.1.max(high * 1.3));
    }
    for operator in &content.operators {
        speeds = (speeds.0.min(operator.flops_per_s / 1.5), speeds.1.max(operator.flops_per_s * 1.5));
    }
    let bottom = top + paper.height(HEIGHT);
    let log = crate::figure::Scale::Log10;
    let speed = if content.roofs.iter().any(|roof| roof.normalised) { FigureUnit::Share } else { SPEED };
    let y = Ruler::new(speed, log, speeds, Ends::Values, (bottom, top));
    let left = MARGIN + y.widest(SMALL) + 8.0;
    let right = paper.width() - roofs::margin(&content.roofs, paper);
    let x = Ruler::new(FigureUnit::Number, log, span, Ends::Values, (left, right));
    let is_empty = content.roofs.is_empty() && content.operators.is_empty();
    let (x, y) = if is_empty { (x.bare(), y.bare()) } else { (x, y) };
    Frame { plot: Area { left, top, right, bottom }, x, y, span }
}

fn description(content: &Content<'_>) -> String {
    let mut words = "Roofline chart of FLOP/s over FLOP/B.".to_owned();
    for roof in content.roofs.iter().take(TOLD) {
        let peaks: Vec<String> = roof
            .peaks
            .iter()
            .map(|(name, peak)| format!("{} {}", svg::kept(name), roof.speed(*peak)))
            .collect();
        words.push_str(&format!(" {}: {}.", roof.words(&svg::kept(roof.name)), peaks.join(", ")));
    }
    for operator in content.operators.iter().take(TOLD) {
        words.push_str(&format!(" {}.", points::tip(operator)));
    }
    let more = content.operators.len().saturating_sub(TOLD);
    words
        + &number_of(more, "more operator.", "more operators.")
            .map_or(String::new(), |more| format!(" {more}"))
}
