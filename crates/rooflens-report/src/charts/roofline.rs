//! Kernels and operators under the roofs of the device.

use std::borrow::Cow;

use rooflens_analyze::analyses::{
    LayerClass, Ledger, PhaseLedger, RooflineRate, ShapeKernelRate, ShapeRate, ShapeRates,
};
use rooflens_analyze::ledger::{Achieved, KernelTime, OperatorTime};
use rooflens_cost::hardware::Catalog;
use rooflens_cost::precision::Dtype;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::inputs::{ChartInputs, full_name, named};
use crate::format;

/// Points of one grain in one phase: those with the most time.
const POINTS: usize = 600;
/// Two peaks that differ by less are one roof.
const ALIKE: f64 = 1e-3;

/// FLOP/s over FLOP/B under the roofs of a device.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RooflinePlot {
    /// The device; null where it is not known.
    pub(crate) device: Option<String>,
    /// The model whose work is counted; null where the work is that of recorded shapes.
    pub(crate) model: Option<String>,
    /// Memory bandwidth of the device in bytes per second.
    pub(crate) bytes_per_s: Option<f64>,
    /// Dense peaks of the device, the highest first.
    pub(crate) peaks: Vec<RoofPeak>,
    /// Kernels, operators and layers.
    pub(crate) points: Vec<RooflinePoint>,
}

/// A level roof.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct RoofPeak {
    /// The precisions that have it, as `bf16, fp16`.
    pub(crate) precision: String,
    /// FLOP/s.
    pub(crate) flops_per_s: f64,
    /// Whether any point has this peak.
    pub(crate) is_used: bool,
}

/// What a point stands for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PointGrain {
    /// An operator of the model, or of the trace by its shapes.
    #[default]
    Operator,
    /// A kernel.
    Kernel,
    /// The kernels of a class in a layer.
    Layer,
}

/// A point, over all steps of its phase.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct RooflinePoint {
    /// What it stands for.
    pub(crate) grain: PointGrain,
    /// Its name.
    pub(crate) name: String,
    /// Full name of a kernel, where `name` is a short one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) full_name: Option<String>,
    /// Its class.
    pub(crate) class: Cow<'static, str>,
    /// The layer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) layer: Option<i32>,
    /// The phase of its steps; null where phases are not told apart.
    pub(crate) phase: Option<Cow<'static, str>>,
    /// Number of executions; null where it is not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) count: Option<usize>,
    /// Its time.
    pub(crate) ns: i64,
    /// Lower bound of its time; null where it is not known.
    pub(crate) floor_ns: Option<i64>,
    /// FLOPs that its results need.
    pub(crate) flops: f64,
    /// Bytes that must move.
    pub(crate) bytes: f64,
    /// What limits it: `compute` or `memory`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) limit: Option<Cow<'static, str>>,
}

impl RooflinePoint {
    pub(crate) fn intensity(&self) -> f64 {
        self.flops / self.bytes
    }

    pub(crate) fn flops_per_s(&self) -> f64 {
        self.flops * 1e9 / self.ns as f64
    }

    fn is_drawn(&self) -> bool {
        self.flops > 0.0
            && self.bytes > 0.0
            && self.ns > 0
            && self.flops.is_finite()
            && self.bytes.is_finite()
    }
}

pub(super) fn data(inputs: &ChartInputs<'_>) -> Result<(String, RooflinePlot), String> {
    let by_model = inputs.findings.get::<Ledger>().and_then(of_model);
    let plot = by_model.or_else(|| inputs.findings.get::<ShapeRates>().map(of_shapes));
    let none = "FLOPs and bytes are not known: give --model CONFIG, or record shapes (record_shapes=True)";
    let mut plot = plot.ok_or_else(|| none.to_owned())?;
    // What is shown first is what is counted.
    let grains = [(PointGrain::Operator, "operators"), (PointGrain::Kernel, "kernels")];
    let count = |points: &[RooflinePoint], grain| points.iter().filter(|one| one.grain == grain).count();
    let first = grains.into_iter().find(|(grain, _)| count(&plot.points, *grain) > 0);
    let all = first.map_or(0, |(grain, _)| count(&plot.points, grain));
    plot.points.retain(RooflinePoint::is_drawn);
    if plot.points.is_empty() {
        return Err("no kernel has both FLOPs and bytes that are known".to_owned());
    }
    let work = match &plot.model {
        Some(model) => format!("Work of {model}"),
        None => "Work by recorded shapes".to_owned(),
    };
    let device = plot
        .device
        .as_ref()
        .map_or(", peaks of the device not known".to_owned(), |device| format!(" on {device}"));
    let left_out = first.and_then(|(grain, words)| {
        let shown = count(&plot.points, grain);
        (all > shown).then(|| {
            let (shown, all) = (format::count(shown as i64), format::count(all as i64));
            format!("; {shown} of {all} {words}: the FLOPs of the others are zero or not known")
        })
    });
    Ok((format!("{work}{device}{}", left_out.unwrap_or_default()), plot))
}

fn of_model(ledger: &Ledger) -> Option<RooflinePlot> {
    let source = ledger.floor_of.as_ref()?;
    let mut used = Vec::new();
    let mut plot = RooflinePlot {
        device: Some(source.device.clone()),
        model: Some(source.model.clone()),
        ..RooflinePlot::default()
    };
    for phase in &ledger.phases {
        plot.points.extend(phase_points(phase));
        let achieved = phase.operators.iter().map(|row| &row.achieved);
        let achieved = achieved.chain(phase.kernels.iter().filter_map(|row| row.achieved.as_ref()));
        for one in achieved {
            used.extend(one.peak_flops_per_s);
            plot.bytes_per_s = one.peak_bytes_per_s.or(plot.bytes_per_s);
        }
    }
    raise(&mut plot, &source.device, &used);
    Some(plot)
}

