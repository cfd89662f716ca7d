//! Bars and charts as SVG.

use crate::block::{Chart, ChartUnit, Mark, Series, Stack, StackBar};
use crate::format;
use crate::render::html::axis::PixelScale;
use crate::render::html::escape;

const LEFT: f64 = 58.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 22.0;
/// Room for the distribution beside points.
const SIDE: f64 = 64.0;
/// Up to so many dots are large.
const FEW: usize = 60;
/// Parts of the distribution.
const BINS: usize = 32;

/// The parts of a whole as one bar.
pub(crate) fn stack(stack: &Stack, bar: &StackBar) -> String {
    let mut x = 0.0;
    let mut rects = String::new();
    let mut words = vec![];
    for ((tone, name), share) in stack.parts.iter().zip(bar.shares()) {
        let Some(share) = share.filter(|share| *share > 0.0) else { continue };
        let width = (share * 1000.0).min(1000.0 - x);
        let word = format!("{name} {}", format::share(share));
        rects.push_str(&format!(
            "<rect x=\"{x:.1}\" width=\"{width:.1}\" height=\"1\" class=\"t-{}\"><title>{}</title></rect>",
            tone.as_str(),
            escape(&word)
        ));
        words.push(word);
        x += width;
    }
    let label = escape(&format!("{}: {}", bar.label, words.join(", ")));
    format!(
        "<svg class=\"stackbar\" viewBox=\"0 0 1000 1\" preserveAspectRatio=\"none\" role=\"img\" \
         aria-label=\"{label}\">{rects}</svg>"
    )
}

/// The axes of a chart and its edges.
struct Frame {
    width: f64,
    height: f64,
    right: f64,
    bottom: f64,
    x: PixelScale,
    y: PixelScale,
    /// Length of a point along x, where points have one.
    step: f64,
}

/// A chart of the given width.
pub(crate) fn chart(chart: &Chart, width: f64) -> String {
    let points: Vec<(f64, f64)> = chart
        .series
        .iter()
        .flat_map(|series| &series.points)
        .copied()
        .filter(|point| point.1.is_finite())
        .collect();
    if points.is_empty() {
        return String::new();
    }
    let frame = frame(chart, &points, width);
    let marks = match chart.mark {
        Mark::Areas => areas(&chart.series, &frame),
        Mark::Steps => steps(&chart.series, &frame),
        Mark::Points | Mark::Levels => dots(chart, &points, &frame),
        Mark::Columns => columns(&chart.series, &frame),
    };
    let (hover_x, tips) = hover(chart, &frame);
    let label = escape(&describe(chart, &points));
    format!(
        "<svg class=\"chart\" viewBox=\"0 0 {width} {}\" role=\"img\" aria-label=\"{label}\" \
         data-x=\"{hover_x}\" data-tips=\"{tips}\">{}{marks}{}\
         <line class=\"cursor\" y1=\"{TOP}\" y2=\"{:.1}\" visibility=\"hidden\"/></svg>",
        frame.height,
        grid(chart, &frame),
        rules(chart, &frame),
        frame.bottom,
    )
}

fn frame(chart: &Chart, points: &[(f64, f64)], width: f64) -> Frame {
    let height = match chart.mark {
        Mark::Areas => 104.0,
        Mark::Steps | Mark::Columns => 160.0,
        Mark::Points | Mark::Levels => 190.0,
    };
    let right = width - if matches!(chart.mark, Mark::Points | Mark::Levels) { SIDE } else { 10.0 };
    let bottom = height - BOTTOM;
    let fold = |value: fn(&(f64, f64)) -> f64| {
        points
            .iter()
            .map(value)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
    };
    let ((first, last), (low, high)) = (fold(|point| point.0), fold(|point| point.1));
    let count = chart.series.iter().map(|series| series.points.len()).max().unwrap_or(1);
    let step = if count > 1 { (last - first) / (count - 1) as f64 } else { 1.0 };
    let pixels = (LEFT, right);
    let x_ticks = (width / 110.0) as usize;
    let (unit_x, unit_y) = (&chart.x.1, &chart.y.1);
    let (x, y) = match chart.mark {
        Mark::Areas => (
            PixelScale::exact(first, last + step, pixels, unit_x, x_ticks),
            PixelScale::exact(0.0, 1.0, (bottom, TOP), unit_y, 2),
        ),
        Mark::Steps => (
            PixelScale::exact(first, last, pixels, unit_x, x_ticks),
            PixelScale::upward(high, (bottom, TOP), unit_y, 4),
        ),
        Mark::Points | Mark::Levels => (
            PixelScale::exact(first, last.max(first + 1.0), pixels, unit_x, x_ticks),
            PixelScale::fitting(low, high, (bottom, TOP), unit_y, 4),
        ),
        Mark::Columns => (
            PixelScale::exact(first - 0.5, last + 0.5, pixels, unit_x, x_ticks),
            PixelScale::upward(high, (bottom, TOP), unit_y, 4),
        ),
    };
    Frame { width, height, right, bottom, x, y, step }
}

