//! Figures of designs.

use std::collections::BTreeMap;

use rooflens_cost::document::{ClassTotals, EstimateDocument, PhaseFacts};
use rooflens_cost::precision::Dtype;

use super::phase_title;
use crate::figure::{Bar, BarChart, FigureUnit, RooflineChart, RooflineDevice, RooflineOperator};
use crate::format;

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
#[must_use]
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

/// Of which model, with which work, on what.
fn subtitle(name: &str, document: &EstimateDocument) -> String {
    let workload = &document.workload;
    let count = |number: u64| format::count(i64::try_from(number).unwrap_or(i64::MAX));
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

/// Parts of a bar that are told apart; the rest is one.
const PARTS: usize = 10;

/// A bar for each phase, its parts by class.
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
