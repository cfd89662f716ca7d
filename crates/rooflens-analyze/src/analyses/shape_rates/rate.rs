//! What a product's shapes need, by the time that it took, and by what the device can do.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ShapeKernelRate, ShapeRate};
use crate::ledger::{Achieved, Sum};
use crate::product::{ProductShape, element};

/// What a device can do.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DevicePeaks {
    /// Its name.
    pub device: String,
    /// Dense peaks by format, as `bf16`.
    pub flops_per_s: BTreeMap<&'static str, f64>,
    /// Bandwidth of its memory.
    pub bytes_per_s: Option<f64>,
}

/// Work by time, and against the roof.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RooflineRate {
    /// FLOPs of all calls; null where the shapes do not determine them.
    pub flops: Option<f64>,
    /// Bytes that all calls must move; null where shapes and types do not tell.
    pub bytes: Option<f64>,
    /// FLOPs by the time; null where they are not known or only an upper bound.
    pub flops_per_s: Option<f64>,
    /// Bytes by the time.
    pub bytes_per_s: Option<f64>,
    /// What limits it on this device: `compute` or `memory`.
    pub limit: Option<Cow<'static, str>>,
    /// The device's dense peak for the format.
    pub peak_flops_per_s: Option<f64>,
    /// The device's memory bandwidth.
    pub peak_bytes_per_s: Option<f64>,
    /// Lower bound of its time.
    pub floor_ns: Option<i64>,
    /// Lower bound by the time that it took, 0 to 1.
    pub roof_share: Option<f64>,
    /// Time above the lower bound.
    pub lost_ns: Option<i64>,
    /// Why there is no share of the roof.
    pub no_roof: Option<Cow<'static, str>>,
}

const NO_FLOPS: &str = "the shapes do not determine the FLOPs";
const MASKED: &str = "the shapes do not show what is masked: FLOPs are an upper bound";
const NO_BYTES: &str = "the shapes or dtypes do not determine the bytes that must be moved";
const NO_FORMAT: &str = "the trace does not record the dtype of the multiplication";
const NO_DEVICE: &str = "the peaks of the device are not known";
const NO_PEAK: &str = "the device has no known peak for this dtype";
const NO_BANDWIDTH: &str = "the bandwidth of the device's memory is not known";
const FROM_CACHE: &str = "faster than memory bandwidth: data came from a cache, or inputs share memory";
const ABOVE_PEAK: &str = "faster than the peak of its inputs' dtype: it was multiplied in another dtype";

/// What one call needs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Work {
    flops: Option<f64>,
    bytes: Option<f64>,
    is_masked: bool,
    has_format: bool,
}

impl Work {
    pub(super) fn of(made: &ProductShape, dtypes: &str, format: Option<&'static str>) -> Self {
        Work {
            flops: made.flops.map(|flops| flops as f64),
            bytes: bytes(made, dtypes).map(|bytes| bytes as f64),
            is_masked: made.heads.is_some(),
            has_format: format.is_some(),
        }
    }

    fn plus(&self, more: &Work) -> Work {
        let add = |sum: Option<f64>, more: Option<f64>| sum.zip(more).map(|(sum, more)| sum + more);
        Work {
            flops: add(self.flops, more.flops),
            bytes: add(self.bytes, more.bytes),
            is_masked: self.is_masked || more.is_masked,
            has_format: self.has_format && more.has_format,
        }
    }

    /// Why no device gives it a share of the roof.
    fn untold(&self) -> Option<&'static str> {
        match self {
            Work { flops: None, .. } => Some(NO_FLOPS),
            Work { is_masked: true, .. } => Some(MASKED),
            Work { bytes: None, .. } => Some(NO_BYTES),
            Work { has_format: false, .. } => Some(NO_FORMAT),
            _ => None,
        }
    }
}

/// Bytes of a call whose inputs and result move once each. The trace does not tell the type of a result: it is taken
/// to be as wide as the first input.
fn bytes(made: &ProductShape, dtypes: &str) -> Option<u128> {
    let operands = made.operands?;
    let width = element(dtypes, operands.first)?.bytes;
    let mut sum = operands.written.checked_mul(width)?;
    for (place, elements) in operands.read.into_iter().enumerate().filter(|(_, elements)| *elements > 0) {
        let width = element(dtypes, operands.first + place)?.bytes;
        sum = sum.checked_add(elements.checked_mul(width)?)?;
    }
    Some(sum)
}

impl RooflineRate {
    /// The rates of so many calls in so much time, without a device to hold them against.
    pub(super) fn of(work: &Work, count: usize, ns: i64) -> Self {
        let all = |of_call: Option<f64>| of_call.map(|amount| amount * count as f64);
        let by_time = |amount: Option<f64>| amount.filter(|_| ns > 0).map(|amount| amount * 1e9 / ns as f64);
        let (flops, bytes) = (all(work.flops), all(work.bytes));
        RooflineRate {
            flops,
            bytes,
            flops_per_s: by_time(flops).filter(|_| !work.is_masked),
            bytes_per_s: by_time(bytes),
            no_roof: Some(work.untold().unwrap_or(NO_DEVICE).into()),
            ..RooflineRate::default()
        }
    }

