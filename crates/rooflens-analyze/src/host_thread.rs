//! What a host thread was in during an interval.

use std::borrow::Cow;
use std::cell::Cell;
use std::cmp::Reverse;
use std::ops::Range;

use rooflens_schema::tables::{ApiKind, PhaseKind, PhaseSource};
use rooflens_schema::{NameId, RankTables};

use crate::by_name::FastMap;
use crate::host_kind::{self, HostKind};
use crate::interval::{Interval, length, overlap, partition_near, runs, span, union_length};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cover {
    /// The operator, range, call or frame; `None` where nothing was recorded.
    pub(crate) name: Option<NameId>,
    pub(crate) kind: HostKind,
    /// How much of the interval it covers; for [`HostKind::NothingRecorded`] what any call covers.
    pub(crate) covered_ns: i64,
}

/// Everything that was recorded on the host threads of a rank, for questions about many intervals.
pub(crate) struct HostThreads<'a> {
    tables: &'a RankTables,
    layers: [Spans<'a>; 4],
    overhead: Spans<'a>,
}

/// What a layer of spans holds; of spans with the same times, the later is the inner one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Layer {
    Annotations,
    Frames,
    Operators,
    Calls,
}

impl Layer {
    const ALL: [Layer; 4] = [Layer::Annotations, Layer::Frames, Layer::Operators, Layer::Calls];
}

#[derive(Debug, Clone, Copy)]
struct Open {
    layer: Layer,
    interval: Interval,
    name: NameId,
    kind: HostKind,
}

/// Threads that the profiler invents for its own work in Kineto's traces.
const NO_THREAD: i64 = 0;
/// Longest chain of spans that is looked through: deeper stacks are not recorded.
const DEPTH: usize = 1_000;

impl<'a> HostThreads<'a> {
    /// Links every span to the one around it: one sweep.
    pub(crate) fn new(tables: &'a RankTables) -> Self {
        let (frames, ops, api) = (&tables.frames, &tables.ops, &tables.api);
        let named =
            |name: NameId, other: HostKind| host_kind::of_name(tables.names.get(name)).unwrap_or(other);
        let call = |name: NameId, row: usize| host_kind::of_call(api.kind[row], tables.names.get(name));
        let work = |name: NameId, _| host_kind::of_call(ApiKind::Overhead, tables.names.get(name));
        let names = tables.names.len();
        HostThreads {
            tables,
            layers: [
                annotations(tables).with_kinds(names, |name, _| named(name, HostKind::Annotation)),
                Spans::borrowed(&frames.tid, &frames.ts_ns, &frames.dur_ns, &frames.name_id)
                    .with_kinds(names, |name, _| host_kind::of_frame(tables.names.get(name))),
                Spans::borrowed(&ops.tid, &ops.ts_ns, &ops.dur_ns, &ops.name_id)
                    .with_kinds(names, |name, _| named(name, HostKind::Operator)),
                Spans::borrowed(&api.tid, &api.ts_ns, &api.dur_ns, &api.name_id).with_kinds(names, call),
            ],
            overhead: overhead(tables).with_kinds(names, work),
        }
    }

    /// The most specific thing that covers at least half of the interval on the thread: one span, or else calls of
    /// one name together. `many_calls` where only different calls do so together.
    pub(crate) fn covering(&self, tid: i64, during: Interval) -> Cover {
        let half = length(during).saturating_add(1) / 2;
        let covers = |span: Interval| overlap(span, during) >= half.max(1);
        // Whatever covers half of an interval covers its middle.
        let middle = during.0.saturating_add(length(during) / 2);
        let own = Layer::ALL.into_iter().filter_map(|layer| {
            let spans = &self.layers[layer as usize];
            spans.most_specific(tid, middle, covers).map(|row| spans.open(layer, row))
        });
        let overhead = self.overhead.most_specific(NO_THREAD, middle, covers);
        let overhead = overhead.map(|row| self.overhead.open(Layer::Calls, row));
        match own.chain(overhead).max_by_key(|open| (open.kind.is_specific(), inner_last(open))) {
            Some(Open { name, kind, interval, .. }) => {
                Cover { name: Some(name), kind, covered_ns: overlap(interval, during) }
            }
            None => self.calls_covering(tid, during, half),
        }
    }

