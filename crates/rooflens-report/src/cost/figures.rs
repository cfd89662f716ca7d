//! Figures of designs and sweeps.

use std::collections::BTreeMap;

use rooflens_cost::document::{Document, PhaseFacts};
use rooflens_cost::precision::Dtype;
use rooflens_cost::roof::Limit;
use rooflens_cost::sweep::Summary;

use super::phase_title;
use super::points::Points;
use crate::figure::{Axis, Bar, BarChart, Device, LineChart, Operator, RooflineChart, Rule, Series, Unit};
use crate::format;

/// A figure and its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure {
    /// Name of its file.
    pub file_name: String,
    /// SVG.
    pub svg: String,
}

/// The figures of a design: where the time goes, and each phase's operators under the roof.
#[must_use]
pub fn design_figures(document: &Document) -> Vec<Figure> {
    let mut figures = Vec::new();
    let Some(device) = &document.hardware else { return figures };
    for phase in &document.phases {
        if let Some(roofline) = roofline(document, device, phase) {
            figures.push(Figure {
                file_name: format!("roofline-{}.svg", phase.phase.as_str()),
                svg: roofline.svg(),
            });
        }
    }
    figures.push(Figure { file_name: "time-by-class.svg".to_owned(), svg: time_by_class(document).svg() });
    figures
}

fn subtitle(document: &Document) -> String {
    let device = document.hardware.as_ref().map_or("", |device| device.name.as_str());
    format!(
        "{}, batch {}, {device}",
        document.model.architecture,
        format::count(document.workload.batch as i64)
    )
}

fn roofline(
    document: &Document,
    device: &rooflens_cost::hardware::Device,
    phase: &PhaseFacts,
) -> Option<RooflineChart> {
    // Operators of a name lie together: their layers differ little.
    let mut sums: BTreeMap<(&str, &str), (f64, f64, f64)> = BTreeMap::new();
    for operator in phase.operators.iter().filter(|operator| operator.flops.useful > 0) {
        let layers = operator.count as f64;
        let sum = sums.entry((operator.class, operator.name)).or_default();
        sum.0 += operator.flops.useful as f64 * layers;
        sum.1 += operator.bytes.total as f64 * layers;
        sum.2 += operator.seconds.map_or(0.0, |seconds| seconds.bound) * layers;
    }
    let all = phase.totals.seconds?;
    let operators = sums.into_iter().filter(|(_, (_, bytes, _))| *bytes > 0.0).map(|((class, name), sum)| {
        let (flops, bytes, seconds) = sum;
        Operator {
            label: name.to_owned(),
            intensity: flops / bytes,
            flops_per_s: flops / seconds,
            weight: Some(seconds / all),
            group: class.split('.').next().unwrap_or(class).to_owned(),
        }
    });
    let mut formats: Vec<&str> = phase.operators.iter().map(|operator| operator.dtype).collect();
    formats.sort_unstable();
    formats.dedup();
    let peaks = Dtype::ALL.iter().filter(|dtype| formats.contains(&dtype.as_str()));
    let peaks = peaks.filter_map(|dtype| Some((dtype.as_str(), device.peak_flops(*dtype)?)));
    Some(RooflineChart {
        title: format!("{} under the roofline", phase_title(phase.phase)),
        subtitle: subtitle(document),
        devices: vec![Device::new(&*device.name, device.bandwidth_bytes_per_s?, peaks)],
        operators: operators.collect(),
        weight: "share of the least time".to_owned(),
    })
}

/// Parts of a bar that are told apart; the rest is one.
const PARTS: usize = 10;

fn time_by_class(document: &Document) -> BarChart {
    let mut classes: Vec<(&str, f64)> = document
        .totals
        .classes
        .iter()
        .map(|(name, class)| (*name, class.seconds.unwrap_or(0.0)))
        .filter(|(_, seconds)| *seconds > 0.0)
        .collect();
    classes.sort_by(|a, b| b.1.total_cmp(&a.1));
    let names: Vec<&str> = classes.iter().take(PARTS).map(|(name, _)| *name).collect();
    let bar = |phase: &PhaseFacts| {
        let of = |name: &str| phase.totals.classes.get(name).and_then(|class| class.seconds).unwrap_or(0.0);
        let named: Vec<f64> = names.iter().map(|name| of(name)).collect();
        let rest = phase.totals.seconds.unwrap_or(0.0) - named.iter().sum::<f64>();
        Bar::new(phase_title(phase.phase), named.into_iter().chain([rest.max(0.0)]))
    };
    BarChart {
        title: "Least time by class of operator".to_owned(),
        subtitle: subtitle(document),
        label: "least time".to_owned(),
        unit: Unit::Si("s"),
        parts: names.iter().map(|name| (*name).to_owned()).chain(["the rest".to_owned()]).collect(),
        bars: document.phases.iter().map(bar).collect(),
    }
}

