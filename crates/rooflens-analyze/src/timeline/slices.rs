//! Slices, and where the rows of a window are in a table.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use rooflens_schema::RankTables;

use super::LaneKind;
use crate::interval::{Interval, span};

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Slice {
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) what: i32,
    pub(crate) layer: i32,
    pub(crate) operator: i32,
    pub(crate) launch: i64,
    pub(crate) wait: i64,
    pub(crate) row: usize,
    pub(crate) count: usize,
    pub(crate) busy: i64,
}

pub(super) fn operator_key(row: usize) -> usize {
    row | (1 << (usize::BITS - 1))
}

/// A column, or nothing where no slice has a value.
pub(super) fn column<T: PartialEq>(
    slices: &[Slice],
    value: fn(&Slice) -> T,
    kind: LaneKind,
    none: T,
) -> Vec<T> {
    let told = matches!(kind, LaneKind::Stream | LaneKind::Operators | LaneKind::Collectives);
    if told && slices.iter().any(|slice| value(slice) != none) {
        slices.iter().map(value).collect()
    } else {
        Vec::new()
    }
}

pub(super) fn plain(start: i64, end: i64, what: i32, row: usize) -> Slice {
    let busy = end.saturating_sub(start);
    Slice { start, end, what, layer: -1, operator: -1, launch: -1, wait: -1, row, count: 1, busy }
}

/// By start; where two overlap, the later begins where the earlier ends.
pub(super) fn in_a_row(slices: &mut [Slice]) {
    slices.sort_by_key(|slice| (slice.start, slice.end));
    for at in 1..slices.len() {
        slices[at].start = slices[at].start.max(slices[at - 1].end).min(slices[at].end);
    }
}

pub(super) fn merged(
    mut slices: Vec<Slice>,
    window: Interval,
    keep: &HashSet<usize, foldhash::fast::RandomState>,
    most: usize,
) -> Vec<Slice> {
    let mut short = window.1.saturating_sub(window.0) / most as i64;
    while slices.len() > most {
        let mut out: Vec<Slice> = Vec::with_capacity(slices.len() / 2);
        for slice in slices {
            let fits = |last: &Slice| {
                slice.end.saturating_sub(last.start) <= short
                    && !keep.contains(&slice.row)
                    && !keep.contains(&last.row)
            };
            match out.last_mut().filter(|last| fits(last)) {
                Some(last) => {
                    // The one with the most time gives its name.
                    let larger = if slice.busy > last.busy { slice } else { *last };
                    *last = Slice {
                        start: last.start,
                        end: slice.end.max(last.end),
                        count: last.count + slice.count,
                        busy: last.busy.saturating_add(slice.busy),
                        ..larger
                    };
                }
                None => out.push(slice),
            }
        }
        slices = out;
        short = short.saturating_mul(2).max(1);
        if short > window.1.saturating_sub(window.0) {
            break;
        }
    }
    slices
}

pub(super) fn overlaps(ts: i64, dur: i64, window: Interval) -> bool {
    let (start, end) = span(ts, dur);
    start < window.1 && (end > window.0 || start >= window.0)
}

/// Rows of `rows`, sorted by start, that start within a window.
pub(super) fn starting_within(ts: &[i64], rows: Range<usize>, window: Interval) -> Range<usize> {
    let of = &ts[rows.clone()];
    let from = of.partition_point(|&ts| ts < window.0);
    let to = of.partition_point(|&ts| ts < window.1).max(from);
    rows.start + from..rows.start + to
}

/// Rows of `rows`, sorted by start, that may be within a window: those before it that reach into it, too.
pub(super) fn within(ts: &[i64], dur: &[i64], rows: Range<usize>, window: Interval) -> Range<usize> {
    let mut found = starting_within(ts, rows.clone(), window);
    while found.start > rows.start && span(ts[found.start - 1], dur[found.start - 1]).1 > window.0 {
        found.start -= 1;
    }
    found
}

/// The thread with the most calls that launched something; else the one with the most operator time.
pub(super) fn main_thread(tables: &RankTables) -> Option<i64> {
    let (api, ops) = (&tables.api, &tables.ops);
    let mut weights: BTreeMap<i64, i64> = BTreeMap::new();
    for row in (0..api.len()).filter(|&row| api.corr_id[row].is_some()) {
        *weights.entry(api.tid[row]).or_default() += 1;
    }
    if weights.is_empty() {
        for row in (0..ops.len()).filter(|&row| ops.depth[row] == 0) {
            let weight = weights.entry(ops.tid[row]).or_default();
            *weight = weight.saturating_add(ops.dur_ns[row]);
        }
    }
    weights.into_iter().max_by_key(|(tid, weight)| (*weight, std::cmp::Reverse(*tid))).map(|(tid, _)| tid)
}