    pub(crate) fn waiting_at(&self, tid: i64, moment: i64) -> Option<NameId> {
        let api = &self.tables.api;
        let waits = |row: usize| matches!(api.kind[row], ApiKind::Sync | ApiKind::Memcpy);
        let calls = &self.layers[Layer::Calls as usize];
        calls.open_at(tid, moment).find(|&row| waits(row)).map(|row| calls.name[row])
    }

    fn calls_covering(&self, tid: i64, during: Interval, half: i64) -> Cover {
        let mut calls: Vec<Open> = self.open_at(tid, during.0);
        for layer in Layer::ALL {
            let spans = &self.layers[layer as usize];
            calls.extend(spans.inside(tid, during).map(|row| spans.open(layer, row)));
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
                let kind = one.map_or(HostKind::ManyCalls, |open| open.kind);
                Cover { name: Some(name), kind, covered_ns: ns }
            }
            Some(((_, name), _)) if recorded >= half.max(1) => {
                Cover { name: Some(name), kind: HostKind::ManyCalls, covered_ns: recorded }
            }
            _ => Cover { name: None, kind: HostKind::NothingRecorded, covered_ns: recorded },
        }
    }

    fn open_at(&self, tid: i64, moment: i64) -> Vec<Open> {
        let mut open = Vec::new();
        for layer in Layer::ALL {
            let spans = &self.layers[layer as usize];
            open.extend(spans.open_at(tid, moment).map(|row| spans.open(layer, row)));
        }
        let overhead = self.overhead.open_at(NO_THREAD, moment);
        open.extend(overhead.map(|row| self.overhead.open(Layer::Calls, row)));
        open
    }
}

fn annotations(tables: &RankTables) -> Spans<'static> {
    let phases = &tables.phases;
    let mut rows: Vec<(i64, i64, i64, NameId)> = (0..phases.len())
        .filter(|&i| phases.source[i] == PhaseSource::Annotation && phases.kind[i] == PhaseKind::Range)
        .filter_map(|i| Some((phases.tid[i].get()?, phases.ts_ns[i], phases.dur_ns[i], phases.name_id[i])))
        .collect();
    rows.sort_by_key(|row| (row.0, row.1, Reverse(row.2)));
    Spans::owned(rows)
}

fn overhead(tables: &RankTables) -> Spans<'static> {
    let api = &tables.api;
    let rows = (0..api.len()).filter(|&i| api.kind[i] == ApiKind::Overhead && api.tid[i] == NO_THREAD);
    Spans::owned(rows.map(|i| (NO_THREAD, api.ts_ns[i], api.dur_ns[i], api.name_id[i])).collect())
}

fn inner_last(open: &Open) -> (i64, Reverse<i64>, Layer) {
    (open.interval.0, Reverse(open.interval.1), open.layer)
}

/// Spans sorted by thread and start, each with the one that was open when it began.
struct Spans<'a> {
    ts: Cow<'a, [i64]>,
    dur: Cow<'a, [i64]>,
    name: Cow<'a, [NameId]>,
    around: Vec<u32>,
    specific: Vec<u32>,
    threads: Vec<(i64, Range<usize>)>,
    kinds: Vec<Option<HostKind>>,
    /// Where the last answer was: questions come in order of time.
    asked: Cell<usize>,
}

const NONE: u32 = u32::MAX;

fn index(row: u32) -> Option<usize> {
    (row != NONE).then_some(row as usize)
}

impl<'a> Spans<'a> {
    fn borrowed(tid: &[i64], ts: &'a [i64], dur: &'a [i64], name: &'a [NameId]) -> Self {
        Spans::new(tid, ts.into(), dur.into(), name.into())
    }

