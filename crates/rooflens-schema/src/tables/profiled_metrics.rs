//! Every metric of launches under Nsight Compute.

use crate::table::table;

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
