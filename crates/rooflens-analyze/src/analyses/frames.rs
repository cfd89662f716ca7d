//! Which Python functions take the host time?

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use rooflens_schema::RankTables;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::by_name::ByName;
use crate::facts::launches_work;
use crate::finding::{Analysis, Finding, FindingType, Findings, Fold};
use crate::interval::{rows_of, runs};

/// Python functions by self time, most first; at most 100.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Frames(pub Vec<FrameStat>);

/// All calls of one function.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct FrameStat {
    /// `file.py(line): function`, or the module's name.
    pub name: String,
    /// Calls.
    pub count: usize,
    /// Sum of durations, callees included. Recursive calls count each time.
    pub total_ns: i64,
    /// Sum of durations without Python callees and without operators.
    pub self_ns: i64,
    /// The part of `self_ns` on threads that launch work for a device, or, where none does, on threads
    /// that call operators: time that can hold up the model.
    pub working_self_ns: i64,
}

pub(super) const ANALYSIS: Analysis = Analysis {
    name: "frames",
    question: "Which Python functions take the host time?",
    needs: "Python frames",
    is_special: false,
    finding: FindingType::list::<Frames>(),
    start: || Box::new(State::default()),
    explain: "\
Python functions by name without addresses, summed over ranks and threads, sorted by self time, at most 100.

- `count`: calls.
- `total_ns`: sum of durations, ns, callees included. Recursive calls count each time.
- `self_ns`: total_ns less the Python functions called directly and less the framework operators
  directly inside: time in the interpreter, in runtime calls and in waiting, ns.
- `working_self_ns`: the part of self_ns on threads that launch work for a device, or, where none
  does, that call operators, ns: without the threads that only wait.
",
};

#[derive(Default)]
struct State {
    functions: ByName<Sum>,
}

#[derive(Clone, Copy, Default)]
struct Sum {
    count: usize,
    total_ns: i64,
    self_ns: i64,
    working_self_ns: i64,
}

/// How many functions are listed.
const FUNCTIONS: usize = 100;

impl Fold for State {
    fn rank(&mut self, tables: &RankTables) {
        if tables.frames.is_empty() {
            return;
        }
        let working = working_threads(tables);
        let mut sums = vec![Sum::default(); tables.names.len()];
        let mut others = sums.clone();
        let frames = &tables.frames;
        for (tid, rows) in runs(&frames.tid) {
            let sums = if working.contains(&tid) { &mut sums } else { &mut others };
            sweep(tables, rows, rows_of(&tables.ops.tid, tid), sums);
        }
        for (((_, name), sum), other) in tables.names.iter().zip(&sums).zip(&others) {
            if sum.count + other.count > 0 {
                let function = self.functions.named(&without_address(name));
                function.count += sum.count + other.count;
                function.total_ns = function.total_ns.saturating_add(sum.total_ns + other.total_ns);
                function.self_ns = function.self_ns.saturating_add(sum.self_ns + other.self_ns);
                function.working_self_ns = function.working_self_ns.saturating_add(sum.self_ns);
            }
        }
    }

    fn finish(self: Box<Self>, _earlier: &Findings) -> Option<Box<dyn Finding>> {
        let rows = self.functions.into_rows();
        let mut found: Vec<FrameStat> = rows
            .map(|(name, Sum { count, total_ns, self_ns, working_self_ns })| FrameStat {
                name,
                count,
                total_ns,
                self_ns,
                working_self_ns,
            })
            .collect();
        found.sort_by(|a, b| b.self_ns.cmp(&a.self_ns).then_with(|| a.name.cmp(&b.name)));
        found.truncate(FUNCTIONS);
        (!found.is_empty()).then(|| Box::new(Frames(found)) as Box<dyn Finding>)
    }
}

/// A function's name without the address of the object it belongs to, which is another in every
/// process: `<built-in method acquire of _thread.lock object at 0x7f00>`.
pub(super) fn without_address(name: &str) -> Cow<'_, str> {
    let Some((before, after)) = name.split_once(" at 0x") else { return Cow::Borrowed(name) };
    Cow::Owned(before.to_owned() + after.trim_start_matches(|digit: char| digit.is_ascii_hexdigit()))
}

/// The threads that launch work for a device; where none does, those that call operators.
fn working_threads(tables: &RankTables) -> BTreeSet<i64> {
    let api = &tables.api;
    let launching = (0..api.len()).filter(|&i| launches_work(api.kind[i])).map(|i| api.tid[i]);
    // Runs of one thread are long: what repeats is not inserted again.
    let mut threads = BTreeSet::new();
    let mut last = None;
    for tid in launching {
        if last.replace(tid) != Some(tid) {
            threads.insert(tid);
        }
    }
    if threads.is_empty() {
        threads.extend(runs(&tables.ops.tid).map(|(tid, _)| tid));
    }
    threads
}

