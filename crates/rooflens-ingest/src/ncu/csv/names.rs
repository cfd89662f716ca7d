//! The names under which the details page shows metrics. They are those of the sections that come with
//! Nsight Compute; one name may stand for several metrics, told apart by unit, section or label.

struct Shown {
    name: &'static str,
    metric: &'static str,
    /// What the row must have besides.
    when: When,
}

enum When {
    Always,
    /// The unit is, or is not, percent.
    Percent(bool),
    /// The label of the body item ends so; the section of the row has labels.
    Label(&'static str),
}

const fn shown(name: &'static str, metric: &'static str) -> Shown {
    Shown { name, metric, when: When::Always }
}

const fn of_label(name: &'static str, label: &'static str, metric: &'static str) -> Shown {
    Shown { name, metric, when: When::Label(label) }
}

/// The first that fits is taken.
const ALL: &[Shown] = &[
    // GPU Speed Of Light Throughput
    shown("Compute (SM) Throughput", "sm__throughput.avg.pct_of_peak_sustained_elapsed"),
    Shown {
        name: "Memory Throughput",
        metric: "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
        when: When::Percent(true),
    },
    Shown { name: "Memory Throughput", metric: "dram__bytes.sum.per_second", when: When::Percent(false) },
    shown("Duration", "gpu__time_duration.sum"),
    shown("Elapsed Cycles", "gpc__cycles_elapsed.max"),
    shown("L1/TEX Cache Throughput", "l1tex__throughput.avg.pct_of_peak_sustained_active"),
    shown("SM Active Cycles", "sm__cycles_active.avg"),
    shown("L2 Cache Throughput", "lts__throughput.avg.pct_of_peak_sustained_elapsed"),
    shown("DRAM Throughput", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"),
    shown("DRAM Frequency", "dram__cycles_elapsed.avg.per_second"),
    // The roofline has the clock of its roofs and that of its dot; other sections have that of the chip.
    of_label("SM Frequency", "Roofline", "sm__cycles_elapsed.avg.per_second"),
    of_label("SM Frequency", "Achieved Value", "smsp__cycles_elapsed.avg.per_second"),
    shown("SM Frequency", "gpc__cycles_elapsed.avg.per_second"),
    // GPU Speed Of Light Roofline Chart; its operations are in `OPERATIONS`
    shown("Theoretical DRAM Bytes Accessible", "dram__bytes.sum.peak_sustained"),
    shown("DRAM Bandwidth", "dram__bytes.sum.per_second"),
    // Memory Workload Analysis
    shown("Mem Busy", "gpu__compute_memory_access_throughput.avg.pct_of_peak_sustained_elapsed"),
    shown("Max Bandwidth", "gpu__compute_memory_request_throughput.avg.pct_of_peak_sustained_elapsed"),
    shown("L1/TEX Hit Rate", "l1tex__t_sector_hit_rate.pct"),
    shown("L2 Hit Rate", "lts__t_sector_hit_rate.pct"),
    shown("Mem Pipes Busy", "sm__memory_throughput.avg.pct_of_peak_sustained_elapsed"),
    shown("L2 Compression Success Rate", "lts__average_gcomp_input_sector_success_rate.pct"),
    shown("L2 Compression Ratio", "lts__average_gcomp_output_sector_compression_achieved_rate.ratio"),
    // Compute Workload Analysis
    shown("Executed Ipc Active", "sm__inst_executed.avg.per_cycle_active"),
    shown("Executed Ipc Elapsed", "sm__inst_executed.avg.per_cycle_elapsed"),
    shown("Issue Slots Busy", "sm__inst_issued.avg.pct_of_peak_sustained_active"),
    shown("Issued Ipc Active", "sm__inst_issued.avg.per_cycle_active"),
    shown("SM Busy", "sm__instruction_throughput.avg.pct_of_peak_sustained_active"),
    // Scheduler Statistics, Warp State Statistics
    shown("One or More Eligible", "smsp__issue_active.avg.pct_of_peak_sustained_active"),
    shown("Issued Warp Per Scheduler", "smsp__issue_active.avg.per_cycle_active"),
    shown("No Eligible", "smsp__issue_inst0.avg.pct_of_peak_sustained_active"),
    shown("Active Warps Per Scheduler", "smsp__warps_active.avg.per_cycle_active"),
    shown("Eligible Warps Per Scheduler", "smsp__warps_eligible.avg.per_cycle_active"),
    shown("Warp Cycles Per Issued Instruction", "smsp__average_warp_latency_per_inst_issued.ratio"),
    shown("Warp Cycles Per Executed Instruction", "smsp__average_warps_active_per_inst_executed.ratio"),
    shown("Avg. Active Threads Per Warp", "smsp__thread_inst_executed_per_inst_executed.ratio"),
    shown(
        "Avg. Not Predicated Off Threads Per Warp",
        "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio",
    ),
    // Instruction Statistics, Source Counters
    shown("Avg. Executed Instructions Per Scheduler", "smsp__inst_executed.avg"),
    shown("Executed Instructions", "smsp__inst_executed.sum"),
    shown("Avg. Issued Instructions Per Scheduler", "smsp__inst_issued.avg"),
    shown("Issued Instructions", "smsp__inst_issued.sum"),
    shown("Branch Instructions", "smsp__inst_executed_op_branch.sum"),
    shown("Branch Instructions Ratio", "derived__smsp__inst_executed_op_branch_pct"),
    shown("Branch Efficiency", "smsp__sass_average_branch_targets_threads_uniform.pct"),
    shown("Avg. Divergent Branches", "smsp__sass_branch_targets_threads_divergent.avg"),
    // Launch Statistics
    shown("Block Size", "launch__block_size"),
    shown("Grid Size", "launch__grid_size"),
    shown("Cluster Size", "launch__cluster_size"),
    shown("Cluster Scheduling Policy", "launch__cluster_scheduling_policy"),
    shown("Function Cache Configuration", "launch__func_cache_config"),
    shown("Registers Per Thread", "launch__registers_per_thread"),
    shown("Shared Memory Configuration Size", "launch__shared_mem_config_size"),
    shown("Driver Shared Memory Per Block", "launch__shared_mem_per_block_driver"),
    shown("Dynamic Shared Memory Per Block", "launch__shared_mem_per_block_dynamic"),
    shown("Static Shared Memory Per Block", "launch__shared_mem_per_block_static"),
    shown("Threads", "launch__thread_count"),
    shown("Waves Per SM", "launch__waves_per_multiprocessor"),
    shown("Uses Green Context", "launch__uses_green_context"),
    shown("# SMs", "launch__sm_count"),
    // Occupancy
    shown("Max Active Clusters", "launch__cluster_max_active"),
    shown("Max Cluster Size", "launch__cluster_max_potential_size"),
    shown("Overall GPU Occupancy", "launch__occupancy_cluster_gpu_pct"),
    shown("Cluster Occupancy", "launch__occupancy_cluster_pct"),
    shown("Block Limit Barriers", "launch__occupancy_limit_barriers"),
    shown("Block Limit SM", "launch__occupancy_limit_blocks"),
    shown("Block Limit Registers", "launch__occupancy_limit_registers"),
    shown("Block Limit Shared Mem", "launch__occupancy_limit_shared_mem"),
    shown("Block Limit Warps", "launch__occupancy_limit_warps"),
    shown("Theoretical Active Warps per SM", "sm__maximum_warps_avg_per_active_cycle"),
    shown("Theoretical Occupancy", "sm__maximum_warps_per_active_cycle_pct"),
    shown("Achieved Occupancy", "sm__warps_active.avg.pct_of_peak_sustained_active"),
    shown("Achieved Active Warps Per SM", "sm__warps_active.avg.per_cycle_active"),
];

/// The metric that a row shows; the name itself where that is a metric's already or is not known.
pub(crate) fn metric(name: &str, unit: &str, label: &str) -> String {
    let fits = |shown: &&Shown| {
        shown.name == name
            && match shown.when {
                When::Always => true,
                When::Percent(percent) => (unit == "%") == percent,
                When::Label(end) => label.ends_with(end),
            }
    };
    if let Some(shown) = ALL.iter().find(fits) {
        return shown.metric.to_owned();
    }
    OPERATIONS.iter().find_map(|names| operation(name, names)).unwrap_or_else(|| name.to_owned())
}

/// Names with an operation such as `FADD` inside: what stands around it on the page, and in the metric.
const OPERATIONS: &[[&str; 4]] = &[
    [
        "Predicated-On ",
        " Thread Instructions Executed Per Cycle",
        "smsp__sass_thread_inst_executed_op_",
        "_pred_on.sum.per_cycle_elapsed",
    ],
    [
        "Theoretical Predicated-On ",
        " Thread Instructions Executed",
        "sm__sass_thread_inst_executed_op_",
        "_pred_on.sum.peak_sustained",
    ],
    [
        "Theoretical Predicated-On ",
        " Operations",
        "derived__sm__sass_thread_inst_executed_op_",
        "_pred_on_x2",
    ],
    [
        "Predicated-On ",
        " Operations Per Cycle",
        "derived__smsp__sass_thread_inst_executed_op_",
        "_pred_on_x2",
    ],
];

fn operation(name: &str, [before, behind, metric, end]: &[&str; 4]) -> Option<String> {
    let operation = name.strip_prefix(before)?.strip_suffix(behind)?.to_ascii_lowercase();
    let known = operation.len() == 4
        && operation.starts_with(['f', 'd', 'h'])
        && ["add", "mul", "fma"].iter().any(|end| operation.ends_with(end));
    known.then(|| format!("{metric}{operation}{end}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_name_may_be_two_metrics() {
        assert_eq!(metric("Memory Throughput", "Gbyte/s", ""), "dram__bytes.sum.per_second");
        assert!(metric("Memory Throughput", "%", "").starts_with("gpu__compute_memory_throughput"));
        assert_eq!(
            metric("SM Frequency", "Ghz", "Double Precision Roofline"),
            "sm__cycles_elapsed.avg.per_second"
        );
        let achieved = metric("SM Frequency", "Ghz", "Single Precision Achieved Value");
        assert_eq!(achieved, "smsp__cycles_elapsed.avg.per_second");
        assert_eq!(metric("SM Frequency", "Ghz", ""), "gpc__cycles_elapsed.avg.per_second");
        assert_eq!(
            metric("Predicated-On HADD Thread Instructions Executed Per Cycle", "", ""),
            "smsp__sass_thread_inst_executed_op_hadd_pred_on.sum.per_cycle_elapsed"
        );
        assert_eq!(metric("dram__bytes_read.sum", "byte", ""), "dram__bytes_read.sum");
        assert_eq!(metric("Something New", "", ""), "Something New");
    }
}
