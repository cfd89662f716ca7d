//! Driver and runtime calls.

use crate::cell::Opt;
use crate::names::NameId;
use crate::table::{column_enum, table};

column_enum! {
    /// What a runtime call does for the device.
    ApiKind {
        /// Launches one kernel.
        Launch = "launch",
        /// Launches a captured graph.
        GraphLaunch = "graph_launch",
        /// Copies memory.
        Memcpy = "memcpy",
        /// Fills memory.
        Memset = "memset",
        /// Waits for the device.
        Sync = "sync",
        /// Allocates or frees.
        Memory = "memory",
        /// Records, waits for or queries an event.
        Event = "event",
        /// The profiler's own work.
        Overhead = "overhead",
        /// A call of the operating system, as `poll` or `read`.
        System = "system",
        /// Anything else.
        Other = "other",
    }
}

table! {
    /// A driver or runtime call. Sorted by thread, start.
    Api(ApiRow) = "api", per_rank: true {
        /// Thread.
        tid: i64 => "id" Dictionary,
        /// Process, where the tool says so.
        pid: Opt<i64> => "id" Dictionary,
        /// Start, since the run's clock base.
        ts_ns: i64 => "ns" Delta Time,
        /// Duration.
        dur_ns: i64 => "ns" Delta,
        /// Name: joins `name_dim.name_id`.
        name_id: NameId => "id" Dictionary,
        /// What it does.
        kind: ApiKind => "word" Dictionary,
        /// Correlation id: joins `kernels.corr_id`.
        corr_id: Opt<i64> => "id" Delta,
        /// Id of the operator that the tool says made the call.
        ext_id: Opt<i64> => "id" Delta,
        /// Innermost operator around it: joins `ops.op_id`.
        op_id: Opt<i32> => "id" Delta,
        /// Kernel that it launches, where the tool says so: joins `name_dim.name_id`. A call inside a graph
        /// capture launches nothing yet, so that this is all there is of the kernel.
        kernel_id: Opt<NameId> => "id" Dictionary,
    }
}