    fn owned(rows: Vec<(i64, i64, i64, NameId)>) -> Self {
        let tid: Vec<i64> = rows.iter().map(|row| row.0).collect();
        let ts: Vec<i64> = rows.iter().map(|row| row.1).collect();
        let dur: Vec<i64> = rows.iter().map(|row| row.2).collect();
        let name: Vec<NameId> = rows.iter().map(|row| row.3).collect();
        Spans::new(&tid, ts.into(), dur.into(), name.into())
    }

    fn new(tid: &[i64], ts: Cow<'a, [i64]>, dur: Cow<'a, [i64]>, name: Cow<'a, [NameId]>) -> Self {
        let around = around(tid, &ts, &dur);
        let (specific, kinds) = (Vec::new(), Vec::new());
        Spans { ts, dur, name, around, specific, threads: runs(tid).collect(), kinds, asked: Cell::new(0) }
    }

    fn with_kinds(mut self, names: usize, kind: impl Fn(NameId, usize) -> HostKind) -> Self {
        self.kinds = vec![None; names];
        self.specific = Vec::with_capacity(self.ts.len());
        for (row, (&name, &around)) in self.name.iter().zip(&self.around).enumerate() {
            let kind = *self.kinds[name.index()].get_or_insert_with(|| kind(name, row));
            let outer = index(around).map_or(NONE, |around| self.specific[around]);
            self.specific.push(if kind.is_specific() { row as u32 } else { outer });
        }
        self
    }

    fn interval(&self, row: usize) -> Interval {
        span(self.ts[row], self.dur[row])
    }

    fn open(&self, layer: Layer, row: usize) -> Open {
        let name = self.name[row];
        let kind = self.kinds[name.index()].unwrap_or(HostKind::NothingRecorded);
        Open { layer, interval: self.interval(row), name, kind }
    }

    fn open_at(&self, tid: i64, moment: i64) -> impl Iterator<Item = usize> {
        let last = self.begun(tid, moment.saturating_add(1)).next_back();
        self.outwards(last, Some).filter(move |&row| self.interval(row).1 > moment)
    }

    /// Of the rows of the thread that are open at a moment and cover enough, the innermost: a specific one if there
    /// is any.
    fn most_specific(&self, tid: i64, moment: i64, covers: impl Fn(Interval) -> bool) -> Option<usize> {
        let last = self.begun(tid, moment.saturating_add(1)).next_back();
        let does = |&row: &usize| self.interval(row).1 > moment && covers(self.interval(row));
        let specific = self.outwards(last, |row| index(self.specific[row])).find(does);
        specific.or_else(|| self.outwards(last, Some).find(does))
    }

    /// What `pick` makes of a row, then of the row around that, and so on.
    fn outwards(
        &self,
        from: Option<usize>,
        pick: impl Fn(usize) -> Option<usize>,
    ) -> impl Iterator<Item = usize> {
        let first = from.and_then(&pick);
        std::iter::successors(first, move |&row| index(self.around[row]).and_then(&pick)).take(DEPTH)
    }

    fn inside(&self, tid: i64, during: Interval) -> Range<usize> {
        let (from, to) = (self.begun(tid, during.0.saturating_add(1)).end, self.begun(tid, during.1).end);
        from..to.max(from)
    }

    fn begun(&self, tid: i64, moment: i64) -> Range<usize> {
        let Ok(thread) = self.threads.binary_search_by_key(&tid, |thread| thread.0) else { return 0..0 };
        let rows = self.threads[thread].1.clone();
        let near = self.asked.get().saturating_sub(rows.start);
        let end = rows.start + partition_near(&self.ts[rows.clone()], near, |&ts| ts < moment);
        self.asked.set(end);
        rows.start..end
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
fn self_times(calls: &[Open], during: Interval) -> FastMap<(Layer, NameId), i64> {
    let mut sums: FastMap<(Layer, NameId), i64> = FastMap::default();
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
