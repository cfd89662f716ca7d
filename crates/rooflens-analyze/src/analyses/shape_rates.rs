//! How close is each matmul to the device's peaks, by its recorded shapes?

mod rate;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use rooflens_schema::{NameId, Opt, RankTables};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::analyses::{Analysis, Fold};
use crate::facts::gemm_calls;
use crate::finding::{Finding, FindingType, Findings};
use crate::kernel_catalog::{ActivityHint, describe};
use crate::ledger::{KernelClasses, is_needed};
use crate::product::{element, is_product, product, sizes};
use rate::Work;

pub use rate::{DevicePeaks, RooflineRate};

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

const EXPLAIN: &str = "\
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
";

/// The question of this file.
pub(super) struct ShapeRatesAnalysis;

impl Analysis for ShapeRatesAnalysis {
    fn name(&self) -> &'static str {
        "shape_rates"
    }
    fn question(&self) -> &'static str {
        "How close is each matmul to the device's peaks, by its recorded shapes?"
    }
    fn explain(&self) -> &'static str {
        EXPLAIN
    }
    fn needs(&self) -> &'static str {
        "matmuls with recorded shapes whose kernels are in it"
    }
    fn is_special(&self) -> bool {
        true
    }
    fn finding(&self) -> FindingType {
        FindingType::object::<ShapeRates>()
    }

    fn start(&self) -> Box<dyn Fold> {
        Box::new(State::default())
    }
}

/// Calls that are alike.
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
    /// Calls and time by name of the longest kernel.
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
        let mut may_multiply: HashMap<NameId, bool, foldhash::fast::RandomState> = HashMap::default();
        let mut calls: HashMap<usize, Launched, foldhash::fast::RandomState> = HashMap::default();
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
        let mut found: HashMap<RankKey, (usize, i64, i64), foldhash::fast::RandomState> = HashMap::default();
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
            kernels: rate::by_kernel(&shapes, None),
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
    let mut known: HashMap<NameId, bool, foldhash::fast::RandomState> = HashMap::default();
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
        self.kernels = rate::by_kernel(&self.shapes, Some(peaks));
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
