//! The run itself.

use crate::cell::Opt;
use crate::table::table;

table! {
    /// The run: one row.
    Runs(RunRow) = "runs", per_rank: false {
        /// Random-free id: hash of the sources and their first time.
        run_id: i64 => "id" Dictionary,
        /// What kind of run it is: `trace`.
        kind: String => "word" Dictionary,
        /// Where it was read from: file names, without folders.
        source: String => "text" Dictionary,
        /// Format of the source.
        format: String => "word" Dictionary,
        /// What `ts_ns` 0 is on the wall clock, since 1970.
        base_unix_ns: Opt<i64> => "ns" Dictionary,
        /// From the first record to the end of the last.
        span_ns: i64 => "ns" Dictionary,
        /// Records in the sources.
        events: i64 => "count" Dictionary,
        /// Ranks read.
        ranks: i32 => "count" Dictionary,
        /// Ranks the job claims to have.
        world_size: Opt<i32> => "count" Dictionary,
        /// Device name.
        hardware: Option<String> => "text" Dictionary,
        /// `complete`, or `incomplete` where a note tells of data loss.
        status: String => "word" Dictionary,
    }
}
