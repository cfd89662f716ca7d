//! What a device did, one row an activity.

use crate::cell::Opt;
use crate::names::NameId;
use crate::table::{column_enum, table};

column_enum! {
    /// What kind of device activity it is.
    ActivityKind {
        /// A kernel, collectives among them.
        Kernel = "kernel",
        /// A copy by the copy engine.
        Memcpy = "memcpy",
        /// A fill.
        Memset = "memset",
    }
}

column_enum! {
    /// Why the device did nothing before an activity.
    GapCause {
        /// There was no gap.
        None = "none",
        /// The host launched too late, and had launched its previous work within 100 µs: it was
        /// busy launching, one kernel after the other, slower than the device ran them.
        LaunchBound = "launch_bound",
        /// The host launched too late, and had launched nothing for more than 100 µs: it was
        /// busy with something else, or in a launching call of more than 1 ms that covers most of the gap.
        CpuBound = "cpu_bound",
        /// The host launched too late because it had waited for the device: until then, and launched
        /// within 100 µs, or for most of the gap.
        Sync = "sync",
        /// The work was queued in time but had to wait: for another stream, a copy, a collective, or
        /// work that is not in the trace.
        DataDependency = "data_dependency",
        /// The work was queued in time behind its predecessor on the same stream: the gap that the device
        /// needs between two activities.
        Dispatch = "dispatch",
        /// Nothing follows: from the device's last activity to the end of the trace. Not part of
        /// idle time.
        Tail = "tail",
        /// The trace has no launch for the activity.
        Unknown = "unknown",
    }
}

table! {
    /// A device activity: kernel, copy or fill. Sorted by device, stream, start.
    Kernels(KernelRow) = "kernels", per_rank: true {
        /// Device index, as the trace numbers them.
        device: i32 => "id" Dictionary,
        /// Stream (queue) on the device.
        stream: i32 => "id" Dictionary,
        /// Start, since the run's clock base.
        ts_ns: i64 => "ns" Delta Time,
        /// Duration.
        dur_ns: i64 => "ns" Delta,
        /// Name: joins `kernel_dim.kernel_id`.
        kernel_id: NameId => "id" Dictionary,
        /// Kernel, copy or fill.
        kind: ActivityKind => "word" Dictionary,
        /// Correlation id: joins `api.corr_id` of the launch. All kernels of one graph replay share it.
        corr_id: Opt<i64> => "id" Delta,
        /// Id of the operator that the tool says launched it.
        ext_id: Opt<i64> => "id" Delta,
        /// Graph the activity was replayed from, where the tool says so.
        graph_id: Opt<i64> => "id" Dictionary,
        /// Node of that graph.
        graph_node_id: Opt<i64> => "id" Dictionary,
        /// Grid size, x.
        grid_x: Opt<i32> => "blocks" Dictionary,
        /// Grid size, y.
        grid_y: Opt<i32> => "blocks" Dictionary,
        /// Grid size, z.
        grid_z: Opt<i32> => "blocks" Dictionary,
        /// Block size, x.
        block_x: Opt<i32> => "threads" Dictionary,
        /// Block size, y.
        block_y: Opt<i32> => "threads" Dictionary,
        /// Block size, z.
        block_z: Opt<i32> => "threads" Dictionary,
        /// Registers per thread.
        registers: Opt<i32> => "registers" Dictionary,
        /// Shared memory per block.
        shared_memory_bytes: Opt<i32> => "bytes" Dictionary,
        /// Bytes copied or filled.
        bytes: Opt<i64> => "bytes" Dictionary,
        /// Innermost operator that launched it: joins `ops.op_id`.
        op_id: Opt<i32> => "id" Delta,
        /// Phase it belongs to: joins `phases.phase_id`.
        phase_id: Opt<i32> => "id" Dictionary,
        /// Layer of the model.
        layer: Opt<i32> => "index" Dictionary,
        /// Module path: joins `name_dim.name_id`.
        module_id: Opt<NameId> => "id" Dictionary,
        /// Idle time of its stream before it; null for the stream's first activity.
        gap_before_ns: Opt<i64> => "ns" Delta,
        /// Idle time of the whole device that ends with it. These sum to the device's idle time.
        idle_before_ns: i64 => "ns" Delta,
        /// Why there was a gap.
        gap_cause: GapCause => "word" Dictionary,
        /// From the start of the launching call to the start on the device; null without a launch.
        launch_delay_ns: Opt<i64> => "ns" Delta,
        /// Activities launched but not finished on its device when it was launched.
        queue_depth: Opt<i32> => "count" Dictionary,
    }
}

impl KernelRow {
    /// A row with only what every trace gives; the rest absent or not yet derived.
    pub fn new(device: i32, stream: i32, ts_ns: i64, dur_ns: i64, name: NameId, kind: ActivityKind) -> Self {
        KernelRow { device, stream, ts_ns, dur_ns, kernel_id: name, kind, ..KernelRow::default() }
    }
}