/// A number of a point that is drawn.
struct Drawn {
    file: &'static str,
    title: &'static str,
    axis: fn() -> Axis,
    value: fn(&Summary) -> Option<f64>,
}

const DRAWN: &[Drawn] = &[
    Drawn {
        file: "time.svg",
        title: "Least time",
        axis: || Axis::log10("Least time", Unit::Si("s")),
        value: |point| point.seconds,
    },
    Drawn {
        file: "tokens-per-s.svg",
        title: "Most tokens a second",
        axis: || Axis::log10("Tokens a second", Unit::Number),
        value: |point| point.tokens_per_s,
    },
    Drawn {
        file: "flops.svg",
        title: "Useful operations",
        axis: || Axis::log10("Operations", Unit::Si("FLOP")),
        value: |point| Some(point.flops as f64),
    },
    Drawn {
        file: "bytes.svg",
        title: "Bytes moved",
        axis: || Axis::log10("Bytes", Unit::Si("B")),
        value: |point| Some(point.bytes as f64),
    },
    Drawn {
        file: "intensity.svg",
        title: "Arithmetic intensity",
        axis: || Axis::log10("Intensity", Unit::Si("FLOP/B")),
        value: |point| Some(point.intensity),
    },
    Drawn {
        file: "kv.svg",
        title: "Cache on the fullest device",
        axis: || Axis::log10("Cache", Unit::Si("B")),
        value: |point| Some(point.kv_bytes as f64),
    },
    Drawn {
        file: "memory.svg",
        title: "Memory on the fullest device",
        axis: || Axis::log10("Memory", Unit::Si("B")),
        value: |point| Some(point.memory_bytes as f64),
    },
];

/// The figures of a sweep: each number over the last axis of numbers, a line for every combination of the
/// others; none without an axis of numbers.
#[must_use]
pub fn sweep_figures(sweep: &Points<'_>) -> Vec<Figure> {
    let is_number = |axis: &usize| sweep.points.iter().all(|(at, _)| at[*axis].parse::<f64>().is_ok());
    let Some(x) = (0..sweep.axes.len()).rev().find(is_number) else { return Vec::new() };
    let mut lines: Vec<(String, Vec<(f64, &Summary)>)> = Vec::new();
    for (at, summary) in &sweep.points {
        let others = at.iter().enumerate().filter(|(axis, _)| *axis != x);
        let words: Vec<String> = others.map(|(axis, value)| label(sweep.axes[axis], value)).collect();
        let name = words.join(", ");
        let value = at[x].parse().unwrap_or(f64::NAN);
        match lines.iter_mut().find(|(known, _)| *known == name) {
            Some((_, points)) => points.push((value, summary)),
            None => lines.push((name, vec![(value, summary)])),
        }
    }
    let crossings = crossings(&lines);
    let chart = |drawn: &Drawn| {
        let series: Vec<Series> = lines
            .iter()
            .map(|(name, points)| {
                Series::new(name, points.iter().map(|(x, point)| (*x, (drawn.value)(point))))
            })
            .collect();
        if series.iter().all(|series| series.points.iter().all(|(_, y)| y.is_none_or(|y| y <= 0.0))) {
            return None;
        }
        let chart = LineChart {
            title: drawn.title.to_owned(),
            subtitle: format!("by {}", sweep.axes.join(", ")),
            x: Axis::log2(sweep.axes[x], Unit::Number),
            y: (drawn.axis)(),
            series,
            x_rules: if matches!(drawn.file, "time.svg" | "intensity.svg") {
                crossings.clone()
            } else {
                vec![]
            },
            y_rules: vec![],
        };
        Some(Figure { file_name: drawn.file.to_owned(), svg: chart.svg() })
    };
    DRAWN.iter().filter_map(chart).collect()
}

/// What a line is called: the value where it says what it is, else with its axis.
fn label(axis: &str, value: &str) -> String {
    if value.parse::<f64>().is_ok() { format!("{axis} {value}") } else { value.to_owned() }
}

/// Lines that are marked where they turn.
const TURNS: usize = 4;

/// Where each line turns from bound by memory to bound by compute.
fn crossings(lines: &[(String, Vec<(f64, &Summary)>)]) -> Vec<Rule> {
    let mut rules = Vec::new();
    for (name, points) in lines.iter().take(TURNS) {
        let turn = points
            .windows(2)
            .find(|pair| pair[0].1.limit == Some(Limit::Memory) && pair[1].1.limit == Some(Limit::Compute));
        if let Some(pair) = turn {
            let of = if name.is_empty() { String::new() } else { format!("{name}: ") };
            rules.push(Rule::new(pair[1].0, format!("{of}bound by compute from here")));
        }
    }
    rules
}
