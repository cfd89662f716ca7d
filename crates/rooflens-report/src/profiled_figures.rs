//! Figures of launches under a profiler: each a file of its own, all of them on the page.

use rooflens_analyze::kernels::{Kernel, Profile};

use crate::block::{Block, Drawing};
use crate::figure::{Bar, BarChart, FigureUnit, RooflineChart, RooflineDevice, RooflineOperator};
use crate::format;
use crate::profiled::roofline;
use crate::render::Part;

/// Bins of a histogram.
const BINS: usize = 10;
/// Reasons to wait that have a colour of their own.
const STALLS: usize = 7;
/// Launches that have a bar or a roofline of their own: those of most time.
const MOST: usize = 40;

/// The parts of the page that are figures.
pub fn figures(profile: &Profile) -> Vec<Part> {
    let part = |name, title, drawings: Vec<Drawing>| {
        let blocks: Vec<Block> = drawings.into_iter().map(Block::Drawing).collect();
        (!blocks.is_empty()).then_some(Part { name, title, blocks })
    };
    let rooflines = roofline(profile).map(|chart| drawing("roofline.svg", &chart.title, chart.svg()));
    let normalised =
        normalised(profile).map(|chart| drawing("roofline-normalised.svg", &chart.title, chart.svg()));
    let bars = [("stalls.svg", stalls(profile)), ("occupancy-limits.svg", limits(profile))];
    let bars = bars.into_iter().filter_map(|(path, chart)| Some((path, chart?)));
    [
        part("roofline", "Roofline", rooflines.into_iter().chain(normalised).collect()),
        part(
            "waiting",
            "Warp stalls and occupancy",
            bars.map(|(path, chart)| drawing(path, &chart.title, chart.svg())).collect(),
        ),
        part("histograms", "Histograms", histograms(profile)),
        part("kernels", "Each launch", each(profile)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn drawing(path: &str, title: &str, svg: String) -> Drawing {
    Drawing { title: title.to_owned(), path: path.to_owned(), svg }
}

/// All precisions under one roof: intensity in multiples of the ridge, speed in shares of the ceiling.
fn normalised(profile: &Profile) -> Option<RooflineChart> {
    let dram = profile.device.dram.as_ref()?.per_s;
    let mut chart = roofline(profile)?;
    let place = |kernel: &Kernel| {
        let precision = kernel.flops.leading.as_deref()?;
        let ceiling = profile.device.flops_per_s.get(precision)?.per_s;
        let intensity = kernel.intensity.dram.filter(|at| *at > 0.0)? * dram / ceiling;
        let speed = kernel.flops_per_s? / ceiling;
        let roof = speed / intensity.min(1.0);
        Some(RooflineOperator {
            label: kernel.short_name.clone(),
            group: kernel.bound.map_or("not classed", |bound| bound.as_str()).to_owned(),
            weight: kernel.timeline_ns.or(kernel.time_ns),
            intensity,
            flops_per_s: speed,
            told: Some(format!("{} of its roof ({})", format::share(roof), precision.replace('_', " "))),
        })
    };
    chart.operators = profile.kernels.iter().filter_map(place).collect();
    let all: f64 = chart.operators.iter().filter_map(|operator| operator.weight).sum();
    for operator in &mut chart.operators {
        operator.weight = operator.weight.filter(|_| all > 0.0).map(|weight| weight / all);
    }
    chart.devices = vec![RooflineDevice::new("DRAM roof", 1.0, [("ceiling", 1.0)])];
    chart.title = "Launches under one roof".to_owned();
    chart.subtitle = format!(
        "{} of {} launches: those with FLOPs whose precision has a known ceiling",
        chart.operators.len(),
        profile.kernels.len()
    );
    chart.normalised = true;
    (!chart.operators.is_empty()).then_some(chart)
}

fn each(profile: &Profile) -> Vec<Drawing> {
    let of = |(at, kernel): (usize, &Kernel)| {
        let mut chart = roofline(profile)?;
        let levels =
            [("DRAM", kernel.intensity.dram), ("L2", kernel.intensity.l2), ("L1", kernel.intensity.l1)];
        chart.operators = levels
            .into_iter()
            .filter_map(|(level, intensity)| {
                Some(RooflineOperator {
                    label: level.to_owned(),
                    group: level.to_owned(),
                    intensity: intensity.filter(|at| *at > 0.0)?,
                    flops_per_s: kernel.flops_per_s?,
                    ..RooflineOperator::default()
                })
            })
            .collect();
        chart.title = format!("{}. {}", at + 1, kernel.short_name);
        chart.subtitle = kernel.loss.clone();
        chart.weight = String::new();
        let path = format!("rooflines/{:02}-{}.svg", at + 1, file_name(&kernel.short_name));
        (!chart.operators.is_empty()).then(|| drawing(&path, &chart.title, chart.svg()))
    };
    profile.kernels.iter().take(MOST).enumerate().filter_map(of).collect()
}

fn file_name(name: &str) -> String {
    let plain: String = name
        .chars()
        .map(|char| if char.is_ascii_alphanumeric() || char == '_' { char } else { '-' })
        .collect();
    let words: Vec<&str> = plain.split('-').filter(|word| !word.is_empty()).collect();
    let mut name = words.join("-");
    name.truncate(60);
    if name.is_empty() { "kernel".to_owned() } else { name }
}

fn stalls(profile: &Profile) -> Option<BarChart> {
    let with: Vec<(usize, &Kernel)> = profile
        .kernels
        .iter()
        .enumerate()
        .take(MOST)
        .filter(|(_, kernel)| !kernel.stalls.is_empty())
        .collect();
    let mut reasons: Vec<(String, f64)> = Vec::new();
    for stall in with.iter().flat_map(|(_, kernel)| &kernel.stalls) {
        match reasons.iter_mut().find(|(reason, _)| *reason == stall.reason) {
            Some((_, sum)) => *sum += stall.share,
            None => reasons.push((stall.reason.clone(), stall.share)),
        }
    }
    reasons.sort_by(|a, b| b.1.total_cmp(&a.1));
    reasons.truncate(STALLS);
    let bar = |(at, kernel): &(usize, &Kernel)| {
        let share = |reason: &str| {
            kernel.stalls.iter().filter(|stall| stall.reason == reason).map(|stall| stall.share).sum::<f64>()
        };
        let mut values: Vec<f64> = reasons.iter().map(|(reason, _)| share(reason)).collect();
        let all: f64 = kernel.stalls.iter().map(|stall| stall.share).sum();
        values.push((all - values.iter().sum::<f64>()).max(0.0));
        Bar::new(format!("{}. {}", at + 1, kernel.short_name), values)
    };
    let mut parts: Vec<String> = reasons.iter().map(|(reason, _)| reason.replace('_', " ")).collect();
    parts.push("other reasons".to_owned());
    (!with.is_empty()).then(|| BarChart {
        title: "Warp stall reasons".to_owned(),
        subtitle: "in the remaining time the warp issues instructions".to_owned(),
        label: "fraction of the time of active warps".to_owned(),
        unit: FigureUnit::Share,
        parts,
        bars: with.iter().map(bar).collect(),
        ..BarChart::default()
    })
}

fn limits(profile: &Profile) -> Option<BarChart> {
    let kernels = profile.kernels.iter().enumerate().take(MOST);
    let bar = |(at, kernel): (usize, &Kernel)| {
        let limits = &kernel.occupancy.limits;
        let least = limits.values().copied().min_by(f64::total_cmp)?;
        let by = kernel.occupancy.limited_by.join(", ").replace('_', " ");
        Some(Bar::new(format!("{}. {by}: {}", at + 1, kernel.short_name), [least]))
    };
    let bars: Vec<Bar> = kernels.filter_map(bar).collect();
    (!bars.is_empty()).then(|| BarChart {
        title: "Resident blocks per multiprocessor".to_owned(),
        subtitle: "the limiting resource is before each name".to_owned(),
        label: "blocks".to_owned(),
        unit: FigureUnit::Number,
        parts: vec![String::new()],
        bars,
        ..BarChart::default()
    })
}

type Measure = (&'static str, &'static str, FigureUnit, fn(&Kernel) -> Option<f64>);

/// What has a histogram: file, title, unit, value.
const MEASURES: &[Measure] = &[
    ("compute", "Compute, share of peak", FigureUnit::Share, |k| share(k.compute_pct)),
    ("memory", "Memory, share of peak", FigureUnit::Share, |k| share(k.memory_pct)),
    ("dram", "DRAM, share of peak", FigureUnit::Share, |k| share(k.dram_pct)),
    ("l1-hit", "L1 hit rate", FigureUnit::Share, |k| share(k.l1_hit_pct)),
    ("l2-hit", "L2 hit rate", FigureUnit::Share, |k| share(k.l2_hit_pct)),
    ("occupancy", "Achieved occupancy", FigureUnit::Share, |k| share(k.occupancy.achieved_pct)),
    ("theoretical-occupancy", "Theoretical occupancy", FigureUnit::Share, |k| {
        share(k.occupancy.theoretical_pct)
    }),
    ("roof", "Share of the roofline", FigureUnit::Share, |k| share(k.roofline_pct)),
    ("registers", "Registers per thread", FigureUnit::Number, |k| k.registers),
    ("waves", "Waves", FigureUnit::Number, |k| k.waves),
    ("duration", "Duration", FigureUnit::Time, |k| k.time_ns),
    ("intensity", "Arithmetic intensity, DRAM", FigureUnit::Si("FLOP/B"), |k| k.intensity.dram),
    ("flops", "Speed", FigureUnit::Si("FLOP/s"), |k| k.flops_per_s),
    ("bandwidth", "DRAM bandwidth", FigureUnit::Si("B/s"), |k| k.bytes_per_s.dram),
];

fn share(pct: Option<f64>) -> Option<f64> {
    pct.map(|pct| pct / 100.0)
}

fn histograms(profile: &Profile) -> Vec<Drawing> {
    let of = |(name, title, unit, value): &Measure| {
        let values: Vec<f64> =
            profile.kernels.iter().filter_map(value).filter(|value| value.is_finite()).collect();
        let bins = bins(&values, *unit == FigureUnit::Share)?;
        let bar = |(from, to, count): &(f64, f64, usize)| {
            Bar::new(format!("{} – {}", unit.label(*from), unit.label(*to)), [*count as f64])
        };
        let chart = BarChart {
            title: (*title).to_owned(),
            subtitle: format!("{} of {} launches", values.len(), profile.kernels.len()),
            label: "launches".to_owned(),
            unit: FigureUnit::Number,
            parts: vec![String::new()],
            bars: bins.iter().map(bar).collect(),
            ..BarChart::default()
        };
        Some(drawing(&format!("histograms/{name}.svg"), title, chart.svg()))
    };
    MEASURES.iter().filter_map(of).collect()
}

/// Bins of equal width, or of equal factors where values span decades, with their counts: of shares over the whole, of others from the least to the largest
/// value. A value on an edge is in the upper bin, the largest in the last.
fn bins(values: &[f64], whole: bool) -> Option<Vec<(f64, f64, usize)>> {
    let least = values.iter().copied().min_by(f64::total_cmp)?;
    let largest = values.iter().copied().max_by(f64::total_cmp)?;
    let (least, largest) = if whole { (0.0, largest.max(1.0)) } else { (least, largest) };
    if least == largest {
        return Some(vec![(least, largest, values.len())]);
    }
    // Values that span decades need factors.
    let by_factors = !whole && least > 0.0 && largest / least > 100.0;
    let onto = |value: f64| if by_factors { value.ln() } else { value };
    let back = |value: f64| if by_factors { value.exp() } else { value };
    let (from, width) = (onto(least), (onto(largest) - onto(least)) / BINS as f64);
    let edge = |at: usize| if at == BINS { largest } else { back(from + width * at as f64) };
    let mut bins: Vec<(f64, f64, usize)> = (0..BINS).map(|at| (edge(at), edge(at + 1), 0)).collect();
    for value in values {
        let at = (((onto(*value) - from) / width) as usize).min(BINS - 1);
        bins[at].2 += 1;
    }
    Some(bins)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_by_hand() {
        let found = bins(&[0.05, 0.1, 0.95, 1.0], true).unwrap();
        let counts: Vec<usize> = found.iter().map(|bin| bin.2).collect();
        assert_eq!(counts, [1, 1, 0, 0, 0, 0, 0, 0, 0, 2]);
        let found = bins(&[10.0, 20.0, 30.0], false).unwrap();
        assert_eq!((found[0].0, found[9].1), (10.0, 30.0));
        assert_eq!(found.iter().map(|bin| bin.2).collect::<Vec<_>>(), [1, 0, 0, 0, 0, 1, 0, 0, 0, 1]);
        // Five decades: a bin is a factor of √10.
        let found = bins(&[1.0, 50.0, 1e5], false).unwrap();
        assert!((found[0].1 - 10f64.sqrt()).abs() < 1e-9);
        assert_eq!(found.iter().map(|bin| bin.2).collect::<Vec<_>>(), [1, 0, 0, 1, 0, 0, 0, 0, 0, 1]);
        assert_eq!(bins(&[3.0, 3.0], false), Some(vec![(3.0, 3.0, 2)]));
        assert_eq!(bins(&[], true), None);
    }

    #[test]
    fn any_name_is_a_file() {
        assert_eq!(file_name("a::b<int>/../c"), "a-b-int-c");
        assert_eq!(file_name("///"), "kernel");
    }
}
