//! Events of the allocator, and what it holds at the end.

use crate::cell::Opt;
use crate::names::NameId;
use crate::table::{column_enum, table};

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

column_enum! {
    /// Who has a block.
    BlockState {
        /// The program.
        Allocated = "allocated",
        /// Not in use, but another stream may still use it: it cannot be reused yet.
        Pending = "pending",
        /// Not in use: the allocator can reuse it.
        Free = "free",
    }
}

table! {
    /// A block of the framework's allocator at the time of the snapshot. The blocks of a segment fill it.
    MemoryBlocks(MemoryBlockRow) = "memory_blocks", per_rank: true {
        /// Device index.
        device: i32 => "id" Dictionary,
        /// Number of the segment in the snapshot: one piece of memory reserved from the device.
        segment: i32 => "index" Delta,
        /// Size.
        bytes: i64 => "bytes" Dictionary,
        /// Requested bytes; the rest of the block is rounding. Null if the block is not in use.
        requested_bytes: Opt<i64> => "bytes" Dictionary,
        /// Who has it.
        state: BlockState => "word" Dictionary,
        /// Where the program allocated it, as `file.py(line): function`: joins `name_dim.name_id`.
        site_id: Opt<NameId> => "id" Dictionary,
    }
}
