//! How close is each matmul to the device's peaks, by its recorded shapes?

use std::borrow::Cow;
use std::collections::BTreeMap;

use rooflens_schema::{NameId, Opt, RankTables};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::by_name::FastMap;
use crate::facts::gemm_calls;
use crate::finding::{Analysis, Finding, FindingType, Findings, Fold};
use crate::kernel_catalog::{ActivityHint, describe};
use crate::ledger::{Achieved, KernelClasses, Sum, is_needed};
use crate::product::{ProductShape, element, is_product, product, sizes};

/// Achieved rates of matmuls, attention and convolutions, from their input shapes. No model is
/// needed: the work is that of each operator alone.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ShapeRates {
    /// The device whose peaks `roof_share` is of; null where they are not known.
    pub device: Option<String>,
    /// Device time of all calls.
    pub ns: i64,
    /// By operator, shapes and types, most device time first.
    pub shapes: Vec<ShapeRate>,
    /// By kernel, most device time first.
    pub kernels: Vec<ShapeKernelRate>,
    /// What is null in every row, and why.
    pub not_computed: BTreeMap<Cow<'static, str>, String>,
}

/// The calls of an operator with inputs of the same shapes and types.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ShapeRate {
    /// The operator that launched the kernels, as `aten::mm`.
    pub operator: String,
    /// What is multiplied, as `[4096,4096]x[4096,11008]`.
    pub sizes: String,
    /// Shapes of all inputs, as the trace has them.
    pub shapes: String,
    /// Types of all inputs, as the trace has them.
    pub dtypes: String,
    /// The format that is multiplied, as `bf16`; null where the trace does not tell.
    pub format: Option<Cow<'static, str>>,
    /// Calls whose kernels are in the trace.
    pub count: usize,
    /// Device time of everything that they launched.
    pub ns: i64,
    /// The longest kernel of each call, most time first.
    pub kernels: Vec<ShapeKernel>,
    /// What they achieved.
    #[serde(flatten)]
    pub rate: RooflineRate,
}

/// A kernel that did the work of some calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShapeKernel {
    /// Full name.
    pub name: String,
    /// Readable short form.
    pub short_name: String,
    /// Calls whose longest kernel it is.
    pub count: usize,
    /// Its own time in these calls.
    pub ns: i64,
}

/// A kernel over all shapes whose work it did.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ShapeKernelRate {
    /// Full name.
    pub name: String,
    /// Readable short form.
    pub short_name: String,
    /// The operators and sizes that it did, most device time first.
    pub operators: Vec<String>,
    /// Calls whose longest kernel it is.
    pub count: usize,
    /// Its own time in these calls.
    pub ns: i64,
    /// What it achieved.
    #[serde(flatten)]
    pub rate: RooflineRate,
}

pub(super) const ANALYSIS: Analysis = Analysis {
    name: "shape_rates",
    question: "How close is each matmul to the device's peaks, by its recorded shapes?",
    needs: "matmuls with recorded shapes whose kernels are in it",
    is_special: true,
    finding: FindingType::object::<ShapeRates>(),
    start: || Box::new(State::default()),
    explain: "\
Matmuls, attention and convolutions by operator and recorded shapes (PyTorch: record_shapes=True), all ranks
together, with the rates that their kernels achieved. No model is needed or assumed: this is the work of each
operator alone, not the lower bound of a model. Of nested operators the innermost counts: `aten::mm`, not the
`aten::linear` around it. Calls whose multiplying kernel is not in the trace are left out.

- `count`, `ns`: calls, and the device time of everything that they launched. `sizes`: the matrix sizes.
- `format`: dtype of the multiplication. For fp32 inputs the kernel's name must show whether they are multiplied as
  fp32 or tf32; otherwise it is null.
- `flops`: a multiply-add counts as two. `bytes`: both operands and the result once each, by their dtypes; bias,
  scales and masks are not counted, and the result has the dtype of the first operand.
- `flops_per_s`, `bytes_per_s`: flops and bytes / device time. For attention, `flops` includes what a mask may skip,
  so it has no flops_per_s and no share.
- `floor_ns`: the longer of flops at the device's dense peak for the format and bytes at its memory bandwidth.
  `limit` says which; `peak_flops_per_s` and `peak_bytes_per_s` are these rates.
- `roof_share`, `lost_ns`: floor_ns / ns, and the rest. They are null where a peak, the format or the bytes are not
  known, and `no_roof` says which. A call that is faster than its bytes at memory bandwidth has no share either:
  its data came from a cache, or its inputs are views of the same memory.
- `kernels`: the same by kernel: the longest kernel of a call does its work, and only its own time counts.
",
};

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    operator: String,
    shapes: String,
    dtypes: String,
    format: Option<&'static str>,
}

