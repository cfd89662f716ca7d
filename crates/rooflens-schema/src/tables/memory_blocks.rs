//! What the allocator holds at the end.

use crate::cell::Opt;
use crate::names::NameId;
use crate::table::{column_enum, table};

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
