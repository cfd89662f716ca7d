//! Runs of a compiled engine.

use crate::table::table;

table! {
    /// A run of a TensorRT engine, from `trtexec --exportTimes`. In the order of the file.
    Inferences(InferenceRow) = "inferences", per_rank: true {
        /// When the host began to enqueue it, since the first moment in the file.
        ts_ns: i64 => "ns" Delta Time,
        /// Time in which the host enqueued it.
        enqueue_ns: i64 => "ns" Delta,
        /// Copies to the device.
        h2d_ns: i64 => "ns" Dictionary,
        /// When the device began to compute.
        compute_ts_ns: i64 => "ns" Delta Time,
        /// Time in which the device computed.
        compute_ns: i64 => "ns" Delta,
        /// Copies from the device.
        d2h_ns: i64 => "ns" Dictionary,
        /// From the start of the first copy to the end of the last.
        latency_ns: i64 => "ns" Delta,
        /// When the last copy ended.
        end_ns: i64 => "ns" Delta Time,
    }
}
