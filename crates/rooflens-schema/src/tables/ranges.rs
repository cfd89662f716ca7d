//! Ranges as the program named them, before anything is made of them.

use crate::cell::Opt;
use crate::names::NameId;
use crate::table::{column_enum, table};

column_enum! {
    /// How a range was opened and closed.
    RangeStyle {
        /// Pushed and popped: ranges of a thread nest.
        PushPop = "push_pop",
        /// Started and ended on one thread: such ranges may overlap.
        StartEnd = "start_end",
        /// Started on one thread and ended on another: it belongs to neither alone.
        Across = "across_threads",
    }
}

table! {
    /// An NVTX range as recorded, with its original text; `ops` and `phases` have its interpretation. Sorted
    /// by thread, start, longest first.
    Ranges(RangeRow) = "ranges", per_rank: true {
        /// Process.
        pid: i64 => "id" Dictionary,
        /// Thread that opened it.
        tid: i64 => "id" Dictionary,
        /// Start, since the run's clock base.
        ts_ns: i64 => "ns" Delta Time,
        /// Duration; until the end of the recording where it was never closed.
        dur_ns: i64 => "ns" Delta,
        /// Text, with its domain and a colon before it if it has one: joins `name_dim.name_id`.
        name_id: NameId => "id" Dictionary,
        /// How it was opened and closed.
        style: RangeStyle => "word" Dictionary,
        /// Payload, a number or JSON, as text: joins `name_dim.name_id`.
        payload_id: Opt<NameId> => "id" Dictionary,
    }
}
