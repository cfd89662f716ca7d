//! What the allocator holds at the end.

use crate::cell::Opt;
use crate::names::NameId;
use crate::table::{column_enum, table};

column_enum! {
    /// Who has a block.
    BlockState {
        /// The program.
        Allocated = "allocated",
        /// Nobody, but another stream may still use it: it cannot be given out yet.
        Pending = "pending",
        /// The allocator, which can give it out.
        Free = "free",
    }
}

table! {
    /// A block that the framework's allocator holds when the snapshot is taken. The blocks of a segment fill it.
    MemoryBlocks(MemoryBlockRow) = "memory_blocks", per_rank: true {
        /// Device index.
        device: i32 => "id" Dictionary,
        /// Number of the segment in the snapshot: one piece of memory reserved from the device.
        segment: i32 => "index" Delta,
        /// Size.
        bytes: i64 => "bytes" Dictionary,
        /// What the program asked for; the rest of the block is rounding. Null where nobody has it.
        requested_bytes: Opt<i64> => "bytes" Dictionary,
        /// Who has it.
        state: BlockState => "word" Dictionary,
        /// Where the program asked for it, as `file.py(line): function`: joins `name_dim.name_id`.
        site_id: Opt<NameId> => "id" Dictionary,
    }
}
