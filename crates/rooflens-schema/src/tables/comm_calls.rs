//! Collectives as NCCL was asked for them.

use crate::cell::Opt;
use crate::names::NameId;
use crate::table::table;

table! {
    /// A collective that NCCL or RCCL wrote to its log, or that the NCCL Inspector timed. In the order of the file.
    CommCalls(CommCallRow) = "comm_calls", per_rank: true {
        /// Number of the communicator in the file, in order of first sight.
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
        /// Elements that the call names.
        elements: Opt<i64> => "count" Dictionary,
        /// Size of the message: of what each rank has, or of all ranks' parts together where they are gathered, scattered or exchanged.
        bytes: Opt<i64> => "bytes" Dictionary,
        /// How long it took. Null in a log, which does not tell.
        exec_ns: Opt<i64> => "ns" Delta,
        /// Who took the time, as `kernel_gpu`: joins `name_dim.name_id`.
        timing_id: Opt<NameId> => "id" Dictionary,
        /// Bytes by time, as the file says.
        alg_gb_per_s: Option<f64> => "GB/s" Dictionary,
        /// Bytes over the bus by time, as the file says.
        bus_gb_per_s: Option<f64> => "GB/s" Dictionary,
    }
}
