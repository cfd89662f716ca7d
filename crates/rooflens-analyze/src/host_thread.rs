//! What a host thread was in during an interval.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashMap;

use rooflens_schema::tables::{ApiKind, PhaseKind, PhaseSource};
use rooflens_schema::{NameId, RankTables};

use crate::host_kind::{self, HostKind};
use crate::interval::{Interval, length, span, union_length};

/// What covers an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cover {
    /// The operator, range, call or frame; `None` where nothing was recorded.
    pub name: Option<NameId>,
    /// What it does.
    pub kind: HostKind,
    /// How much of the interval it covers; for [`HostKind::NothingRecorded`] what any call covers.
    pub covered_ns: i64,
}

/// Everything that was recorded on the host threads of a rank, for questions about many intervals.
pub(crate) struct HostThreads<'a> {
    tables: &'a RankTables,
    layers: [Spans<'a>; 4],
    /// The profiler's work that has no thread.
    overhead: Spans<'a>,
    /// By layer and name, once asked.
    kinds: [Vec<Option<HostKind>>; 4],
}

/// What a layer of spans holds; of spans with the same times, the later is the inner one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Layer {
    Annotations,
    Frames,
    Operators,
    Calls,
}

/// A span at some moment.
#[derive(Debug, Clone, Copy)]
struct Open {
    layer: Layer,
    row: usize,
    interval: Interval,
    name: NameId,
}

/// Threads that the profiler invents for its own work in Kineto's traces.
const NO_THREAD: i64 = 0;
/// Longest chain of spans that is looked through: deeper stacks are not recorded.
const DEPTH: usize = 1_000;

impl<'a> HostThreads<'a> {
    /// Links every span to the one around it: one sweep.
    pub(crate) fn new(tables: &'a RankTables) -> Self {
        let (frames, ops, api) = (&tables.frames, &tables.ops, &tables.api);
        let (annotations, overhead) = (annotations(tables), overhead(tables));
        HostThreads {
            tables,
            layers: [
                annotations,
                Spans::borrowed(&frames.tid, &frames.ts_ns, &frames.dur_ns, &frames.name_id),
                Spans::borrowed(&ops.tid, &ops.ts_ns, &ops.dur_ns, &ops.name_id),
                Spans::borrowed(&api.tid, &api.ts_ns, &api.dur_ns, &api.name_id),
            ],
            overhead,
            kinds: std::array::from_fn(|_| vec![None; tables.names.len()]),
        }
    }

    /// The most specific thing that covers at least half of the interval on the thread: one span, or else calls of
    /// one name together. `many_calls` where only different calls do so together.
    pub(crate) fn covering(&mut self, tid: i64, during: Interval) -> Cover {
        let half = length(during).saturating_add(1) / 2;
        let covers = |open: &Open| overlap(open.interval, during) >= half.max(1);
        // Whatever covers half of an interval covers its middle.
        let middle = during.0.saturating_add(length(during) / 2);
        let open: Vec<Open> = self.open_at(tid, middle).into_iter().filter(covers).collect();
        let innermost = open
            .iter()
            .map(|open| (open, self.kind(open)))
            .max_by_key(|(open, kind)| (kind.is_specific(), inner_last(open)));
        match innermost {
            Some((open, kind)) => {
                Cover { name: Some(open.name), kind, covered_ns: overlap(open.interval, during) }
            }
            None => self.calls_covering(tid, during, half),
        }
    }

    /// The call that waited for the device on the thread at a moment.
    pub(crate) fn waiting_at(&self, tid: i64, moment: i64) -> Option<NameId> {
        let api = &self.tables.api;
        let waits = |row: usize| matches!(api.kind[row], ApiKind::Sync | ApiKind::Memcpy);
        let calls = &self.layers[Layer::Calls as usize];
        calls.open_at(tid, moment).find(|&row| waits(row)).map(|row| calls.name[row])
    }

