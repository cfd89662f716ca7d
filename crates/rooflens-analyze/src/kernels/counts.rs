//! FLOPs and bytes of a launch.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::launch::ProfiledLaunch;
use crate::kernel_catalog::KernelClass;

const SECTOR_BYTES: f64 = 32.0;

/// Floating-point operations, a fused multiply-add counted as two.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeasuredFlops {
    /// By precision; those of tensor cores by the type of their factors, as `tensor_bf16`. Only what was
    /// measured.
    pub by_precision: BTreeMap<String, f64>,
    /// The precision with the most operations: a launch is drawn under its ceiling. Null where all are
    /// zero, or where tensor cores ran uncounted.
    pub leading: Option<String>,
    /// All that were counted; null where tensor cores ran uncounted.
    pub total: Option<f64>,
}

impl MeasuredFlops {
    /// Those of the leading precision; 0 where there are none at all.
    pub fn leading_flops(&self) -> Option<f64> {
        match &self.leading {
            Some(leading) => self.by_precision.get(leading).copied(),
            None => self.total.filter(|total| *total == 0.0),
        }
    }

    /// With total and leading precision, where every kind of operation was counted.
    pub(super) fn summed(mut self) -> Self {
        self.total = Some(self.by_precision.values().sum());
        let most = self.by_precision.iter().filter(|(_, count)| **count > 0.0);
        self.leading = most.max_by(|a, b| a.1.total_cmp(b.1)).map(|(precision, _)| precision.clone());
        self
    }
}

/// Bytes that moved at each level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeasuredBytes {
    /// Of device memory, read and written.
    pub dram: Option<f64>,
    /// Through the tags of the level-2 cache.
    pub l2: Option<f64>,
    /// Through the tags of the level-1 cache, global and local memory.
    pub l1: Option<f64>,
    /// Of the shared memory of blocks, which AMD calls LDS.
    pub shared: Option<f64>,
}

/// Why a number is null, by its place in the document.
pub(super) type Missing = BTreeMap<&'static str, String>;

pub(crate) fn flops(
    launch: &ProfiledLaunch,
    class: KernelClass,
    seconds: Option<f64>,
    missing: &mut Missing,
) -> MeasuredFlops {
    let mut flops = MeasuredFlops::default();
    for (precision, letter, key) in
        [("fp32", 'f', "flops.fp32"), ("fp64", 'd', "flops.fp64"), ("fp16", 'h', "flops.fp16")]
    {
        match instructions(launch, letter, seconds) {
            Some(count) => *flops.by_precision.entry(precision.to_owned()).or_default() += count,
            None => {
                let why = format!(
                    "smsp__sass_thread_inst_executed_op_{letter}{{add,mul,fma}}_pred_on was not collected"
                );
                missing.insert(key, why);
            }
        }
    }
    let counted = !flops.by_precision.is_empty();
    let tensor = tensor(launch);
    for (precision, count) in tensor.iter().flatten() {
        *flops.by_precision.entry(precision.clone()).or_default() += count;
    }
    if tensor.is_none() {
        let why = "no sm__ops_path_tensor_* was collected";
        missing.insert("flops.tensor", why.to_owned());
        // Where tensor cores ran, or are likely to, their operations would be the most.
        let multiplies = matches!(
            class,
            KernelClass::Gemm | KernelClass::Attention | KernelClass::Moe | KernelClass::Convolution
        );
        if tensor_ran(launch).unwrap_or(multiplies) {
            missing.insert("flops.total", format!("tensor cores may have run uncounted: {why}"));
            return flops;
        }
    }
    if !counted && tensor.is_none() {
        missing.insert("flops.total", "no floating-point operation was counted".to_owned());
        return flops;
    }
    flops.summed()
}

