//! What a device spent its time on between its first and its last collective.

use std::collections::BTreeMap;

use rooflens_schema::RankTables;

use crate::kernel_catalog::KernelClass;
use crate::ledger::Line;
use crate::role::{Role, Roles};

/// Times of one device, without its collectives: those run for as long as the other ranks make them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spent {
    /// From the start of the first collective to the end of the last.
    window: Option<(i64, i64)>,
    /// Time and number of activities by class, copies included.
    pub(crate) kernels: BTreeMap<KernelClass, (i64, usize)>,
    /// Idle time by its line.
    pub(crate) idle: BTreeMap<Line, i64>,
}

impl Spent {
    /// For the rows of a device.
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
    pub fn add(&mut self, ts_ns: i64, class: KernelClass, ns: i64, gap: Option<(Line, i64)>) {
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
