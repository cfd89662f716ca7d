//! Figures of designs and of sweeps.

use std::collections::{BTreeMap, BTreeSet};

use rooflens_cost::document::{ClassTotals, EstimateDocument, PhaseFacts};
use rooflens_cost::precision::Dtype;
use rooflens_cost::roof::Limit;
use rooflens_cost::step::Phase;
use rooflens_cost::sweep::CostSummary;

use super::points::{Points, SweepPointRef, label};
use super::{count, phase_title};
use crate::figure::{
    Axis, Bar, BarChart, FigureUnit, LineChart, LineSeries, ReferenceLine, RooflineChart, RooflineDevice,
    RooflineOperator, Scale,
};

/// A figure and its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FigureFile {
    /// Name of its file.
    pub file_name: String,
    /// SVG.
    pub svg: String,
}

/// The figures of a design: where the time goes, and each phase's operators under the roof; without a
/// device, where the bytes go.
pub fn design_figures(name: &str, document: &EstimateDocument) -> Vec<FigureFile> {
    let mut figures = Vec::new();
    let Some(device) = &document.hardware else {
        let bytes = |class: &ClassTotals| class.bytes.total as f64;
        let chart = by_class(name, document, "Bytes moved by class of operator", ("moved", "B"), bytes);
        return vec![FigureFile { file_name: "bytes-by-class.svg".to_owned(), svg: chart.svg() }];
    };
    for phase in &document.phases {
        if let Some(roofline) = roofline(name, document, device, phase) {
            figures.push(FigureFile {
                file_name: format!("roofline-{}.svg", phase.phase.as_str()),
                svg: roofline.svg(),
            });
        }
    }
    let seconds = |class: &ClassTotals| class.seconds.unwrap_or(0.0);
    let chart = by_class(name, document, "Lower bound by class of operator", ("lower bound", "s"), seconds);
    figures.push(FigureFile { file_name: "time-by-class.svg".to_owned(), svg: chart.svg() });
    figures
}

fn subtitle(name: &str, document: &EstimateDocument) -> String {
    let workload = &document.workload;
    let mut words = vec![name.to_owned(), format!("batch {}", count(workload.batch))];
    words.extend(workload.prefill.map(|prefill| format!("prompt {}", count(prefill.tokens))));
    words.extend(workload.decode.map(|decode| format!("context {}", count(decode.context))));
    if let Some(device) = &document.hardware {
        words.push(match document.setup.parallel.devices() {
            1 => device.name.clone(),
            devices => format!("{devices} × {}, the busiest", device.name),
        });
    }
    words.join(", ")
}

fn roofline(
    name: &str,
    document: &EstimateDocument,
    device: &rooflens_cost::hardware::Device,
    phase: &PhaseFacts,
) -> Option<RooflineChart> {
    // Operators of a name lie together: their layers differ little.
    let mut sums: BTreeMap<(&str, &str), (f64, f64, f64)> = BTreeMap::new();
    for operator in phase.operators.iter().filter(|operator| operator.flops.useful > 0) {
        let layers = operator.count as f64;
        let sum = sums.entry((&*operator.class, &*operator.name)).or_default();
        sum.0 += operator.flops.useful as f64 * layers;
        sum.1 += operator.bytes.total as f64 * layers;
        sum.2 += operator.seconds.map_or(0.0, |seconds| seconds.bound) * layers;
    }
    let all = phase.totals.seconds?;
    let operators = sums.into_iter().filter(|(_, (_, bytes, _))| *bytes > 0.0).map(|((class, name), sum)| {
        let (flops, bytes, seconds) = sum;
        RooflineOperator {
            label: name.to_owned(),
            intensity: flops / bytes,
            flops_per_s: flops / seconds,
            weight: Some(seconds / all),
            group: class.split('.').next().unwrap_or(class).to_owned(),
            told: None,
        }
    });
    let multiplying = phase.operators.iter().filter(|operator| operator.flops.useful > 0);
    let mut formats: Vec<&str> = multiplying.map(|operator| &*operator.dtype).collect();
    formats.sort_unstable();
    formats.dedup();
    let peaks = Dtype::ALL.iter().filter(|dtype| formats.contains(&dtype.as_str()));
    let peaks = peaks.filter_map(|dtype| Some((dtype.as_str(), device.peak_flops(*dtype)?)));
    Some(RooflineChart {
        normalised: false,
        title: format!("{} under the roofline", phase_title(phase.phase)),
        subtitle: subtitle(name, document),
        devices: vec![RooflineDevice::new(&*device.name, device.bandwidth_bytes_per_s?, peaks)],
        operators: operators.collect(),
        weight: "share of the lower bound".to_owned(),
    })
}

const PARTS: usize = 10;

fn by_class(
    name: &str,
    document: &EstimateDocument,
    title: &str,
    (label, unit): (&str, &'static str),
    value: fn(&ClassTotals) -> f64,
) -> BarChart {
    let mut classes: Vec<(&str, f64)> =
        document.totals.classes.iter().map(|(name, class)| (&**name, value(class))).collect();
    classes.retain(|(_, value)| *value > 0.0);
    classes.sort_by(|a, b| b.1.total_cmp(&a.1));
    let (named, rest) = classes.split_at(classes.len().min(PARTS));
    let bar = |phase: &PhaseFacts| {
        let of = |(name, _): &(&str, f64)| phase.totals.classes.get(*name).map_or(0.0, value);
        let others = (!rest.is_empty()).then(|| rest.iter().map(of).sum::<f64>());
        Bar::new(phase_title(phase.phase), named.iter().map(of).chain(others))
    };
    let others = (!rest.is_empty()).then(|| "the rest".to_owned());
    BarChart {
        title: title.to_owned(),
        subtitle: subtitle(name, document),
        label: label.to_owned(),
        unit: FigureUnit::Si(unit),
        parts: named.iter().map(|(name, _)| (*name).to_owned()).chain(others).collect(),
        bars: document.phases.iter().map(bar).collect(),
        ..BarChart::default()
    }
}

/// The figures of a sweep: each number over the axis of most numbers, the last of equals, and a line for
/// every combination of the others; none without an axis of numbers.
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

struct Drawn {
    file: &'static str,
    title: &'static str,
    axis: (&'static str, FigureUnit),
    value: Value,
}

const fn drawn(
    file: &'static str,
    title: &'static str,
    axis: (&'static str, FigureUnit),
    value: Value,
) -> Drawn {
    Drawn { file, title, axis, value }
}

const DRAWN: &[Drawn] = &[
    drawn("time", "Lower bound of the time", ("Lower bound", FigureUnit::Si("s")), Value::Seconds),
    drawn("tokens-per-s", "Upper bound of tokens/s", ("Tokens/s", FigureUnit::Number), Value::Tokens),
    drawn(
        "flops",
        "Model FLOPs",
        ("Operations", FigureUnit::Si("FLOP")),
        Value::Of(|point| point.flops as f64),
    ),
    drawn("bytes", "Bytes moved", ("Bytes", FigureUnit::Si("B")), Value::Of(|point| point.bytes as f64)),
    drawn(
        "intensity",
        "Arithmetic intensity",
        ("Intensity", FigureUnit::Si("FLOP/B")),
        Value::Of(|point| point.intensity),
    ),
    drawn(
        "kv",
        "KV cache on the fullest device",
        ("Cache", FigureUnit::Si("B")),
        Value::Of(|point| point.kv_bytes as f64),
    ),
    drawn(
        "memory",
        "Memory on the fullest device",
        ("Memory", FigureUnit::Si("B")),
        Value::Of(|point| point.memory_bytes as f64),
    ),
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