#[derive(Default)]
struct Row {
    count: usize,
    ns: i64,
    kernels: BTreeMap<String, (usize, i64)>,
}

#[derive(Default)]
struct State {
    rows: BTreeMap<Key, Row>,
}

/// The calls of one rank that are alike.
type RankKey = (NameId, NameId, Opt<NameId>, NameId);

/// What the calls of an operator launched.
#[derive(Clone, Copy, Default)]
struct Launched {
    ns: i64,
    /// Row and duration of the longest kernel that may multiply: a call of which the trace has only what prepares or
    /// merges would seem far too fast.
    longest: Option<(usize, i64)>,
}

impl Fold for State {
    fn rank(&mut self, tables: &RankTables) {
        let (ops, kernels) = (&tables.ops, &tables.kernels);
        let owners = innermost_products(tables);
        let classes = KernelClasses::new(tables);
        let mut may_multiply: FastMap<NameId, bool> = FastMap::default();
        let mut calls: FastMap<usize, Launched> = FastMap::default();
        for i in 0..kernels.len() {
            let op = kernels.op_id[i].get().and_then(|op| owners.get(usize::try_from(op).ok()?).copied());
            let Some(owner) = op.flatten() else { continue };
            let call = calls.entry(owner as usize).or_default();
            let ns = kernels.dur_ns[i];
            call.ns = call.ns.saturating_add(ns);
            let name = kernels.kernel_id[i];
            let does_work = *may_multiply.entry(name).or_insert_with(|| {
                is_needed(classes.of(name)) && !gemm_calls::is_beside(tables.names.get(name))
            });
            if does_work && call.longest.is_none_or(|(_, most)| ns > most) {
                call.longest = Some((i, ns));
            }
        }
        let mut found: FastMap<RankKey, (usize, i64, i64)> = FastMap::default();
        for (op, call) in calls {
            let (Some(shapes), Some((kernel, kernel_ns))) = (ops.shapes_id[op].get(), call.longest) else {
                continue;
            };
            let key = (ops.name_id[op], shapes, ops.dtypes_id[op], kernels.kernel_id[kernel]);
            let sum = found.entry(key).or_default();
            sum.0 += 1;
            sum.1 = sum.1.saturating_add(call.ns);
            sum.2 = sum.2.saturating_add(kernel_ns);
        }
        for (key, sum) in found {
            self.add(tables, key, sum);
        }
    }

    fn finish(self: Box<Self>, _earlier: &Findings) -> Option<Box<dyn Finding>> {
        if self.rows.is_empty() {
            return None;
        }
        let mut shapes: Vec<ShapeRate> = self.rows.into_iter().map(|(key, row)| shape(key, row)).collect();
        // Stable: equals stay in the order of their names.
        shapes.sort_by_key(|row| std::cmp::Reverse(row.ns));
        let reason = "the trace does not name its device: --hardware sets it".to_owned();
        let mut found = ShapeRates {
            ns: shapes.iter().map(|row| row.ns).fold(0, i64::saturating_add),
            kernels: by_kernel(&shapes, None),
            shapes,
            ..ShapeRates::default()
        };
        found.without_peaks(reason);
        Some(Box::new(found))
    }
}

impl State {
    fn add(&mut self, tables: &RankTables, key: RankKey, (count, ns, kernel_ns): (usize, i64, i64)) {
        let (operator, shapes, dtypes, kernel) = key;
        let word = |id: NameId| tables.names.get(id).to_owned();
        let (operator, shapes, kernel) = (word(operator), word(shapes), word(kernel));
        let dtypes = dtypes.get().map_or_else(String::new, word);
        let format = format_of(&operator, &shapes, &dtypes, &kernel);
        let row = self.rows.entry(Key { operator, shapes, dtypes, format }).or_default();
        row.count += count;
        row.ns = row.ns.saturating_add(ns);
        let own = row.kernels.entry(kernel).or_default();
        own.0 += count;
        own.1 = own.1.saturating_add(kernel_ns);
    }
}

