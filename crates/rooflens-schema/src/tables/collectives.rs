//! What is known of collectives beyond their kernel.

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
