//! Figures of sweeps.

use std::collections::BTreeSet;

use rooflens_cost::roof::Limit;
use rooflens_cost::step::Phase;
use rooflens_cost::sweep::CostSummary;

use super::best::label;
use super::figures::FigureFile;
use super::points::{Points, SweepPointRef};
use crate::figure::{Axis, FigureUnit, LineChart, LineSeries, ReferenceLine, Scale};

/// The figures of a sweep: each number over the axis of most numbers, the last of equals, and a line for
/// every combination of the others; none without an axis of numbers.
#[must_use]
pub fn sweep_figures(sweep: &Points<'_>) -> Vec<FigureFile> {
    let is_number = |axis: &usize| sweep.points.iter().all(|point| point.at[*axis].parse::<f64>().is_ok());
    let values =
        |axis: &usize| sweep.points.iter().map(|point| &point.at[*axis]).collect::<BTreeSet<_>>().len();
    let Some(x) = (0..sweep.axes.len()).filter(is_number).max_by_key(values) else { return Vec::new() };
    let lines = lines(sweep, x);
    let apart = sweep.points.first().is_some_and(|point| point.phases.len() > 1);
    let mut figures = Vec::new();
    for drawn in DRAWN {
        let of_phase = matches!(drawn.value, Value::Seconds | Value::Tokens);
        let phases: Vec<Option<Phase>> = match sweep.points.first() {
            Some(first) if of_phase && apart => first.phases.iter().map(|phase| Some(phase.phase)).collect(),
            _ => vec![None],
        };
        figures.extend(phases.into_iter().filter_map(|phase| figure(sweep, x, &lines, drawn, phase)));
    }
    figures
}

/// A line: its name and its points.
type Swept<'a> = (String, Vec<(f64, SweepPointRef<'a>)>);

fn lines<'a>(sweep: &Points<'a>, x: usize) -> Vec<Swept<'a>> {
    let mut lines: Vec<Swept<'a>> = Vec::new();
    for point in &sweep.points {
        let others = point.at.iter().enumerate().filter(|(axis, _)| *axis != x);
        let words: Vec<String> = others.map(|(axis, value)| label(sweep.axes[axis], value)).collect();
        let name = words.join(", ");
        let value = point.at[x].parse().unwrap_or(f64::NAN);
        match lines.iter_mut().find(|(known, _)| *known == name) {
            Some((_, points)) => points.push((value, *point)),
            None => lines.push((name, vec![(value, *point)])),
        }
    }
    lines
}

/// Which number of a point is drawn.
#[derive(Clone, Copy)]
enum Value {
    Seconds,
    Tokens,
    Of(fn(&CostSummary) -> f64),
}

impl Value {
    fn of(self, point: &SweepPointRef<'_>, phase: Option<Phase>) -> Option<f64> {
        let of_phase = phase.map(|phase| point.phases.iter().find(|found| found.phase == phase));
        match self {
            Value::Seconds => of_phase.map_or(point.summary.seconds, |found| found?.seconds),
            Value::Tokens => of_phase.map_or(point.summary.tokens_per_s, |found| found?.tokens_per_s),
            Value::Of(value) => Some(value(point.summary)),
        }
    }
}

