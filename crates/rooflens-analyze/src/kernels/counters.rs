//! Counters of Nsight Compute that say how well the schedulers, pipes and memory of a multiprocessor are used.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::launch::ProfiledLaunch;

const WARP: f64 = 32.0;

const COMPUTE: &str = "not collected: ncu --section ComputeWorkloadAnalysis";
const SPEED: &str = "not collected: ncu --section SpeedOfLight";
const SCHEDULER: &str = "not collected: ncu --section SchedulerStats";
const WARPS: &str = "not collected: ncu --section WarpStateStats";
const CONFLICTS: &str = "not collected: ncu --section MemoryWorkloadAnalysis_Tables";
const TABLES: &str = "not collected, or no such access: ncu --section MemoryWorkloadAnalysis_Tables";
const SOURCE: &str = "not collected, or no such access: ncu --section SourceCounters";

/// Declares each counter once: its meaning, its name, and what collects it.
macro_rules! counters {
    ($($(#[doc = $doc:literal])+ $name:ident: $missing:expr;)+) => {
        /// How well a launch uses a multiprocessor. What was not collected is null.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        pub struct Counters {
            $($(#[doc = $doc])+ pub $name: Option<f64>,)+
        }

        impl Counters {
            /// Name and value of each, and what collects it.
            pub(super) fn all(&self) -> Vec<(&'static str, Option<f64>, &'static str)> {
                vec![$((stringify!($name), self.$name, $missing),)+]
            }
        }
    };
}

counters! {
    /// Cycles in which tensor pipes were active, percent of active cycles.
    tensor_pipe_pct: COMPUTE;
    /// The same, percent of elapsed cycles.
    tensor_pipe_elapsed_pct: SPEED;
    /// Issue slots that were used, percent (Issue Slots Busy).
    issue_slots_pct: COMPUTE;
    /// Cycles in which a scheduler issued, percent of active cycles (One or More Eligible).
    issue_active_pct: SCHEDULER;
    /// Warps of a scheduler that could issue, mean of active cycles.
    eligible_warps: SCHEDULER;
    /// Warps that a scheduler held, mean of active cycles.
    active_warps: SCHEDULER;
    /// Threads of a warp that were active in an instruction, percent of 32.
    warp_execution_pct: WARPS;
    /// The same without threads that a predicate switched off.
    warp_execution_pred_pct: WARPS;
    /// Sectors of the level-1 cache that a global load of a warp touched, mean.
    load_sectors_per_request: TABLES;
    /// The same of global stores.
    store_sectors_per_request: TABLES;
    /// Bytes that threads used of each 32-byte sector that global loads touched, mean.
    load_bytes_per_sector: TABLES;
    /// The same of global stores.
    store_bytes_per_sector: TABLES;
    /// Sectors of global accesses beyond those that the same bytes need, percent of all (Source Counters).
    excess_sectors_pct: SOURCE;
    /// Bank conflicts of shared memory.
    bank_conflicts: CONFLICTS;
    /// The same for each instruction that accessed shared memory.
    bank_conflicts_per_request: TABLES;
    /// The same as percent of the wavefronts of shared memory.
    bank_conflicts_pct: TABLES;
}

/// Why a counter is null.
pub fn missing(name: &str) -> &'static str {
    let all = Counters::default().all();
    all.iter().find(|(known, ..)| *known == name).map_or("not collected", |(.., missing)| missing)
}

pub(crate) fn counters(launch: &ProfiledLaunch) -> Counters {
    let number = |metric: &str| launch.number(metric);
    let over = |part: Option<f64>, whole: Option<f64>| Some(part? / whole.filter(|whole| *whole > 0.0)?);
    let pct = |part: Option<f64>, whole: Option<f64>| over(part, whole).map(|share| 100.0 * share);
    let of_warp = |ratio: &str| number(ratio).map(|threads| 100.0 * threads / WARP);
    let per_request = |operation: &str| {
        let told =
            number(&format!("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_{operation}.ratio"));
        let sum = |of: &str| number(&format!("l1tex__t_{of}_pipe_lsu_mem_global_op_{operation}.sum"));
        // A mean of no request is none, though the profiler writes 0.
        let none = sum("requests") == Some(0.0);
        told.filter(|_| !none).or_else(|| over(sum("sectors"), sum("requests")))
    };
    let per_sector = |operation: &str| {
        let mean = format!("smsp__sass_average_data_bytes_per_sector_mem_global_op_{operation}.ratio");
        number(&mean).filter(|bytes| *bytes > 0.0)
    };
    let sectors = number("memory_l2_theoretical_sectors_global");
    let excess = || Some(sectors? - number("memory_l2_theoretical_sectors_global_ideal")?);
    let conflicts = conflicts(launch);
    Counters {
        tensor_pipe_pct: number("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"),
        tensor_pipe_elapsed_pct: number("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"),
        issue_slots_pct: number("sm__inst_issued.avg.pct_of_peak_sustained_active"),
        issue_active_pct: number("smsp__issue_active.avg.pct_of_peak_sustained_active"),
        eligible_warps: number("smsp__warps_eligible.avg.per_cycle_active"),
        active_warps: number("smsp__warps_active.avg.per_cycle_active"),
        warp_execution_pct: of_warp("smsp__thread_inst_executed_per_inst_executed.ratio"),
        warp_execution_pred_pct: of_warp("smsp__thread_inst_executed_pred_on_per_inst_executed.ratio"),
        load_sectors_per_request: per_request("ld"),
        store_sectors_per_request: per_request("st"),
        load_bytes_per_sector: per_sector("ld"),
        store_bytes_per_sector: per_sector("st"),
        excess_sectors_pct: pct(excess().map(|excess| excess.max(0.0)), sectors),
        bank_conflicts: conflicts,
        bank_conflicts_per_request: over(conflicts, shared_requests(launch)),
        bank_conflicts_pct: pct(conflicts, number("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum")),
    }
}

/// Bank conflicts of shared memory: of all accesses, or of loads, stores and atomics together.
fn conflicts(launch: &ProfiledLaunch) -> Option<f64> {
    const ALL: &str = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum";
    let of = |operation: &str| {
        launch.number(&format!("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{operation}.sum"))
    };
    launch.number(ALL).or_else(|| Some(of("ld")? + of("st")? + of("atom").unwrap_or(0.0)))
}

/// Instructions that accessed shared memory: what the profiler's own rule calls requests.
fn shared_requests(launch: &ProfiledLaunch) -> Option<f64> {
    let of = |name: &str| launch.number(&format!("{name}.sum"));
    let loads = of("smsp__sass_inst_executed_op_shared_ld")?;
    let stores = of("smsp__sass_inst_executed_op_shared_st")?;
    let matrices = of("smsp__inst_executed_op_ldsm").unwrap_or(0.0);
    Some(loads + stores + matrices + of("smsp__inst_executed_op_shared_atom").unwrap_or(0.0))
}