    /// Where no span covers half: what calls of one name cover together, those inside counted apart.
    fn calls_covering(&mut self, tid: i64, during: Interval, half: i64) -> Cover {
        let mut calls: Vec<Open> = self.open_at(tid, during.0);
        for layer in [Layer::Annotations, Layer::Frames, Layer::Operators, Layer::Calls] {
            calls.extend(self.layers[layer as usize].inside(tid, during).map(|row| self.span(layer, row)));
        }
        calls.sort_by_key(inner_last);
        let clipped = |open: &Open| (open.interval.0.max(during.0), open.interval.1.min(during.1));
        let recorded = union_length(calls.iter().map(clipped).filter(|(start, end)| start < end));
        let most = self_times(&calls, during)
            .into_iter()
            .max_by_key(|&((layer, name), ns)| (ns, layer, Reverse(self.tables.names.get(name))));
        match most {
            Some(((layer, name), ns)) if ns >= half.max(1) => {
                let one = calls.iter().find(|open| (open.layer, open.name) == (layer, name));
                let kind = one.map_or(HostKind::ManyCalls, |open| self.kind(open));
                Cover { name: Some(name), kind, covered_ns: ns }
            }
            Some(((_, name), _)) if recorded >= half.max(1) => {
                Cover { name: Some(name), kind: HostKind::ManyCalls, covered_ns: recorded }
            }
            _ => Cover { name: None, kind: HostKind::NothingRecorded, covered_ns: recorded },
        }
    }

    /// Every span of the thread that is open at a moment.
    fn open_at(&self, tid: i64, moment: i64) -> Vec<Open> {
        let layers = [Layer::Annotations, Layer::Frames, Layer::Operators, Layer::Calls];
        let open = layers.into_iter().flat_map(|layer| {
            let rows = self.layers[layer as usize].open_at(tid, moment);
            rows.map(move |row| self.span(layer, row))
        });
        let overhead = self.overhead.open_at(NO_THREAD, moment).map(|row| Open {
            layer: Layer::Calls,
            row: usize::MAX,
            interval: self.overhead.interval(row),
            name: self.overhead.name[row],
        });
        open.chain(overhead).collect()
    }

    fn span(&self, layer: Layer, row: usize) -> Open {
        let spans = &self.layers[layer as usize];
        Open { layer, row, interval: spans.interval(row), name: spans.name[row] }
    }

    fn kind(&mut self, open: &Open) -> HostKind {
        if let Some(kind) = self.kinds[open.layer as usize][open.name.index()] {
            return kind;
        }
        let name = self.tables.names.get(open.name);
        let kind = match open.layer {
            Layer::Calls => {
                // Work of the profiler without a thread has no row.
                let kind = self.tables.api.kind.get(open.row).copied().unwrap_or(ApiKind::Overhead);
                host_kind::of_call(kind, name)
            }
            Layer::Operators => host_kind::of_name(name).unwrap_or(HostKind::Operator),
            Layer::Annotations => host_kind::of_name(name).unwrap_or(HostKind::Annotation),
            Layer::Frames => host_kind::of_frame(name),
        };
        self.kinds[open.layer as usize][open.name.index()] = Some(kind);
        kind
    }
}

/// Ranges that people or frameworks named on a thread. Those that are steps say nothing about what happens in them.
fn annotations(tables: &RankTables) -> Spans<'static> {
    let phases = &tables.phases;
    let mut rows: Vec<(i64, i64, i64, NameId)> = (0..phases.len())
        .filter(|&i| phases.source[i] == PhaseSource::Annotation && phases.kind[i] == PhaseKind::Range)
        .filter_map(|i| Some((phases.tid[i].get()?, phases.ts_ns[i], phases.dur_ns[i], phases.name_id[i])))
        .collect();
    rows.sort_by_key(|row| (row.0, row.1, Reverse(row.2)));
    Spans::owned(rows)
}

/// What the profiler says it did itself, without saying on which thread.
fn overhead(tables: &RankTables) -> Spans<'static> {
    let api = &tables.api;
    let rows = (0..api.len()).filter(|&i| api.kind[i] == ApiKind::Overhead && api.tid[i] == NO_THREAD);
    Spans::owned(rows.map(|i| (NO_THREAD, api.ts_ns[i], api.dur_ns[i], api.name_id[i])).collect())
}

/// Orders spans so that what is inside comes after what is around it.
fn inner_last(open: &Open) -> (i64, Reverse<i64>, Layer) {
    (open.interval.0, Reverse(open.interval.1), open.layer)
}

