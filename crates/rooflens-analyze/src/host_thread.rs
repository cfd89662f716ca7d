//! What a host thread was in during an interval.

use std::cmp::Reverse;
use std::collections::HashMap;

use rooflens_schema::{NameId, RankTables};

use crate::interval::{Interval, length, span};

/// A call on the thread that touches the interval.
struct Call {
    start: i64,
    end: i64,
    /// Of calls with the same times, the inner has the higher: frames, operators, runtime calls.
    level: u8,
    name: NameId,
}

/// The operator, runtime call or Python frame in which the thread spent most of the interval, the
/// time of calls inside it not counted; `None` where it was in none.
///
/// A few binary searches and a walk over the calls inside the interval: for examples, not for rows.
pub(crate) fn busiest(tables: &RankTables, tid: i64, during: Interval) -> Option<NameId> {
    let (frames, ops, api) = (&tables.frames, &tables.ops, &tables.api);
    let mut calls = Vec::new();
    let columns = Columns { tid: &frames.tid, ts: &frames.ts_ns, dur: &frames.dur_ns, name: &frames.name_id };
    columns.touching(tid, during, 0, |_, _| false, &mut calls);
    let columns = Columns { tid: &ops.tid, ts: &ops.ts_ns, dur: &ops.dur_ns, name: &ops.name_id };
    // Nothing before an outermost operator reaches past its start.
    columns.touching(tid, during, 1, |row, _| ops.depth[row] == 0, &mut calls);
    let columns = Columns { tid: &api.tid, ts: &api.ts_ns, dur: &api.dur_ns, name: &api.name_id };
    columns.touching(tid, during, 2, |_, steps| steps > API_NESTING, &mut calls);
    calls.sort_by_key(|call| (call.start, Reverse(call.end), call.level));

    let self_times = self_times(&calls, during);
    let most = self_times.into_iter().max_by_key(|&(name, ns)| (ns, Reverse(tables.names.get(name))));
    most.filter(|&(_, ns)| ns > 0).map(|(name, _)| name)
}

/// Runtime calls hardly nest (a driver call inside a runtime call): looking this far back finds all
/// that reach into an interval.
const API_NESTING: usize = 16;

/// The columns that frames, operators and runtime calls have in common, sorted by thread and start.
struct Columns<'a> {
    tid: &'a [i64],
    ts: &'a [i64],
    dur: &'a [i64],
    name: &'a [NameId],
}

impl Columns<'_> {
    /// Adds the rows on the thread that touch the interval. Looking back from it, `stop` says when no
    /// earlier row can reach into it, by row and rows looked at.
    fn touching(
        &self,
        tid: i64,
        during: Interval,
        level: u8,
        stop: impl Fn(usize, usize) -> bool,
        calls: &mut Vec<Call>,
    ) {
        let from = self.tid.partition_point(|&other| other < tid);
        let to = from + self.tid[from..].partition_point(|&other| other == tid);
        let first = from + self.ts[from..to].partition_point(|&ts| ts < during.0);
        let end = from + self.ts[from..to].partition_point(|&ts| ts < during.1);
        let mut add = |row: usize| {
            let (start, end) = span(self.ts[row], self.dur[row]);
            calls.push(Call { start, end, level, name: self.name[row] });
            end
        };
        for row in first..end {
            add(row);
        }
        for (steps, row) in (from..first).rev().enumerate() {
            let reaches = span(self.ts[row], self.dur[row]).1;
            if reaches > during.0 {
                add(row);
            }
            // A row around the whole interval hides those around it.
            if reaches >= during.1 || stop(row, steps) {
                break;
            }
        }
    }
}

/// The part of the interval in which each name was innermost.
fn self_times(calls: &[Call], during: Interval) -> HashMap<NameId, i64> {
    let mut sums: HashMap<NameId, i64> = HashMap::new();
    let mut open: Vec<(i64, NameId)> = Vec::new();
    let mut reached = during.0;
    let mut advance = |to: i64, open: &mut Vec<(i64, NameId)>| {
        while let Some(&(end, name)) = open.last() {
            let upto = end.min(to);
            *sums.entry(name).or_default() += length((reached, upto));
            reached = reached.max(upto);
            if end > to {
                break;
            }
            open.pop();
        }
        reached = reached.max(to);
    };
    for call in calls {
        advance(call.start.clamp(during.0, during.1), &mut open);
        open.push((call.end, call.name));
    }
    advance(during.1, &mut open);
    sums
}

#[cfg(test)]
mod tests {
    use rooflens_schema::tables::ApiKind;

    use super::*;
    use crate::sample::Sample;

    fn in_most(sample: &Sample, during: Interval) -> Option<&str> {
        busiest(&sample.tables, 1, during).map(|name| sample.tables.names.get(name))
    }

    #[test]
    fn finds_the_innermost_call_with_the_most_time() {
        // main [0,1000) holds schedule [100,400) and forward [400,900); forward holds aten::mm
        // [500,800), which launches [600,620). Another thread does something else.
        let mut sample = Sample::new(0);
        sample.frame(1, 0, 1000, "main").frame(1, 100, 300, "schedule").frame(1, 400, 500, "forward");
        sample.frame(2, 0, 1000, "other thread");
        sample.op((1, 500, 300), "aten::mm", None, (300, 0), None);
        sample.api(1, 600, 20, "cudaLaunchKernel", ApiKind::Launch, Some(1));
        assert_eq!(in_most(&sample, (150, 350)), Some("schedule"));
        // [450,610): forward 50, aten::mm 100, the launch 10.
        assert_eq!(in_most(&sample, (450, 610)), Some("aten::mm"));
        assert_eq!(in_most(&sample, (602, 618)), Some("cudaLaunchKernel"));
        // [350,460): schedule 50, forward 60.
        assert_eq!(in_most(&sample, (350, 460)), Some("forward"));
        assert_eq!(in_most(&sample, (910, 990)), Some("main"));
        assert_eq!(in_most(&sample, (2000, 3000)), None);
    }
}