/// A number of a point that is drawn.
struct Drawn {
    file: &'static str,
    title: &'static str,
    axis: (&'static str, FigureUnit),
    value: Value,
}

const DRAWN: &[Drawn] = &[
    Drawn {
        file: "time",
        title: "Lower bound of the time",
        axis: ("Lower bound", FigureUnit::Si("s")),
        value: Value::Seconds,
    },
    Drawn {
        file: "tokens-per-s",
        title: "Upper bound of tokens/s",
        axis: ("Tokens/s", FigureUnit::Number),
        value: Value::Tokens,
    },
    Drawn {
        file: "flops",
        title: "Model FLOPs",
        axis: ("Operations", FigureUnit::Si("FLOP")),
        value: Value::Of(|point| point.flops as f64),
    },
    Drawn {
        file: "bytes",
        title: "Bytes moved",
        axis: ("Bytes", FigureUnit::Si("B")),
        value: Value::Of(|point| point.bytes as f64),
    },
    Drawn {
        file: "intensity",
        title: "Arithmetic intensity",
        axis: ("Intensity", FigureUnit::Si("FLOP/B")),
        value: Value::Of(|point| point.intensity),
    },
    Drawn {
        file: "kv",
        title: "KV cache on the fullest device",
        axis: ("Cache", FigureUnit::Si("B")),
        value: Value::Of(|point| point.kv_bytes as f64),
    },
    Drawn {
        file: "memory",
        title: "Memory on the fullest device",
        axis: ("Memory", FigureUnit::Si("B")),
        value: Value::Of(|point| point.memory_bytes as f64),
    },
];

fn figure(
    sweep: &Points<'_>,
    x: usize,
    lines: &[Swept<'_>],
    drawn: &Drawn,
    phase: Option<Phase>,
) -> Option<FigureFile> {
    let series: Vec<LineSeries> = lines
        .iter()
        .map(|(name, points)| {
            LineSeries::new(name, points.iter().map(|(x, point)| (*x, drawn.value.of(point, phase))))
        })
        .collect();
    if series.iter().all(|series| series.points.iter().all(|(_, y)| y.is_none_or(|y| y <= 0.0))) {
        return None;
    }
    let (title, file_name) = match phase {
        Some(phase) => {
            (format!("{}, {}", drawn.title, phase.as_str()), format!("{}-{}", drawn.file, phase.as_str()))
        }
        None => (drawn.title.to_owned(), drawn.file.to_owned()),
    };
    let timed = matches!(drawn.value, Value::Seconds | Value::Tokens) && phase.is_none();
    let (label, unit) = drawn.axis;
    let level = level_axis(sweep, x);
    // Over even steps, what grows evenly is a straight line.
    let scale = if level.scale == Scale::Linear { Scale::Linear } else { Scale::Log10 };
    let chart = LineChart {
        title,
        subtitle: sweep.fixed.clone(),
        x: level,
        y: Axis { label: label.to_owned(), unit, scale },
        series: alike_as_one(series),
        x_rules: if timed { turns(lines) } else { vec![] },
        y_rules: match drawn.file {
            "memory" => sweep
                .usable
                .iter()
                .map(|(name, bytes)| ReferenceLine::new(*bytes, format!("usable of {name}")))
                .collect(),
            _ => vec![],
        },
    };
    Some(FigureFile { file_name: format!("{file_name}.svg"), svg: chart.svg() })
}

/// The swept numbers: by their logarithm where they span much and none is zero.
fn level_axis(sweep: &Points<'_>, x: usize) -> Axis {
    let values = || sweep.points.iter().filter_map(|point| point.at[x].parse::<f64>().ok());
    let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    let label = match sweep.axes[x] {
        "batch" => "Batch (sequences)".to_owned(),
        "context" => "Context (tokens in the KV cache)".to_owned(),
        "prefill" => "Prompt (tokens)".to_owned(),
        "tp" | "pp" | "ep" | "dp" => format!("{} (devices)", sweep.axes[x]),
        other => other.to_owned(),
    };
    let scale = if least > 0.0 && most >= 8.0 * least { Scale::Log2 } else { Scale::Linear };
    Axis { label, unit: FigureUnit::Number, scale }
}

/// Lines that lie upon each other, such as bytes on different devices, are one.
fn alike_as_one(series: Vec<LineSeries>) -> Vec<LineSeries> {
    let mut apart: Vec<(LineSeries, usize)> = Vec::new();
    for line in series {
        match apart.iter_mut().find(|(known, _)| known.points == line.points) {
            Some((_, others)) => *others += 1,
            None => apart.push((line, 0)),
        }
    }
    let named = |(line, others): (LineSeries, usize)| match others {
        0 => line,
        others => LineSeries { name: format!("{} and {others} identical", line.name), ..line },
    };
    match apart.as_slice() {
        [_, _, ..] => apart.into_iter().map(named).collect(),
        _ => apart.into_iter().map(|(line, _)| LineSeries { name: String::new(), ..line }).collect(),
    }
}

/// Lines that are marked where they turn.
const TURNS: usize = 3;

/// Where each line turns from bound by memory to bound by compute, and from where on it does not fit.
fn turns(lines: &[Swept<'_>]) -> Vec<ReferenceLine> {
    let mut rules = Vec::new();
    for (name, points) in lines.iter().filter(|_| lines.len() <= TURNS) {
        let of = if name.is_empty() { String::new() } else { format!("{name}: ") };
        let turn = points.windows(2).find(|pair| {
            pair[0].1.summary.limit == Some(Limit::Memory) && pair[1].1.summary.limit == Some(Limit::Compute)
        });
        rules.extend(turn.map(|pair| ReferenceLine::new(pair[1].0, format!("{of}bound by compute"))));
        let full = points
            .windows(2)
            .find(|pair| pair[0].1.summary.fits == Some(true) && pair[1].1.summary.fits == Some(false));
        rules.extend(full.map(|pair| ReferenceLine::new(pair[1].0, format!("{of}does not fit"))));
    }
    rules
}