struct Open {
    end: i64,
    frame: Option<usize>,
}

/// One walk over a thread's frames and operators, both in order of nesting: each takes its duration
/// from the frame directly around it.
fn sweep(tables: &RankTables, frame_rows: Range<usize>, op_rows: Range<usize>, sums: &mut [Sum]) {
    let (frames, ops) = (&tables.frames, &tables.ops);
    let (mut frame, mut op) = (frame_rows.start, op_rows.start);
    let mut open: Vec<Open> = Vec::new();
    // An operator behind the last frame may still lie inside an open one.
    while frame < frame_rows.end || (op < op_rows.end && !open.is_empty()) {
        let start_of_frame =
            if frame < frame_rows.end { Some((frames.ts_ns[frame], frames.dur_ns[frame])) } else { None };
        let start_of_op = if op < op_rows.end { Some((ops.ts_ns[op], ops.dur_ns[op])) } else { None };
        // The earlier; of those that start together the longer; of equals the frame is around.
        let is_frame = match (start_of_frame, start_of_op) {
            (Some(frame), Some(op)) => frame.0 < op.0 || (frame.0 == op.0 && frame.1 >= op.1),
            (frame, _) => frame.is_some(),
        };
        let (ts_ns, dur_ns) = if is_frame { start_of_frame } else { start_of_op }.unwrap_or_default();
        let end = ts_ns.saturating_add(dur_ns.max(0));
        while open.last().is_some_and(|call| call.end <= ts_ns) {
            open.pop();
        }
        if let Some(&Open { end: around, frame: Some(name) }) = open.last() {
            // A call that outlasts the one around it takes only what is inside.
            sums[name].self_ns -= end.min(around) - ts_ns;
        }
        let name = is_frame.then(|| frames.name_id[frame].index()).filter(|&name| name < sums.len());
        if let Some(sum) = name.and_then(|name| sums.get_mut(name)) {
            sum.count += 1;
            sum.total_ns = sum.total_ns.saturating_add(dur_ns.max(0));
            sum.self_ns = sum.self_ns.saturating_add(dur_ns.max(0));
        }
        open.push(Open { end, frame: name });
        if is_frame {
            frame += 1;
        } else {
            op += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Sample, findings};

    #[test]
    fn self_time_leaves_out_callees_and_operators() {
        // main [0,100): calls step [10,60) and step [60,90).
        // First step: operator [20,50), in which a Python kernel runs [25,45), which calls an operator [30,40).
        // Second step: an operator [60,70) that starts with it.
        // main self 100 - 50 - 30 = 20; step self (50 - 30) + (30 - 10) = 40; python_op self 20 - 10 = 10.
        // On thread 2 main [0,10) is alone: main self 30 in all, total 110.
        let mut sample = Sample::new(0);
        sample.frame(1, 0, 100, "main").frame(1, 10, 50, "step").frame(1, 25, 20, "python_op");
        sample.frame(1, 60, 30, "step").frame(2, 0, 10, "main");
        sample.op((1, 20, 30), "custom::op", None, (20, 0), None);
        sample.op((1, 30, 10), "aten::add", Some(0), (10, 0), None);
        sample.op((1, 60, 10), "aten::mul", None, (10, 0), None);
        sample.op((1, 95, 50), "aten::late", None, (50, 0), None);
        // The last operator outlasts main by 45: only 5 are main's to lose, so self 25.
        let found = findings(&[sample.tables]);
        let rows: Vec<_> = found
            .get::<Frames>()
            .expect("frames")
            .0
            .iter()
            .map(|row| (row.name.as_str(), row.count, row.total_ns, row.self_ns, row.working_self_ns))
            .collect();
        // Thread 2 calls no operator: its 10 of main do not hold up anything.
        assert_eq!(rows, [("step", 2, 80, 40, 40), ("main", 2, 110, 25, 15), ("python_op", 1, 20, 10, 10)]);
    }

    #[test]
    fn addresses_do_not_tell_functions_apart() {
        let mut sample = Sample::new(0);
        sample.frame(1, 0, 10, "<built-in method acquire of _thread.lock object at 0x7f00>");
        sample.frame(1, 10, 10, "<built-in method acquire of _thread.lock object at 0x7fab>");
        let rows = sample.find::<Frames>().0;
        assert_eq!(rows.len(), 1);
        assert_eq!(
            (rows[0].name.as_str(), rows[0].count),
            ("<built-in method acquire of _thread.lock object>", 2)
        );
    }

    #[test]
    fn recursion_counts_each_call() {
        let mut sample = Sample::new(0);
        sample.frame(1, 0, 100, "f").frame(1, 0, 100, "f").frame(1, 40, 20, "f");
        let found = findings(&[sample.tables]);
        let row = &found.get::<Frames>().expect("frames").0[0];
        assert_eq!((row.count, row.total_ns, row.self_ns), (3, 220, 100));
    }
}