fn grid(chart: &Chart, frame: &Frame) -> String {
    let mut out = String::new();
    for tick in &frame.y.ticks {
        let y = frame.y.at(*tick);
        out.push_str(&format!(
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            frame.right,
            LEFT - 6.0,
            y + 3.5,
            escape(&format::tick(*tick, &chart.y.1))
        ));
    }
    for tick in &frame.x.ticks {
        let x = frame.x.at(*tick);
        // A name at the edge would be cut.
        let anchor = if x > frame.width - 24.0 { "end" } else { "middle" };
        out.push_str(&format!(
            "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
            frame.height - 6.0,
            escape(&format::tick(*tick, &chart.x.1))
        ));
    }
    out
}

/// Each series upon the one before, constant over its slice.
fn areas(series: &[Series], frame: &Frame) -> String {
    let slices = series.iter().map(|series| series.points.len()).max().unwrap_or(0);
    let mut floor = vec![0.0; slices];
    let mut out = String::new();
    for series in series {
        let (mut upper, mut lower) = (String::new(), String::new());
        for (index, (x, share)) in series.points.iter().enumerate() {
            let top = floor[index] + if share.is_finite() { share.max(0.0) } else { 0.0 };
            let (left, right) = (frame.x.at(*x), frame.x.at(x + frame.step));
            let start = if index == 0 { format!("M{left:.1} {:.1}", frame.y.at(top)) } else { String::new() };
            upper.push_str(&format!("{start}V{:.1}H{right:.1}", frame.y.at(top)));
            lower = format!("V{:.1}H{left:.1}{lower}", frame.y.at(floor[index]));
            floor[index] = top;
        }
        out.push_str(&format!("<path class=\"area t-{}\" d=\"{upper}{lower}Z\"/>", series.tone.as_str()));
    }
    out
}

/// A line that keeps its value until the next point, filled below.
fn steps(series: &[Series], frame: &Frame) -> String {
    let mut out = String::new();
    for series in series {
        let mut line = String::new();
        for (x, y) in &series.points {
            let (x, y) = (frame.x.at(*x), frame.y.at(*y));
            line.push_str(&if line.is_empty() {
                format!("M{x:.1} {y:.1}")
            } else {
                format!("H{x:.1}V{y:.1}")
            });
        }
        let tone = series.tone.as_str();
        out.push_str(&format!(
            "<path class=\"fill t-{tone}\" d=\"{line}V{:.1}H{LEFT}Z\"/><path class=\"line t-{tone}\" d=\"{line}\"/>",
            frame.bottom
        ));
    }
    out
}