fn overlap(a: Interval, b: Interval) -> i64 {
    length((a.0.max(b.0), a.1.min(b.1)))
}

/// Spans sorted by thread and start, each with the one that was open when it began.
struct Spans<'a> {
    tid: Cow<'a, [i64]>,
    ts: Cow<'a, [i64]>,
    dur: Cow<'a, [i64]>,
    name: Cow<'a, [NameId]>,
    around: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl<'a> Spans<'a> {
    fn borrowed(tid: &'a [i64], ts: &'a [i64], dur: &'a [i64], name: &'a [NameId]) -> Self {
        Spans {
            tid: tid.into(),
            ts: ts.into(),
            dur: dur.into(),
            name: name.into(),
            around: around(tid, ts, dur),
        }
    }

    fn owned(rows: Vec<(i64, i64, i64, NameId)>) -> Self {
        let tid: Vec<i64> = rows.iter().map(|row| row.0).collect();
        let ts: Vec<i64> = rows.iter().map(|row| row.1).collect();
        let dur: Vec<i64> = rows.iter().map(|row| row.2).collect();
        let name: Vec<NameId> = rows.iter().map(|row| row.3).collect();
        let around = around(&tid, &ts, &dur);
        Spans { tid: tid.into(), ts: ts.into(), dur: dur.into(), name: name.into(), around }
    }

    fn interval(&self, row: usize) -> Interval {
        span(self.ts[row], self.dur[row])
    }

    /// Rows of the thread that are open at a moment, the innermost first.
    fn open_at(&self, tid: i64, moment: i64) -> impl Iterator<Item = usize> {
        let upto = self.begun(tid, moment.saturating_add(1)).1;
        let last = upto.checked_sub(1).filter(|&row| self.tid[row] == tid);
        let chain = std::iter::successors(last, |&row| {
            let around = self.around[row];
            (around != NONE).then_some(around as usize)
        });
        chain.take(DEPTH).filter(move |&row| self.interval(row).1 > moment)
    }

    /// Rows of the thread that begin inside of the interval.
    fn inside(&self, tid: i64, during: Interval) -> std::ops::Range<usize> {
        let (from, to) = (self.begun(tid, during.0.saturating_add(1)).1, self.begun(tid, during.1).1);
        from..to.max(from)
    }

    /// The rows of the thread that began before a moment.
    fn begun(&self, tid: i64, moment: i64) -> (usize, usize) {
        let from = self.tid.partition_point(|&other| other < tid);
        let upto = from + self.tid[from..].partition_point(|&other| other == tid);
        (from, from + self.ts[from..upto].partition_point(|&ts| ts < moment))
    }
}

/// For each row the one that was open when it began: the inner one where several were. Rows that overlap without
/// nesting are all found by following it, besides some that have ended.
fn around(tid: &[i64], ts: &[i64], dur: &[i64]) -> Vec<u32> {
    let mut open: Vec<usize> = Vec::new();
    let mut around = Vec::with_capacity(ts.len());
    for row in 0..ts.len() {
        if row > 0 && tid[row] != tid[row - 1] {
            open.clear();
        }
        while open.last().is_some_and(|&last| span(ts[last], dur[last]).1 <= ts[row]) {
            open.pop();
        }
        around.push(open.last().map_or(NONE, |&last| last as u32));
        open.push(row);
    }
    around
}

/// The part of the interval in which each name was innermost.
fn self_times(
    calls: &[Open],
    during: Interval,
) -> HashMap<(Layer, NameId), i64, foldhash::fast::RandomState> {
    let mut sums: HashMap<(Layer, NameId), i64, foldhash::fast::RandomState> = HashMap::default();
    let mut open: Vec<(i64, (Layer, NameId))> = Vec::new();
    let mut reached = during.0;
    let mut advance = |to: i64, open: &mut Vec<(i64, (Layer, NameId))>| {
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
        advance(call.interval.0.clamp(during.0, during.1), &mut open);
        open.push((call.interval.1, (call.layer, call.name)));
    }
    advance(during.1, &mut open);
    sums
}

#[cfg(test)]
mod tests {
    use rooflens_schema::tables::ApiKind;

    use super::*;
    use crate::sample::{Random, Sample};

