//! Layers of a compiled engine.

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
