//! Framework operators and Python frames.

use crate::cell::Opt;
use crate::names::NameId;
use crate::table::table;

table! {
    /// A framework operator call (`aten::mm`, a custom op). Sorted by thread, start, nesting.
    Ops(OpRow) = "ops", per_rank: true {
        /// Row id within the rank, 0 upwards.
        op_id: i32 => "id" Delta,
        /// Thread.
        tid: i64 => "id" Dictionary,
        /// Start, since the run's clock base.
        ts_ns: i64 => "ns" Delta Time,
        /// Duration.
        dur_ns: i64 => "ns" Delta,
        /// Name: joins `name_dim.name_id`.
        name_id: NameId => "id" Dictionary,
        /// The tool's own id of the call; `kernels.ext_id` names it.
        ext_id: Opt<i64> => "id" Delta,
        /// Shapes of the inputs, as the tool wrote them: joins `name_dim.name_id`.
        shapes_id: Opt<NameId> => "id" Dictionary,
        /// Types of the inputs, as the tool wrote them: joins `name_dim.name_id`.
        dtypes_id: Opt<NameId> => "id" Dictionary,
        /// The enclosing operator on the thread: joins `ops.op_id`.
        parent_id: Opt<i32> => "id" Delta,
        /// Number of enclosing operators.
        depth: i32 => "count" Dictionary,
        /// Time in the operators directly inside, at most `dur_ns`; self time is `dur_ns - inside_ns`.
        /// (Most operators contain none: zeros take no space, a second duration would.)
        inside_ns: i64 => "ns" Dictionary,
        /// Device time of everything launched inside it, nested operators included.
        device_ns: i64 => "ns" Delta,
        /// Phase it started in: joins `phases.phase_id`.
        phase_id: Opt<i32> => "id" Dictionary,
        /// Layer of the model.
        layer: Opt<i32> => "index" Dictionary,
        /// Module path: joins `name_dim.name_id`.
        module_id: Opt<NameId> => "id" Dictionary,
    }
}

impl OpRow {
    /// A row with only what every trace gives; the rest absent or not yet derived.
    pub fn new(tid: i64, ts_ns: i64, dur_ns: i64, name_id: NameId) -> Self {
        OpRow { tid, ts_ns, dur_ns, name_id, ..OpRow::default() }
    }
}

table! {
    /// A Python function, builtin or `nn.Module` call, recorded with stacks on. Sorted by thread,
    /// start, nesting. Written only where the trace has stacks.
    Frames(FrameRow) = "frames", per_rank: true {
        /// Thread.
        tid: i64 => "id" Dictionary,
        /// Start, since the run's clock base.
        ts_ns: i64 => "ns" Delta Time,
        /// Duration.
        dur_ns: i64 => "ns" Delta,
        /// Name, as `file.py(line): function` or `nn.Module: Class_n`: joins `name_dim.name_id`.
        name_id: NameId => "id" Dictionary,
    }
}