fn phase_points(phase: &PhaseLedger) -> Vec<RooflinePoint> {
    let of = |grain, name: &str, class: Cow<'static, str>, achieved: &Achieved| RooflinePoint {
        grain,
        name: named(name),
        class,
        phase: Some(phase.phase.clone()),
        flops: achieved.flops,
        bytes: achieved.bytes,
        limit: Some(achieved.limit.clone()),
        ..RooflinePoint::default()
    };
    let operator = |row: &OperatorTime| RooflinePoint {
        count: Some(row.count),
        ns: row.ns,
        floor_ns: Some(row.floor_ns),
        ..of(PointGrain::Operator, &row.operator, row.class.clone(), &row.achieved)
    };
    let kernel = |row: &KernelTime| {
        let achieved = row.achieved.as_ref()?;
        Some(RooflinePoint {
            full_name: Some(full_name(&row.name)),
            count: Some(row.count),
            ns: row.ns,
            floor_ns: Some(row.floor_ns),
            ..of(PointGrain::Kernel, &row.short_name, row.class.as_str().into(), achieved)
        })
    };
    let layer = |row: &LayerClass| {
        let class = row.class.as_str();
        Some(RooflinePoint {
            grain: PointGrain::Layer,
            name: format!("layer {}, {}", row.layer, class.replace('_', " ")),
            class: class.into(),
            layer: Some(row.layer),
            phase: Some(phase.phase.clone()),
            ns: row.ns,
            floor_ns: row.floor_ns,
            flops: row.flops?,
            bytes: row.bytes?,
            ..RooflinePoint::default()
        })
    };
    let mut points: Vec<RooflinePoint> = phase.operators.iter().take(POINTS).map(operator).collect();
    points.extend(phase.kernels.iter().filter_map(kernel).take(POINTS));
    points.extend(phase.layer_classes.iter().filter_map(layer).take(POINTS));
    points
}

fn of_shapes(rates: &ShapeRates) -> RooflinePlot {
    let mut plot = RooflinePlot { device: rates.device.clone(), ..RooflinePlot::default() };
    let all = rates.shapes.iter().map(|row| &row.rate).chain(rates.kernels.iter().map(|row| &row.rate));
    let used: Vec<f64> = all.clone().filter_map(|rate| rate.peak_flops_per_s).collect();
    plot.bytes_per_s = all.clone().find_map(|rate| rate.peak_bytes_per_s);
    let of = |grain, name: &str, class: Cow<'static, str>, count, ns, rate: &RooflineRate| RooflinePoint {
        grain,
        name: named(name),
        class,
        count: Some(count),
        ns,
        floor_ns: rate.floor_ns,
        // An upper bound of FLOPs has no rate: it has no place here either.
        flops: rate.flops.filter(|_| rate.flops_per_s.is_some()).unwrap_or_default(),
        bytes: rate.bytes.unwrap_or_default(),
        limit: rate.limit.clone(),
        ..RooflinePoint::default()
    };
    let shape = |row: &ShapeRate| {
        let class = row.format.clone().unwrap_or("dtype not known".into());
        let name = format!("{} {}", row.operator, row.sizes);
        of(PointGrain::Operator, &name, class, row.count, row.ns, &row.rate)
    };
    let kernel = |row: &ShapeKernelRate| RooflinePoint {
        full_name: Some(full_name(&row.name)),
        ..of(PointGrain::Kernel, &row.short_name, "kernel".into(), row.count, row.ns, &row.rate)
    };
    plot.points = rates.shapes.iter().take(POINTS).map(shape).collect();
    plot.points.extend(rates.kernels.iter().take(POINTS).map(kernel));
    if let Some(device) = plot.device.clone() {
        raise(&mut plot, &device, &used);
    }
    plot
}

fn raise(plot: &mut RooflinePlot, device: &str, used: &[f64]) {
    let is_alike = |a: f64, b: f64| (a - b).abs() <= ALIKE * a.abs().max(b.abs());
    let mut peaks: Vec<RoofPeak> = Vec::new();
    let mut add = |precision: &str, flops_per_s: f64| match peaks
        .iter_mut()
        .find(|peak| is_alike(peak.flops_per_s, flops_per_s))
    {
        Some(peak) if precision.is_empty() || peak.precision.split(", ").any(|one| one == precision) => {}
        Some(peak) => {
            peak.precision.push_str(", ");
            peak.precision.push_str(precision);
        }
        None => peaks.push(RoofPeak {
            precision: precision.to_owned(),
            flops_per_s,
            is_used: used.iter().any(|one| is_alike(*one, flops_per_s)),
        }),
    };
    if let Ok(device) = Catalog::embedded().find(device) {
        for dtype in Dtype::ALL {
            device.peak_flops(*dtype).into_iter().for_each(|peak| add(dtype.as_str(), peak));
        }
        plot.bytes_per_s = plot.bytes_per_s.or(device.bandwidth_bytes_per_s);
    }
    // Sums over operators of several precisions have a peak between theirs: no roof.
    if peaks.is_empty() {
        let highest = used.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if highest.is_finite() {
            peaks.push(RoofPeak { precision: "peak".to_owned(), flops_per_s: highest, is_used: true });
        }
    }
    peaks.sort_by(|a, b| b.flops_per_s.total_cmp(&a.flops_per_s));
    plot.peaks = peaks;
}