/// For every operator the innermost product around it, itself included, where no other product is inside that one:
/// the calls whose kernels do nothing but this product.
fn innermost_products(tables: &RankTables) -> Vec<Option<u32>> {
    let ops = &tables.ops;
    let mut known: FastMap<NameId, bool> = FastMap::default();
    let mut owners: Vec<Option<u32>> = vec![None; ops.len()];
    let mut has_inner = vec![false; ops.len()];
    // Parents come before what is inside.
    for i in 0..ops.len() {
        let parent = ops.parent_id[i].get().and_then(|parent| usize::try_from(parent).ok());
        let around = parent.and_then(|parent| owners.get(parent).copied()).flatten();
        let name = ops.name_id[i];
        owners[i] = if *known.entry(name).or_insert_with(|| is_product(tables.names.get(name))) {
            if let Some(around) = around {
                has_inner[around as usize] = true;
            }
            u32::try_from(i).ok()
        } else {
            around
        };
    }
    for owner in &mut owners {
        *owner = owner.filter(|owner| !has_inner[*owner as usize]);
    }
    owners
}

/// The format that is multiplied: that of both factors. Whether fp32 is multiplied as tf32 only the kernel's name
/// tells.
fn format_of(operator: &str, shapes: &str, dtypes: &str, kernel: &str) -> Option<&'static str> {
    let first = product(operator, shapes)?.operands.map_or(0, |operands| operands.first);
    let (a, b) = (element(dtypes, first)?.format, element(dtypes, first + 1)?.format);
    match a {
        _ if a != b => None,
        "fp32" => {
            let told = describe(kernel, ActivityHint::Kernel).dtype.map(|dtype| dtype.as_str());
            ["fp32", "tf32"].into_iter().find(|format| told == Some(*format))
        }
        _ => Some(a),
    }
}

fn shape(key: Key, row: Row) -> ShapeRate {
    let made = product(&key.operator, &key.shapes).unwrap_or_default();
    let work = Work::of(&made, &key.dtypes, key.format);
    let kernel = |(name, (count, ns)): (String, (usize, i64))| ShapeKernel {
        short_name: describe(&name, ActivityHint::Kernel).short_name,
        name,
        count,
        ns,
    };
    let mut kernels: Vec<ShapeKernel> = row.kernels.into_iter().map(kernel).collect();
    kernels.sort_by_key(|kernel| std::cmp::Reverse(kernel.ns));
    ShapeRate {
        sizes: sizes(&key.shapes, made.operands.as_ref()),
        rate: RooflineRate::of(&work, row.count, row.ns),
        operator: key.operator,
        shapes: key.shapes,
        dtypes: key.dtypes,
        format: key.format.map(Cow::Borrowed),
        count: row.count,
        ns: row.ns,
        kernels,
    }
}

impl ShapeRates {
    /// Compares every row with what the device can do.
    pub fn compare_with(&mut self, peaks: &DevicePeaks) {
        for row in &mut self.shapes {
            row.rate.compare(row.ns, row.format.as_deref(), peaks);
        }
        self.kernels = by_kernel(&self.shapes, Some(peaks));
        self.device = Some(peaks.device.clone());
        self.not_computed.remove("roof_share");
    }

    /// Says why rows are not compared with what a device can do.
    pub fn without_peaks(&mut self, reason: String) {
        self.not_computed.insert("roof_share".into(), reason);
    }
}

#[cfg(test)]
mod tests;

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

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Work {
    flops: Option<f64>,
    bytes: Option<f64>,
    is_masked: bool,
    has_format: bool,
}

impl Work {
    fn of(made: &ProductShape, dtypes: &str, format: Option<&'static str>) -> Self {
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
    fn of(work: &Work, count: usize, ns: i64) -> Self {
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

    fn compare(&mut self, ns: i64, format: Option<&str>, peaks: &DevicePeaks) {
        if self.no_roof.as_deref() != Some(NO_DEVICE) {
            return;
        }
        match self.bound(ns, format, peaks).and_then(|sum| within_roof(&sum)) {
            Ok(achieved) => self.set(&achieved, ns),
            Err(reason) => self.no_roof = Some(reason.into()),
        }
    }

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

fn within_roof(sum: &Sum) -> Result<Achieved, &'static str> {
    let ns = sum.ns as f64;
    match sum {
        _ if sum.compute_ns > ns => Err(ABOVE_PEAK),
        _ if sum.memory_ns > ns => Err(FROM_CACHE),
        _ => sum.achieved().ok_or(NO_FLOPS),
    }
}

fn by_kernel(shapes: &[ShapeRate], peaks: Option<&DevicePeaks>) -> Vec<ShapeKernelRate> {
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

#[derive(Default)]
struct Folded<'a> {
    short_name: &'a str,
    operators: Vec<String>,
    count: usize,
    ns: i64,
    work: Option<Work>,
    sum: Sum,
    no_roof: Option<Cow<'static, str>>,
}

impl Folded<'_> {
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