    fn cover(sample: &Sample, during: Interval) -> (Option<&str>, HostKind, i64) {
        let cover = HostThreads::new(&sample.tables).covering(1, during);
        (cover.name.map(|name| sample.tables.names.get(name)), cover.kind, cover.covered_ns)
    }

    #[test]
    fn finds_the_most_specific_span_that_covers_half() {
        // main [0,1000) holds schedule [100,400) and forward [400,900); forward holds aten::mm
        // [500,800), which launches [600,620). Another thread does something else.
        let mut sample = Sample::new(0);
        sample.frame(1, 0, 1000, "main").frame(1, 100, 300, "schedule").frame(1, 400, 500, "forward");
        sample.frame(2, 0, 1000, "other thread");
        sample.op((1, 500, 300), "aten::mm", None, (300, 0), None);
        sample.api(1, 600, 20, "cudaLaunchKernel", ApiKind::Launch, Some(1));
        assert_eq!(cover(&sample, (150, 350)), (Some("schedule"), HostKind::Python, 200));
        assert_eq!(cover(&sample, (450, 610)), (Some("aten::mm"), HostKind::Operator, 110));
        assert_eq!(cover(&sample, (602, 618)), (Some("cudaLaunchKernel"), HostKind::RuntimeCall, 16));
        // [350,460): schedule 50, forward 60.
        assert_eq!(cover(&sample, (350, 460)), (Some("forward"), HostKind::Python, 60));
        assert_eq!(cover(&sample, (910, 990)), (Some("main"), HostKind::Python, 80));
        assert_eq!(cover(&sample, (2000, 3000)), (None, HostKind::NothingRecorded, 0));
    }

    #[test]
    fn a_call_that_merely_ends_in_the_gap_is_not_its_cause() {
        let mut sample = Sample::new(0);
        sample.api(1, 0, 110, "cudaMalloc", ApiKind::Memory, None);
        sample.api(1, 990, 20, "cudaLaunchKernel", ApiKind::Launch, Some(1));
        assert_eq!(cover(&sample, (100, 1000)), (None, HostKind::NothingRecorded, 20));
    }

    #[test]
    fn short_calls_of_one_name_cover_together() {
        let mut sample = Sample::new(0);
        for i in 0..10 {
            sample.op((1, i * 10, 6), "aten::slice", None, (6, 0), None);
            sample.op((1, i * 10 + 7, 2), "aten::view", None, (2, 0), None);
        }
        assert_eq!(cover(&sample, (0, 100)), (Some("aten::slice"), HostKind::Operator, 60));
        let mut sample = Sample::new(0);
        for i in 0..10 {
            sample.op((1, i * 10, 4), "aten::slice", None, (4, 0), None);
            sample.op((1, i * 10 + 5, 4), "aten::view", None, (4, 0), None);
        }
        assert_eq!(cover(&sample, (0, 100)).1, HostKind::ManyCalls);
        assert_eq!(cover(&sample, (0, 100)).2, 80);
    }

    #[test]
    fn compilation_that_waits_is_compilation() {
        let mut sample = Sample::new(0);
        sample.frame(1, 0, 1000, "torch/_inductor/compile_fx.py(635): compile_fx_inner");
        sample.frame(1, 10, 980, "threading.py(359): wait");
        let expected = "torch/_inductor/compile_fx.py(635): compile_fx_inner";
        assert_eq!(cover(&sample, (100, 900)), (Some(expected), HostKind::Compilation, 800));
    }

    #[test]
    fn finds_every_open_span_whether_nested_or_not() {
        let mut random = Random(7);
        for _ in 0..500 {
            let mut rows: Vec<(i64, i64, i64, NameId)> = (0..20)
                .map(|_| (random.below(2), random.below(50), random.below(30), NameId::EMPTY))
                .collect();
            rows.sort_by_key(|row| (row.0, row.1, Reverse(row.2)));
            let spans = Spans::owned(rows.clone());
            for moment in 0..80 {
                let mut found: Vec<usize> = spans.open_at(1, moment).collect();
                found.sort_unstable();
                let open =
                    |&i: &usize| rows[i].0 == 1 && rows[i].1 <= moment && moment < rows[i].1 + rows[i].2;
                assert_eq!(found, (0..rows.len()).filter(open).collect::<Vec<_>>());
            }
        }
    }
}
