//! Collectives: the calls of each device, which of them are one collective, who arrived last, and how much
//! crosses a link.
//!
//! A collective ends when every rank has taken part. So the kernel of a rank that arrives early runs until the
//! last rank arrives, which is waiting, and then until the data has moved, which is transfer. Clocks of ranks
//! differ by more than a collective takes, durations do not: the rank that arrives last has the shortest kernel,
//! and what the kernels of the others take beyond it is their waiting, at their beginning.

mod calls;
mod matching;
mod spent;
mod traffic;

pub(crate) use calls::{Call, Calls};
pub(crate) use matching::{Lateness, Matching, Waiting};
pub(crate) use spent::Spent;
pub(crate) use traffic::Algorithm;
pub(crate) use traffic::{bus_factor, link_factor};

use std::ops::Range;

use rooflens_schema::RankTables;

/// The rows of each device of a rank. Analyses number devices in this order, over all ranks.
pub(crate) fn devices(tables: &RankTables) -> impl Iterator<Item = (i32, Range<usize>)> {
    let mut from = 0;
    tables.kernels.device.chunk_by(|a, b| a == b).map(move |same| {
        let rows = from..from + same.len();
        from = rows.end;
        (same[0], rows)
    })
}