/// A dot a value; those above the last rule stand out. Beside them, how often each height occurs.
fn dots(chart: &Chart, points: &[(f64, f64)], frame: &Frame) -> String {
    let limit = chart.rules.last().map_or(f64::INFINITY, |rule| rule.1);
    let (mut usual, mut beyond) = (String::new(), String::new());
    let mut bins = [0_usize; BINS];
    for (x, y) in points {
        let height = frame.y.at(*y);
        let path = if *y > limit { &mut beyond } else { &mut usual };
        path.push_str(&format!("M{:.1} {height:.1}h0", frame.x.at(*x)));
        let share = (height - TOP) / (frame.bottom - TOP);
        bins[((share * BINS as f64) as usize).min(BINS - 1)] += 1;
    }
    let most = bins.iter().copied().max().unwrap_or(1).max(1) as f64;
    let tall = (frame.bottom - TOP) / BINS as f64;
    let side: String = bins
        .iter()
        .enumerate()
        .filter(|(_, count)| **count > 0)
        .map(|(index, count)| {
            let (y, wide) = (TOP + index as f64 * tall, (*count as f64 / most * (SIDE - 12.0)).max(1.0));
            format!(
                "<rect class=\"bin\" x=\"{:.1}\" y=\"{y:.1}\" width=\"{wide:.1}\" height=\"{:.1}\"/>",
                frame.right + 8.0,
                tall - 0.6
            )
        })
        .collect();
    // A handful of runs is to be seen as well as thousands of steps.
    let few = if points.len() <= FEW { " few" } else { "" };
    format!(
        "<path class=\"dots{few}\" d=\"{usual}\"/><path class=\"dots{few} beyond\" d=\"{beyond}\"/>{side}"
    )
}

fn columns(series: &[Series], frame: &Frame) -> String {
    let mut out = String::new();
    for series in series {
        let wide = (frame.x.at(1.0) - frame.x.at(0.0)).abs();
        let wide = if series.points.len() == 1 { 40.0 } else { (wide * 0.8).clamp(0.5, 40.0) };
        for (x, y) in &series.points {
            let (middle, top) = (frame.x.at(*x), frame.y.at(*y));
            out.push_str(&format!(
                "<rect class=\"t-{}\" x=\"{:.1}\" y=\"{top:.1}\" width=\"{wide:.1}\" height=\"{:.1}\"/>",
                series.tone.as_str(),
                middle - wide / 2.0,
                frame.bottom - top
            ));
        }
    }
    out
}

fn rules(chart: &Chart, frame: &Frame) -> String {
    let mut out = String::new();
    for (index, (name, value)) in chart.rules.iter().enumerate() {
        let y = frame.y.at(*value);
        // The lowest has its name below it, so that near lines do not hide each other's.
        let name_y = if index == 0 { (y + 12.0).min(frame.bottom - 3.0) } else { (y - 5.0).max(TOP + 6.0) };
        let word = format!("{name} {}", format::value(*value, &chart.y.1));
        out.push_str(&format!(
            "<line class=\"rule\" x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
             <text class=\"rule\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            frame.right,
            frame.right - 4.0,
            name_y,
            escape(&word)
        ));
    }
    out
}

/// What the script shows where the pointer is: positions and ready-made words.
fn hover(chart: &Chart, frame: &Frame) -> (String, String) {
    let Some(longest) = chart.series.iter().max_by_key(|series| series.points.len()) else {
        return (String::new(), String::new());
    };
    let middle = if chart.mark == Mark::Areas { frame.step / 2.0 } else { 0.0 };
    let xs: Vec<String> =
        longest.points.iter().map(|(x, _)| format!("{:.0}", frame.x.at(x + middle))).collect();
    let tip = |index: usize| {
        let x = longest.points[index].0;
        let at = if chart.x.1 == ChartUnit::Time { format::moment(x as i64) } else { format!("#{x:.0}") };
        let values = chart.series.iter().filter_map(|series| {
            let y = series.points.get(index)?.1;
            Some(format!("{} {}", series.label, format::value(y, &chart.y.1)))
        });
        std::iter::once(at).chain(values).collect::<Vec<String>>().join(" · ")
    };
    let tips: Vec<String> = (0..longest.points.len()).map(tip).collect();
    (xs.join(" "), escape_all(&tips.join("|")))
}

/// Tips hold only our own words and numbers, but may be many: they are not cut.
fn escape_all(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

/// The chart for those who cannot see it.
fn describe(chart: &Chart, points: &[(f64, f64)]) -> String {
    let (low, high) = points
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), point| (low.min(point.1), high.max(point.1)));
    let (low, high) = (format::value(low, &chart.y.1), format::value(high, &chart.y.1));
    format!("{}: {} {}, from {low} to {high}", chart.title, chart.y.0, chart.x.0)
}
