//! Metrics that a server or an exporter gave out.

use crate::cell::Opt;
use crate::names::NameId;
use crate::table::table;

table! {
    /// A value of a metric of a server or of the DCGM exporter, as their `/metrics` page gives it, in the metric's own unit. In the order of the file.
    MetricSamples(MetricSampleRow) = "metric_samples", per_rank: true {
        /// Number of the page in the file, from 0: a repeated series begins the next.
        snapshot: i32 => "index" Dictionary,
        /// When it was taken, since 1970. Null if the file does not have it.
        unix_ns: Opt<i64> => "ns" Delta,
        /// Metric, as `nv_inference_count`: joins `name_dim.name_id`.
        metric_id: NameId => "id" Dictionary,
        /// Model of a server: joins `name_dim.name_id`.
        model_id: Opt<NameId> => "id" Dictionary,
        /// Version of the model: joins `name_dim.name_id`.
        version_id: Opt<NameId> => "id" Dictionary,
        /// Device: DCGM's index; for a Triton server, which has none, the index in order of first appearance.
        device: Opt<i32> => "id" Dictionary,
        /// Instance of a partitioned device.
        instance: Opt<i32> => "id" Dictionary,
        /// Value. Null where the page has none (NaN).
        value: Option<f64> => "metric's own" Dictionary,
    }
}
