//! What each rank's source says about itself.

use crate::cell::Opt;
use crate::table::table;

table! {
    /// A rank of the job: what its source says about itself.
    Ranks(RankRow) = "ranks", per_rank: true {
        /// File name, without its folder.
        source: String => "text" Dictionary,
        /// Format of the source.
        format: String => "word" Dictionary,
        /// Records in the source, read or not.
        events: i64 => "count" Dictionary,
        /// Ranks the job claims to have.
        world_size: Opt<i32> => "count" Dictionary,
        /// Communication backend.
        backend: Option<String> => "word" Dictionary,
        /// Wall-clock time of `ts_ns` 0, since 1970.
        base_unix_ns: Opt<i64> => "ns" Dictionary,
        /// Start of the earliest record.
        first_ns: i64 => "ns" Dictionary Time,
        /// End of the latest record.
        last_ns: i64 => "ns" Dictionary Time,
        /// Whether times were recorded in whole microseconds.
        microsecond_clock: bool => "bool" Dictionary,
        /// Versions and switches of the source, as a JSON array of `[name, value]`.
        properties: String => "json" Dictionary,
    }
}
