//! Bars and charts as SVG.

use crate::block::{Chart, ChartUnit, Mark, Series, Stack, StackBar};
use crate::format;
use crate::render::bars::extent;
use crate::render::html::words::escape;

const LEFT: f64 = 58.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 22.0;
/// Room for the distribution next to points.
const SIDE: f64 = 64.0;
/// Up to so many dots are large.
const FEW: usize = 60;
/// Parts of the distribution.
const BINS: usize = 32;

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

struct Frame {
    width: f64,
    height: f64,
    right: f64,
    bottom: f64,
    x: PixelScale,
    y: PixelScale,
    step: f64,
}

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
    let (xs, ys): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
    let ((first, last), (low, high)) = (extent(&xs), extent(&ys));
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

fn describe(chart: &Chart, points: &[(f64, f64)]) -> String {
    let (low, high) = extent(&points.iter().map(|point| point.1).collect::<Vec<f64>>());
    let (low, high) = (format::value(low, &chart.y.1), format::value(high, &chart.y.1));
    format!("{}: {} {}, from {low} to {high}", chart.title, chart.y.0, chart.x.0)
}

/// Values beyond this ratio need a logarithmic axis.
const LARGE_RATIO: f64 = 2.0;

#[derive(Debug, Clone)]
struct PixelScale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    logarithmic: bool,
    ticks: Vec<f64>,
}

impl PixelScale {
    /// From `low` to `high`, both shown; `ticks` is how many names there is room for.
    fn exact(low: f64, high: f64, (from, to): (f64, f64), unit: &ChartUnit, ticks: usize) -> Self {
        let high = if high > low { high } else { low + 1.0 };
        let step = step((high - low) / ticks.max(1) as f64, unit);
        let first = (low / step).ceil();
        let number = ((high / step).floor() - first).clamp(0.0, 50.0) as usize;
        let ticks = (0..=number).map(|index| (first + index as f64) * step).collect();
        PixelScale { low, high, from, to, logarithmic: false, ticks }
    }

    /// From nothing to a round number above `high`.
    fn upward(high: f64, pixels: (f64, f64), unit: &ChartUnit, ticks: usize) -> Self {
        let step = step(high.max(f64::MIN_POSITIVE) / ticks.max(1) as f64, unit);
        PixelScale::exact(0.0, ((high / step).ceil() * step).max(step), pixels, unit, ticks)
    }

    /// From about `low` to about `high`: logarithmic if some values would vanish next to others.
    fn fitting(low: f64, high: f64, pixels: (f64, f64), unit: &ChartUnit, ticks: usize) -> Self {
        if low.is_nan() || low <= 0.0 {
            return PixelScale::upward(high, pixels, unit, ticks);
        }
        if high / low <= LARGE_RATIO {
            let margin = ((high - low) * 0.1).max(high * 0.01);
            return PixelScale::exact((low - margin).max(0.0), high + margin, pixels, unit, ticks);
        }
        let (low, high) = (low / 1.15, high * 1.15);
        let decades = (low.log10().floor() as i32)..=(high.log10().ceil() as i32);
        // As many names a decade as there is room.
        let rounds: &[f64] = match high / low {
            ratio if ratio < 6.0 => &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0],
            ratio if ratio < 100.0 => &[1.0, 2.0, 5.0],
            ratio if ratio < 10_000.0 => &[1.0, 3.0],
            _ => &[1.0],
        };
        let ticks = decades
            .flat_map(|decade| rounds.iter().map(move |round| round * 10_f64.powi(decade)))
            .filter(|tick| (low..=high).contains(tick))
            .collect();
        PixelScale { low, high, from: pixels.0, to: pixels.1, logarithmic: true, ticks }
    }

    /// Where a value lies; what lies outside is put at the edge.
    fn at(&self, value: f64) -> f64 {
        let value = if value.is_finite() { value.clamp(self.low, self.high) } else { self.low };
        let share = if self.logarithmic {
            (value / self.low).log10() / (self.high / self.low).log10()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.from + share * (self.to - self.from)
    }
}

fn step(rough: f64, unit: &ChartUnit) -> f64 {
    let rough = if rough.is_finite() && rough > 0.0 { rough } else { 1.0 };
    match unit {
        ChartUnit::Bytes => 2_f64.powf(rough.log2().ceil()),
        ChartUnit::Time | ChartUnit::Share | ChartUnit::Index | ChartUnit::Amount(_) => {
            let power = 10_f64.powf(rough.log10().floor());
            let round = [1.0, 2.0, 5.0, 10.0].into_iter().find(|round| round * power >= rough * 0.999);
            let step = round.unwrap_or(10.0) * power;
            if *unit == ChartUnit::Index { step.max(1.0) } else { step }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        let axis = PixelScale::upward(21.3e6, (100.0, 0.0), &ChartUnit::Time, 4);
        assert_eq!(axis.ticks, [0.0, 10e6, 20e6, 30e6]);
        assert_eq!((axis.at(0.0), axis.at(30e6), axis.at(15e6)), (100.0, 0.0, 50.0));
        assert_eq!(
            PixelScale::upward(3.0 * 1024.0, (0.0, 1.0), &ChartUnit::Bytes, 3).ticks,
            [0.0, 1024.0, 2048.0, 3072.0]
        );
    }

    #[test]
    fn nothing_has_an_axis_too() {
        for axis in [
            PixelScale::upward(0.0, (0.0, 1.0), &ChartUnit::Time, 4),
            PixelScale::exact(5.0, 5.0, (0.0, 1.0), &ChartUnit::Index, 4),
            PixelScale::upward(f64::NAN, (0.0, 1.0), &ChartUnit::Time, 4),
        ] {
            assert!(axis.at(5.0).is_finite() && axis.at(f64::NAN).is_finite());
        }
    }

    #[test]
    fn an_outlier_makes_it_logarithmic() {
        let axis = PixelScale::fitting(7.0, 70.0, (0.0, 90.0), &ChartUnit::Time, 4);
        assert_eq!(axis.ticks, [10.0, 20.0, 50.0]);
        let middle = (axis.at(7.0) + axis.at(70.0)) / 2.0;
        assert_eq!(axis.at(70.0_f64.sqrt() * 7.0_f64.sqrt()).round(), middle.round());
        assert_eq!(PixelScale::fitting(100.0, 110.0, (0.0, 1.0), &ChartUnit::Time, 2).ticks, [100.0, 110.0]);
    }
}
