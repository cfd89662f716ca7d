//! Python frames.

use crate::names::NameId;
use crate::table::table;

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
