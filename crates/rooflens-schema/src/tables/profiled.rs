//! Launches under Nsight Compute or rocprof-compute.

use crate::table::table;

table! {
    /// A launch under Nsight Compute, as `rooflens kernels analyze -o` writes it to `kernels.parquet`. What was not collected is null.
    ProfiledLaunches(ProfiledLaunchRow) = "profiled_launches", per_rank: false {
        /// Place in the input, from 0.
        launch: i64 => "id" Delta,
        /// Full name.
        name: String => "text" Dictionary,
        /// Readable short form.
        short_name: String => "text" Dictionary,
        /// What it does, by the kernel catalog.
        class: String => "word" Dictionary,
        /// What holds it back; empty where that was not measured.
        bound: String => "word" Dictionary,
        /// Time under the profiler.
        time_ns: Option<f64> => "ns" Dictionary,
        /// Its part of the time that a timeline has of its kernel.
        timeline_ns: Option<f64> => "ns" Dictionary,
        /// Lower bound of the time, from its traffic and FLOPs.
        floor_ns: Option<f64> => "ns" Dictionary,
        /// Share of the peak of the busiest compute unit.
        compute_pct: Option<f64> => "percent" Dictionary,
        /// Share of the peak of the busiest part of the memory system.
        memory_pct: Option<f64> => "percent" Dictionary,
        /// Share of the peak of device memory.
        dram_pct: Option<f64> => "percent" Dictionary,
        /// Sectors that the level-1 cache had.
        l1_hit_pct: Option<f64> => "percent" Dictionary,
        /// Sectors that the level-2 cache had.
        l2_hit_pct: Option<f64> => "percent" Dictionary,
        /// Share of what the roofline of device memory allows.
        roofline_pct: Option<f64> => "percent" Dictionary,
        /// Active warps of those that a multiprocessor can hold.
        occupancy_pct: Option<f64> => "percent" Dictionary,
        /// The most that its blocks allow.
        theoretical_occupancy_pct: Option<f64> => "percent" Dictionary,
        /// How often the grid fills the device.
        waves: Option<f64> => "count" Dictionary,
        /// Registers per thread.
        registers: Option<f64> => "count" Dictionary,
        /// Floating-point operations of all precisions.
        flops: Option<f64> => "FLOP" Dictionary,
        /// The precision with the most operations; empty where it is not known.
        precision: String => "word" Dictionary,
        /// Speed of the leading precision.
        flops_per_s: Option<f64> => "FLOP/s" Dictionary,
        /// Bytes of device memory.
        dram_bytes: Option<f64> => "bytes" Dictionary,
        /// Bytes of the level-2 cache.
        l2_bytes: Option<f64> => "bytes" Dictionary,
        /// Bytes of the level-1 caches.
        l1_bytes: Option<f64> => "bytes" Dictionary,
        /// Operations a byte of device memory.
        intensity_dram: Option<f64> => "FLOP/B" Dictionary,
        /// Cycles in which tensor pipes were active, of active cycles.
        tensor_pipe_pct: Option<f64> => "percent" Dictionary,
        /// The same, of elapsed cycles.
        tensor_pipe_elapsed_pct: Option<f64> => "percent" Dictionary,
        /// Issue slots that were used.
        issue_slots_pct: Option<f64> => "percent" Dictionary,
        /// Active cycles in which a scheduler issued an instruction.
        issue_active_pct: Option<f64> => "percent" Dictionary,
        /// Warps of a scheduler that could issue, mean of active cycles.
        eligible_warps: Option<f64> => "count" Dictionary,
        /// Warps of a scheduler, mean of active cycles.
        active_warps: Option<f64> => "count" Dictionary,
        /// Threads of a warp that were active in an instruction, of 32.
        warp_execution_pct: Option<f64> => "percent" Dictionary,
        /// The same without threads that a predicate switched off.
        warp_execution_pred_pct: Option<f64> => "percent" Dictionary,
        /// Sectors of the level-1 cache per request of a global load.
        load_sectors_per_request: Option<f64> => "count" Dictionary,
        /// The same of global stores.
        store_sectors_per_request: Option<f64> => "count" Dictionary,
        /// Bytes used of each 32-byte sector that global loads touched.
        load_bytes_per_sector: Option<f64> => "bytes" Dictionary,
        /// The same of global stores.
        store_bytes_per_sector: Option<f64> => "bytes" Dictionary,
        /// Sectors of global accesses beyond those that their bytes need.
        excess_sectors_pct: Option<f64> => "percent" Dictionary,
        /// Bank conflicts of shared memory.
        bank_conflicts: Option<f64> => "count" Dictionary,
        /// The same for each instruction that accessed shared memory.
        bank_conflicts_per_request: Option<f64> => "count" Dictionary,
        /// The same of the wavefronts of shared memory.
        bank_conflicts_pct: Option<f64> => "percent" Dictionary,
        /// What it loses and to what.
        loss: String => "text" Dictionary,
    }
}

table! {
    /// A metric of a launch under Nsight Compute, as `rooflens kernels analyze -o` writes it to `metrics.parquet`: every metric that the report has of the launch as a whole. A counter of rocprof-compute likewise.
    ProfiledMetrics(ProfiledMetricRow) = "profiled_metrics", per_rank: false {
        /// Place of the launch in the input, from 0: joins `profiled_launches.launch`.
        launch: i64 => "id" Delta,
        /// Readable short form of the kernel's name.
        short_name: String => "text" Dictionary,
        /// Metric, as `dram__bytes_read.sum`.
        metric: String => "text" Dictionary,
        /// Value, in the base unit. Null for a text.
        value: Option<f64> => "metric's own" Dictionary,
        /// Text, cut after 400 characters; empty for a number.
        text: String => "text" Dictionary,
        /// Base unit in the profiler's word; empty where it has none, or none is known.
        unit: String => "text" Dictionary,
    }
}
