//! Collectives as the trace and as NCCL records them.

use crate::cell::Opt;
use crate::names::NameId;
use crate::table::table;

table! {
    /// A collective recorded in the trace: one row for each communication kernel with such information.
    Collectives(CollectiveRow) = "collectives", per_rank: true {
        /// Device of the kernel.
        device: i32 => "id" Dictionary,
        /// Start of the kernel.
        ts_ns: i64 => "ns" Delta Time,
        /// Duration of the kernel.
        dur_ns: i64 => "ns" Delta,
        /// Correlation id: joins `kernels.corr_id`.
        corr_id: Opt<i64> => "id" Delta,
        /// Collective, as `allreduce`: joins `name_dim.name_id`.
        collective_id: NameId => "id" Dictionary,
        /// Element type: joins `name_dim.name_id`.
        dtype_id: Opt<NameId> => "id" Dictionary,
        /// Input elements per rank.
        in_elements: Opt<i64> => "count" Dictionary,
        /// Output elements per rank.
        out_elements: Opt<i64> => "count" Dictionary,
        /// Ranks taking part.
        group_size: Opt<i32> => "count" Dictionary,
        /// Process group: joins `name_dim.name_id`.
        group_id: Opt<NameId> => "id" Dictionary,
    }
}

table! {
    /// A collective that NCCL or RCCL wrote to its log, or that the NCCL Inspector timed. In the order of the file.
    CommCalls(CommCallRow) = "comm_calls", per_rank: true {
        /// Index of the communicator in the file, in order of first appearance.
        comm: i32 => "index" Dictionary,
        /// Rank in the communicator.
        comm_rank: Opt<i32> => "id" Dictionary,
        /// Ranks in the communicator.
        group_size: Opt<i32> => "count" Dictionary,
        /// Number of the call in its communicator.
        sequence: Opt<i64> => "index" Delta,
        /// Collective, as `allreduce`: joins `name_dim.name_id`.
        collective_id: NameId => "id" Dictionary,
        /// Element type: joins `name_dim.name_id`.
        dtype_id: Opt<NameId> => "id" Dictionary,
        /// Elements of the call.
        elements: Opt<i64> => "count" Dictionary,
        /// Message size: the data of one rank, or of all ranks for all-gather, reduce-scatter and all-to-all.
        bytes: Opt<i64> => "bytes" Dictionary,
        /// Duration. Null in a debug log, which has no times.
        exec_ns: Opt<i64> => "ns" Delta,
        /// Source of the time, as `kernel_gpu`: joins `name_dim.name_id`.
        timing_id: Opt<NameId> => "id" Dictionary,
        /// Algorithm bandwidth, as given in the file.
        alg_gb_per_s: Option<f64> => "GB/s" Dictionary,
        /// Bus bandwidth, as given in the file.
        bus_gb_per_s: Option<f64> => "GB/s" Dictionary,
    }
}