    /// Holds it against what the device can do.
    pub(super) fn compare(&mut self, ns: i64, format: Option<&str>, peaks: &DevicePeaks) {
        if self.no_roof.as_deref() != Some(NO_DEVICE) {
            return;
        }
        match self.bound(ns, format, peaks).and_then(|sum| within_roof(&sum)) {
            Ok(achieved) => self.set(&achieved, ns),
            Err(reason) => self.no_roof = Some(reason.into()),
        }
    }

    /// The work with its time at the device's peaks.
    fn bound(&self, ns: i64, format: Option<&str>, peaks: &DevicePeaks) -> Result<Sum, &'static str> {
        let (flops, bytes) = (self.flops.ok_or(NO_FLOPS)?, self.bytes.ok_or(NO_BYTES)?);
        let peak = peaks.flops_per_s.get(format.ok_or(NO_FORMAT)?).ok_or(NO_PEAK)?;
        let bandwidth = peaks.bytes_per_s.ok_or(NO_BANDWIDTH)?;
        let (compute_ns, memory_ns) = (flops * 1e9 / peak, bytes * 1e9 / bandwidth);
        let floor_ns = compute_ns.max(memory_ns);
        Ok(Sum { ns, floor_ns, flops, bytes, compute_ns, memory_ns, ..Sum::default() })
    }

    fn set(&mut self, achieved: &Achieved, ns: i64) {
        self.limit = Some(achieved.limit.clone());
        self.peak_flops_per_s = achieved.peak_flops_per_s;
        self.peak_bytes_per_s = achieved.peak_bytes_per_s;
        self.floor_ns = Some(ns - achieved.lost_ns);
        self.roof_share = Some(achieved.roof_share);
        self.lost_ns = Some(achieved.lost_ns);
        self.no_roof = None;
    }
}

/// What was achieved, where that is possible at all.
fn within_roof(sum: &Sum) -> Result<Achieved, &'static str> {
    let ns = sum.ns as f64;
    match sum {
        _ if sum.compute_ns > ns => Err(ABOVE_PEAK),
        _ if sum.memory_ns > ns => Err(FROM_CACHE),
        _ => sum.achieved().ok_or(NO_FLOPS),
    }
}

/// What each kernel did of the work of all shapes.
pub(super) fn by_kernel(shapes: &[ShapeRate], peaks: Option<&DevicePeaks>) -> Vec<ShapeKernelRate> {
    let mut found: BTreeMap<&str, Folded> = BTreeMap::new();
    for shape in shapes {
        for kernel in &shape.kernels {
            let fold = found.entry(&kernel.name).or_default();
            fold.short_name = &kernel.short_name;
            fold.count += kernel.count;
            fold.ns = fold.ns.saturating_add(kernel.ns);
            fold.operators.push(format!("{} {}", shape.operator, shape.sizes));
            fold.add(shape, kernel.count as f64 / shape.count as f64, peaks);
        }
    }
    let mut kernels: Vec<ShapeKernelRate> = found.into_iter().map(|(name, fold)| fold.finish(name)).collect();
    kernels.sort_by_key(|kernel| std::cmp::Reverse(kernel.ns));
    kernels
}

/// A kernel over the shapes whose work it did.
#[derive(Default)]
struct Folded<'a> {
    short_name: &'a str,
    operators: Vec<String>,
    count: usize,
    ns: i64,
    work: Option<Work>,
    sum: Sum,
    /// Why one of its shapes has no share of the roof.
    no_roof: Option<Cow<'static, str>>,
}

impl Folded<'_> {
    /// Adds a part of the work of a shape.
    fn add(&mut self, shape: &ShapeRate, part: f64, peaks: Option<&DevicePeaks>) {
        let rate = &shape.rate;
        let own = Work {
            flops: rate.flops.map(|flops| flops * part),
            bytes: rate.bytes.map(|bytes| bytes * part),
            is_masked: rate.no_roof.as_deref() == Some(MASKED),
            has_format: shape.format.is_some(),
        };
        self.work = Some(self.work.map_or(own, |sum| sum.plus(&own)));
        let bound = peaks
            .filter(|_| rate.no_roof.is_none())
            .map(|peaks| rate.bound(0, shape.format.as_deref(), peaks));
        match bound {
            Some(Ok(bound)) => {
                self.sum.flops += bound.flops * part;
                self.sum.bytes += bound.bytes * part;
                self.sum.compute_ns += bound.compute_ns * part;
                self.sum.memory_ns += bound.memory_ns * part;
                self.sum.floor_ns += bound.floor_ns * part;
            }
            Some(Err(reason)) => self.no_roof = self.no_roof.take().or(Some(reason.into())),
            None => self.no_roof = self.no_roof.take().or_else(|| rate.no_roof.clone()),
        }
    }

    fn finish(mut self, name: &str) -> ShapeKernelRate {
        // The work is of all its calls already.
        let mut rate = RooflineRate::of(&self.work.unwrap_or_default(), 1, self.ns);
        self.sum.ns = self.ns;
        match self.no_roof.take().map_or_else(|| within_roof(&self.sum).map_err(Cow::Borrowed), Err) {
            Ok(achieved) => rate.set(&achieved, self.ns),
            Err(reason) => rate.no_roof = Some(reason),
        }
        ShapeKernelRate {
            name: name.to_owned(),
            short_name: self.short_name.to_owned(),
            operators: self.operators,
            count: self.count,
            ns: self.ns,
            rate,
        }
    }
}