/// Operations of the ordinary pipes: additions and multiplications once, fused ones twice.
fn instructions(launch: &ProfiledLaunch, letter: char, seconds: Option<f64>) -> Option<f64> {
    let count = |operation: &str| {
        let name = format!("sass_thread_inst_executed_op_{letter}{operation}_pred_on");
        let whole = launch.first(&[&format!("smsp__{name}.sum"), &format!("sm__{name}.sum")]);
        let a_cycle = || {
            let twice = launch.number(&format!("derived__smsp__{name}_x2")).map(|twice| twice / 2.0);
            launch.number(&format!("smsp__{name}.sum.per_cycle_elapsed")).or(twice)
        };
        whole.or_else(|| Some(a_cycle()? * cycles(launch, seconds)?))
    };
    Some(count("add")? + count("mul")? + 2.0 * count("fma")?)
}

/// Cycles that counts per elapsed cycle are of. The clock of the same pass times the duration gives them
/// too: a profiler divides by one duration throughout.
fn cycles(launch: &ProfiledLaunch, seconds: Option<f64>) -> Option<f64> {
    let by_clock = || Some(launch.number("smsp__cycles_elapsed.avg.per_second")? * seconds?);
    launch.number("smsp__cycles_elapsed.avg").or_else(by_clock)
}

/// Operations of tensor cores by the type of their factors; `None` where none was collected.
fn tensor(launch: &ProfiledLaunch) -> Option<BTreeMap<String, f64>> {
    let mut found: BTreeMap<String, f64> = BTreeMap::new();
    for (name, count) in &launch.numbers {
        let path = name.strip_prefix("sm__ops_path_tensor_src_").and_then(|rest| rest.strip_suffix(".sum"));
        let Some((source, result)) = path.and_then(|path| path.split_once("_dst_")) else { continue };
        // The parts with and without sparsity are in the whole already.
        let whole = result.split("_sparsity").next().unwrap_or(result);
        let has_whole =
            launch.numbers.contains_key(&format!("sm__ops_path_tensor_src_{source}_dst_{whole}.sum"));
        if whole == result || !has_whole {
            *found.entry(format!("tensor_{source}")).or_default() += count;
        }
    }
    (!found.is_empty()).then_some(found)
}

/// Whether tensor cores ran; `None` where nothing tells.
fn tensor_ran(launch: &ProfiledLaunch) -> Option<bool> {
    let told = launch.numbers.iter().filter(|(name, _)| {
        name.starts_with("sm__pipe_tensor") || name.starts_with("sm__inst_executed_pipe_tensor")
    });
    told.map(|(_, value)| *value > 0.0).reduce(|a, b| a || b)
}

/// The bytes of a launch.
pub fn bytes(launch: &ProfiledLaunch, seconds: Option<f64>, missing: &mut Missing) -> MeasuredBytes {
    let sum = |names: &[&str]| names.iter().map(|name| launch.number(name)).sum::<Option<f64>>();
    let sectors = |names: &[&str]| sum(names).map(|sectors| sectors * SECTOR_BYTES);
    let by_rate = || Some(launch.number("dram__bytes.sum.per_second")? * seconds?);
    let bytes = MeasuredBytes {
        dram: launch
            .number("dram__bytes.sum")
            .or_else(|| sum(&["dram__bytes_read.sum", "dram__bytes_write.sum"]))
            .or_else(by_rate),
        l2: launch.number("lts__t_bytes.sum").or_else(|| sectors(&["lts__t_sectors.sum"])),
        l1: launch.number("l1tex__t_bytes.sum").or_else(|| sectors(&["l1tex__t_sectors.sum"])).or_else(
            || {
                sectors(&[
                    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
                    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
                    "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum",
                    "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum",
                ])
            },
        ),
        shared: None,
    };
    for (key, level, metric) in [
        ("bytes.dram", bytes.dram, "dram__bytes_read.sum and dram__bytes_write.sum were"),
        ("bytes.l2", bytes.l2, "lts__t_sectors.sum was"),
        ("bytes.l1", bytes.l1, "l1tex__t_sectors was"),
    ] {
        if level.is_none() {
            missing.insert(key, format!("{metric} not collected"));
        }
    }
    bytes
}
