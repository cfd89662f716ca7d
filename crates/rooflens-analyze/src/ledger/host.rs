//! The host's timeline, for a trace without device activity.

use std::collections::HashMap;

use rooflens_schema::tables::Ops;

use crate::interval;

/// A stretch of the host thread: an operator's own time, or a gap before one.
pub(crate) struct Moment {
    pub(crate) op: usize,
    pub(crate) ns: i64,
    pub(crate) is_gap: bool,
}

pub(crate) fn moments(ops: &Ops) -> Vec<Moment> {
    let mut busy: HashMap<i64, i64> = HashMap::new();
    for i in (0..ops.len()).filter(|&i| ops.depth[i] == 0) {
        let sum = busy.entry(ops.tid[i]).or_default();
        *sum = sum.saturating_add(ops.dur_ns[i]);
    }
    let Some((&thread, _)) = busy.iter().max_by_key(|(tid, ns)| (**ns, std::cmp::Reverse(**tid))) else {
        return Vec::new();
    };
    let rows = interval::rows_of(&ops.tid, thread);
    let mut sweep = Sweep { open: Vec::new(), now: ops.ts_ns[rows.start], found: Vec::new() };
    for i in rows {
        sweep.close_until(ops.ts_ns[i]);
        match sweep.open.last() {
            Some(&(outer, _)) => sweep.pass(outer, ops.ts_ns[i], false),
            None => sweep.pass(i, ops.ts_ns[i], true),
        }
        // An operator that reaches beyond the one around it ends with it: its rest is the next one's.
        let end = interval::span(ops.ts_ns[i], ops.dur_ns[i]).1;
        let end = sweep.open.last().map_or(end, |&(_, outer)| end.min(outer));
        sweep.open.push((i, end));
    }
    sweep.close_until(i64::MAX);
    sweep.found
}

/// Walks along a thread and hands out each moment once.
struct Sweep {
    open: Vec<(usize, i64)>,
    now: i64,
    found: Vec<Moment>,
}

impl Sweep {
    fn pass(&mut self, op: usize, until: i64, is_gap: bool) {
        let ns = until.saturating_sub(self.now);
        if ns > 0 {
            self.found.push(Moment { op, ns, is_gap });
            self.now = until;
        }
    }

    fn close_until(&mut self, until: i64) {
        while let Some(&(op, end)) = self.open.last().filter(|open| open.1 <= until) {
            self.pass(op, end, false);
            self.open.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Sample;

    #[test]
    fn every_moment_has_one_owner() {
        // Thread 1: [0,30) linear around [5,20) mm; a gap; [40,50) add. Thread 2 is less busy.
        let mut sample = Sample::new(0);
        sample.op((1, 0, 30), "aten::linear", None, (15, 0), None);
        sample.op((1, 5, 15), "aten::mm", Some(0), (15, 0), None);
        sample.op((1, 40, 10), "aten::add", None, (10, 0), None);
        sample.op((2, 0, 20), "aten::mul", None, (20, 0), None);
        let found = moments(&sample.tables.ops);
        let rows: Vec<_> = found.iter().map(|moment| (moment.op, moment.ns, moment.is_gap)).collect();
        assert_eq!(rows, [(0, 5, false), (1, 15, false), (0, 10, false), (2, 10, true), (2, 10, false)]);
        assert_eq!(found.iter().map(|moment| moment.ns).sum::<i64>(), 50);
        assert!(moments(&Sample::new(0).tables.ops).is_empty());
    }

    #[test]
    fn an_operator_that_reaches_too_far_is_cut() {
        let mut sample = Sample::new(0);
        sample.op((1, 0, 10), "a", None, (5, 0), None);
        sample.op((1, 5, 10), "b", Some(0), (5, 0), None);
        sample.op((1, 12, 4), "c", None, (4, 0), None);
        let found = moments(&sample.tables.ops);
        let rows: Vec<_> = found.iter().map(|moment| (moment.op, moment.ns, moment.is_gap)).collect();
        assert_eq!(rows, [(0, 5, false), (1, 5, false), (2, 2, true), (2, 4, false)]);
    }
}
