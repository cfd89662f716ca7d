//! Layers and runs of a compiled engine.

use crate::cell::Opt;
use crate::names::NameId;
use crate::table::table;

table! {
    /// A layer of a TensorRT engine: its description by `trtexec` and its time. In the order of the engine.
    EngineLayers(EngineLayerRow) = "engine_layers", per_rank: true {
        /// Name: joins `name_dim.name_id`.
        name_id: NameId => "id" Dictionary,
        /// Kind of layer, as `CaskConvolution`: joins `name_dim.name_id`.
        type_id: Opt<NameId> => "id" Dictionary,
        /// Element type of its first output, as `fp16`: joins `name_dim.name_id`.
        dtype_id: Opt<NameId> => "id" Dictionary,
        /// Kernel that was chosen: joins `name_dim.name_id`.
        tactic_id: Opt<NameId> => "id" Dictionary,
        /// Input shapes: joins `name_dim.name_id`.
        inputs_id: Opt<NameId> => "id" Dictionary,
        /// Output shapes: joins `name_dim.name_id`.
        outputs_id: Opt<NameId> => "id" Dictionary,
        /// Runs that were timed.
        runs: Opt<i64> => "count" Dictionary,
        /// Total time of all runs, with the digits of the file.
        total_ns: Opt<i64> => "ns" Dictionary,
        /// Median of the runs, to the digits of the file.
        median_ns: Opt<i64> => "ns" Dictionary,
    }
}

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
