//! Launches under Nsight Compute.

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
        /// The least time that its traffic and operations need.
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
        /// Registers of a thread.
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
        /// What it loses and to what.
        loss: String => "text" Dictionary,
    }
}
