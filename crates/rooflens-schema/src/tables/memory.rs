//! Allocator events.

use crate::cell::Opt;
use crate::names::NameId;
use crate::table::table;

table! {
    /// An allocation or release by the framework's allocator. Sorted by start.
    Memory(MemoryRow) = "memory", per_rank: true {
        /// When, since the run's clock base.
        ts_ns: i64 => "ns" Delta Time,
        /// Bytes allocated, negative when released.
        bytes: i64 => "bytes" Dictionary,
        /// Bytes allocated afterwards, as the allocator counts.
        allocated_bytes: Opt<i64> => "bytes" Delta,
        /// Bytes reserved from the device afterwards.
        reserved_bytes: Opt<i64> => "bytes" Dictionary,
        /// Device index; -1 for the host.
        device: i32 => "id" Dictionary,
        /// Where the program allocated it, as `file.py(line): function`; for a release, where it was
        /// allocated: joins `name_dim.name_id`.
        site_id: Opt<NameId> => "id" Dictionary,
    }
}
