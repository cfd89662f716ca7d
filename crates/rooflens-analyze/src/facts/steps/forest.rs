//! What lies in what: the ranges of a timeline as a forest.

use std::collections::HashMap;

use rooflens_schema::tables::Phases;
use rooflens_schema::{NameId, RankTables};

use crate::facts::api_kind;
use crate::interval;

/// A range lies in another that covers this share of it: clocks are rounded, and a name is seldom opened and
/// closed in the same instant as another.
const COVERED: (i64, i64) = (9, 10);
/// On a device the profiler draws a range once for each stream: of one name, half is enough.
const COVERED_OF_SAME_NAME: (i64, i64) = (1, 2);

/// Ranges that are open at the same time, of which the last are looked at: a file with more is damaged.
const DEEPEST: usize = 256;

/// Ranges and the range that each lies in, which stands before it.
pub(super) struct Forest {
    pub(crate) rows: Vec<usize>,
    pub(crate) parents: Vec<Option<usize>>,
}

pub(super) fn span(phases: &Phases, row: usize) -> (i64, i64) {
    interval::span(phases.ts_ns[row], phases.dur_ns[row])
}

fn covers(outer: (i64, i64), inner: (i64, i64), (part, of): (i64, i64)) -> bool {
    interval::overlap(outer, inner).saturating_mul(of) >= interval::length(inner).saturating_mul(part)
}

impl Forest {
    /// Of ranges on the host: those of a thread by what lies in what; a range of another thread lies in one that
    /// has no work of its own, or has none itself. Two threads that both launch have a step each, at the same time.
    pub(crate) fn of_threads(tables: &RankTables, rows: Vec<usize>) -> Self {
        let phases = &tables.phases;
        let same = |outer: usize, inner: usize| {
            let (a, b) = (span(phases, outer), span(phases, inner));
            covers(a, b, COVERED) || covers(b, a, COVERED)
        };
        let mut forest = Forest::nested(phases, rows, |row| phases.tid[row].get(), same);
        forest.adopt(phases, &OwnWork::new(tables));
        forest
    }

    pub(crate) fn of_devices(tables: &RankTables, rows: Vec<usize>) -> Self {
        let phases = &tables.phases;
        let same = |outer: usize, inner: usize| {
            let (a, b) = (span(phases, outer), span(phases, inner));
            let of_one_name = phases.name_id[outer] == phases.name_id[inner];
            let covered = if of_one_name { COVERED_OF_SAME_NAME } else { COVERED };
            covers(a, b, covered) || covers(b, a, covered)
        };
        Forest::nested(phases, rows, |row| phases.device[row].get(), same)
    }

    fn nested<K: std::hash::Hash + Eq>(
        phases: &Phases,
        rows: Vec<usize>,
        timeline: impl Fn(usize) -> K,
        lies_in: impl Fn(usize, usize) -> bool,
    ) -> Self {
        let mut open: HashMap<K, Vec<usize>> = HashMap::new();
        let mut parents = Vec::with_capacity(rows.len());
        for (place, &row) in rows.iter().enumerate() {
            let stack = open.entry(timeline(row)).or_default();
            let start = phases.ts_ns[row];
            stack.retain(|&outer| span(phases, rows[outer]).1 > start);
            keep_last(stack);
            parents.push(stack.iter().rev().copied().find(|&outer| lies_in(rows[outer], row)));
            stack.push(place);
        }
        Forest { rows, parents }
    }

    fn adopt(&mut self, phases: &Phases, work: &OwnWork) {
        let mut active: Vec<usize> = Vec::new();
        for place in 0..self.rows.len() {
            let row = self.rows[place];
            let (start, end) = span(phases, row);
            active.retain(|&outer| span(phases, self.rows[outer]).1 > start);
            keep_last(&mut active);
            if self.parents[place].is_none() {
                let of_other_thread = active.iter().copied().filter(|&outer| {
                    let outer = self.rows[outer];
                    phases.tid[outer].get() != phases.tid[row].get()
                        && covers(span(phases, outer), (start, end), COVERED)
                });
                let innermost = of_other_thread.min_by_key(|&outer| (phases.dur_ns[self.rows[outer]], outer));
                let both_work = |outer: usize| work.has(phases, self.rows[outer]) && work.has(phases, row);
                self.parents[place] = innermost.filter(|&outer| !both_work(outer));
            }
            active.push(place);
        }
    }
}

fn keep_last(open: &mut Vec<usize>) {
    open.drain(..open.len().saturating_sub(DEEPEST));
}

/// What threads did themselves: calls that launch; where a trace has none, operators.
struct OwnWork {
    times: Vec<(i64, i64)>,
}

impl OwnWork {
    fn new(tables: &RankTables) -> Self {
        let (api, ops) = (&tables.api, &tables.ops);
        let calls = (0..api.len()).filter(|&i| api_kind::launches(api.kind[i]));
        let mut times: Vec<(i64, i64)> = calls.map(|i| (api.tid[i], api.ts_ns[i])).collect();
        if times.is_empty() {
            times = (0..ops.len()).map(|i| (ops.tid[i], ops.ts_ns[i])).collect();
        }
        times.sort_unstable();
        OwnWork { times }
    }

    fn has(&self, phases: &Phases, row: usize) -> bool {
        let Some(tid) = phases.tid[row].get() else { return false };
        let (start, end) = span(phases, row);
        let first = self.times.partition_point(|time| *time < (tid, start));
        self.times.get(first).is_some_and(|time| time.0 == tid && time.1 < end)
    }
}

pub(super) fn without_numbers(names: &rooflens_schema::Names, id: NameId) -> String {
    names.get(id).chars().filter(|character| !character.is_ascii_digit()).collect()
}
