//! Layers of a compiled engine.

use crate::cell::Opt;
use crate::names::NameId;
use crate::table::table;

table! {
    /// A layer of a TensorRT engine: what `trtexec` says of it, and how long it took. In the order of the engine.
    EngineLayers(EngineLayerRow) = "engine_layers", per_rank: true {
        /// Name: joins `name_dim.name_id`.
        name_id: NameId => "id" Dictionary,
        /// Kind of layer, as `CaskConvolution`: joins `name_dim.name_id`.
        type_id: Opt<NameId> => "id" Dictionary,
        /// Element type of its first output, as `fp16`: joins `name_dim.name_id`.
        dtype_id: Opt<NameId> => "id" Dictionary,
        /// Kernel that was chosen: joins `name_dim.name_id`.
        tactic_id: Opt<NameId> => "id" Dictionary,
        /// Shapes that go in: joins `name_dim.name_id`.
        inputs_id: Opt<NameId> => "id" Dictionary,
        /// Shapes that come out: joins `name_dim.name_id`.
        outputs_id: Opt<NameId> => "id" Dictionary,
        /// Runs that were timed.
        runs: Opt<i64> => "count" Dictionary,
        /// Time of all runs together, to the digits of the file.
        total_ns: Opt<i64> => "ns" Dictionary,
        /// Median of the runs, to the digits of the file.
        median_ns: Opt<i64> => "ns" Dictionary,
    }
}
