//! Collectives: the calls of each device, which of them are one collective, who arrived last, and how much
//! crosses a link.
//!
//! A collective ends when every rank has taken part. So the kernel of a rank that arrives early runs until the
//! last rank arrives, which is waiting, and then until the data has moved, which is transfer. Clocks of ranks
//! differ by more than a collective takes, durations do not: the rank that arrives last has the shortest kernel,
//! and what the kernels of the others take beyond it is their waiting, at their beginning.

mod calls;
mod matching;
mod traffic;

use std::collections::BTreeMap;

use rooflens_schema::RankTables;

use crate::kernel_catalog::KernelClass;
use crate::ledger::Line;
use crate::role::{Role, Roles};

pub(crate) use calls::{Call, Calls};
pub(crate) use matching::{Lateness, Matching, Waiting};
pub(crate) use traffic::{Algorithm, bus_factor, link_factor};

/// Times of one device, without its collectives: those run for as long as the other ranks make them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spent {
    window: Option<(i64, i64)>,
    pub(crate) kernels: BTreeMap<KernelClass, (i64, usize)>,
    pub(crate) idle: BTreeMap<Line, i64>,
}

impl Spent {
    pub(crate) fn new(tables: &RankTables, roles: &Roles<'_>, rows: std::ops::Range<usize>) -> Self {
        let kernels = &tables.kernels;
        let collectives = rows.filter(|&row| roles.at(row) == Role::Communication);
        let spans = collectives.map(|row| {
            let start = kernels.ts_ns[row];
            (start, start.saturating_add(kernels.dur_ns[row].max(0)))
        });
        let window = spans.reduce(|all, one| (all.0.min(one.0), all.1.max(one.1)));
        Spent { window, ..Spent::default() }
    }

    /// An activity that starts at `ts_ns`, with the time it is charged with and the gap that it ends.
    pub(crate) fn add(&mut self, ts_ns: i64, class: KernelClass, ns: i64, gap: Option<(Line, i64)>) {
        if !self.window.is_some_and(|(first, last)| first < ts_ns && ts_ns < last) {
            return;
        }
        if class != KernelClass::Communication {
            let (sum, count) = self.kernels.entry(class).or_default();
            *sum = sum.saturating_add(ns);
            *count += 1;
        }
        if let Some((line, ns)) = gap {
            let sum = self.idle.entry(line).or_default();
            *sum = sum.saturating_add(ns);
        }
    }
}
