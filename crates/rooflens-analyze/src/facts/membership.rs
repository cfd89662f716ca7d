//! Which phase an operator or activity belongs to, and what each phase did on the device.

use rooflens_schema::tables::{PhaseKind, PhaseSource, Phases};
use rooflens_schema::{Opt, RankTables};

use super::api_kind;
use super::launches::Launches;
use crate::interval;

/// Fills `phase_id` of `ops` and `kernels`, and the device columns of `phases`.
///
/// An operator belongs to the innermost step or phase (not plain range) that was open when it
/// started: on its own thread, or else on any, since work is handed to other threads. An activity
/// belongs to the phase of its launch; without a launch, to the phase it runs in.
pub(super) fn assign(tables: &mut RankTables, launches: &Launches) {
    if tables.phases.is_empty() {
        return;
    }
    let segments = Segments::new(&tables.phases);
    let (ops, kernels, api) = (&mut tables.ops, &mut tables.kernels, &tables.api);
    let mut last = Cached::default();
    for i in 0..ops.len() {
        ops.phase_id[i] = segments.at(ops.tid[i], ops.ts_ns[i], &mut last);
    }
    for i in 0..kernels.len() {
        kernels.phase_id[i] = match launches.of(i) {
            Some(call) if !segments.on_device => segments.at(api.tid[call], api.ts_ns[call], &mut last),
            _ => segments.at(i64::MIN, kernels.ts_ns[i], &mut last),
        };
    }
    measure(tables, launches);
}

/// The innermost phase at each time, as pieces that do not overlap.
struct Segments {
    threads: Vec<(i64, Vec<Segment>)>,
    any: Vec<Segment>,
    /// Whether the phases lie on the device's timeline.
    on_device: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Segment {
    start: i64,
    end: i64,
    phase: i32,
}

/// The piece found last: neighbours ask for the same.
#[derive(Default)]
struct Cached {
    tid: i64,
    segment: Option<Segment>,
}

fn is_step(phases: &Phases, i: usize) -> bool {
    phases.kind[i] != PhaseKind::Range && phases.source[i] != PhaseSource::DeviceAnnotation
}

impl Segments {
    fn new(phases: &Phases) -> Self {
        let steps: Vec<usize> = (0..phases.len()).filter(|&i| is_step(phases, i)).collect();
        let mut tids: Vec<i64> = steps.iter().filter_map(|&i| phases.tid[i].get()).collect();
        tids.sort_unstable();
        tids.dedup();
        let on =
            |tid: i64| flatten(phases, steps.iter().copied().filter(|&i| phases.tid[i].get() == Some(tid)));
        Segments {
            threads: tids.iter().map(|&tid| (tid, on(tid))).collect(),
            any: flatten(phases, steps.iter().copied()),
            on_device: steps.iter().any(|&i| phases.source[i] == PhaseSource::Pattern),
        }
    }

    fn at(&self, tid: i64, now: i64, last: &mut Cached) -> Opt<i32> {
        let holds = |segment: &Segment| segment.start <= now && now < segment.end;
        if let Some(segment) = last.segment.as_ref().filter(|segment| last.tid == tid && holds(segment)) {
            return Opt::some(segment.phase);
        }
        let find = |segments: &[Segment]| {
            let behind = segments.partition_point(|segment| segment.start <= now);
            segments[..behind].last().copied().filter(holds)
        };
        let own = self.threads.iter().find(|thread| thread.0 == tid).and_then(|thread| find(&thread.1));
        let found = own.or_else(|| find(&self.any));
        *last = Cached { tid, segment: found };
        found.map(|segment| segment.phase).into()
    }
}

/// Nested ranges, sorted by start and longest first, to pieces of which each names the innermost.
fn flatten(phases: &Phases, rows: impl Iterator<Item = usize>) -> Vec<Segment> {
    let mut segments: Vec<Segment> = Vec::new();
    let mut open: Vec<(i64, i32)> = Vec::new();
    let mut now = i64::MIN;
    let mut emit = |from: i64, to: i64, phase: i32| {
        if from < to {
            segments.push(Segment { start: from, end: to, phase });
        }
    };
    for i in rows {
        let start = phases.ts_ns[i];
        while let Some(&(end, phase)) = open.last().filter(|open| open.0 <= start) {
            emit(now, end, phase);
            now = now.max(end);
            open.pop();
        }
        if let Some(&(_, phase)) = open.last() {
            emit(now, start, phase);
        }
        now = now.max(start);
        open.push((start.saturating_add(phases.dur_ns[i]), i as i32));
    }
    while let Some((end, phase)) = open.pop() {
        emit(now, end, phase);
        now = now.max(end);
    }
    segments
}

/// Device time, activities and launching calls of each phase.
fn measure(tables: &mut RankTables, launches: &Launches) {
    let (kernels, api, phases) = (&tables.kernels, &tables.api, &mut tables.phases);
    // Activities by when they were launched, and by when they ran.
    let mut launched: Vec<(i64, u32)> =
        (0..kernels.len()).filter_map(|i| Some((api.ts_ns[launches.of(i)?], i as u32))).collect();
    launched.sort_unstable();
    let mut ran: Vec<(i64, u32)> = (0..kernels.len()).map(|i| (kernels.ts_ns[i], i as u32)).collect();
    ran.sort_unstable();
    let mut calls: Vec<(i64, i64)> = (0..api.len())
        .filter(|&row| api_kind::launches(api.kind[row]))
        .map(|row| (api.ts_ns[row], api.tid[row]))
        .collect();
    calls.sort_unstable();
    for p in 0..phases.len() {
        let (start, end) = interval::span(phases.ts_ns[p], phases.dur_ns[p]);
        let on_device = phases.device[p].get();
        let source = if on_device.is_some() || launched.is_empty() { &ran } else { &launched };
        // A plain range only owns what its own thread launched; a step owns all that happens in it.
        let own_thread = (phases.kind[p] == PhaseKind::Range).then(|| phases.tid[p].get()).flatten();
        let mut intervals = Vec::new();
        for &(_, i) in between(source, start, end) {
            let i = i as usize;
            let by_thread = match (own_thread, launches.of(i)) {
                (Some(tid), Some(call)) if on_device.is_none() => api.tid[call] == tid,
                _ => true,
            };
            if by_thread && on_device.is_none_or(|device| kernels.device[i] == device) {
                intervals.push(interval::span(kernels.ts_ns[i], kernels.dur_ns[i]));
            }
        }
        if !api.is_empty() && on_device.is_none() {
            let inside = between(&calls, start, end).iter();
            let count = inside.filter(|call| own_thread.is_none_or(|tid| call.1 == tid)).count();
            phases.launches[p] = Opt::some(count as i64);
        }
        if !kernels.is_empty() {
            phases.activities[p] = Opt::some(intervals.len() as i64);
            phases.device_first_ns[p] = intervals.iter().map(|interval| interval.0).min().into();
            phases.device_last_ns[p] = intervals.iter().map(|interval| interval.1).max().into();
            let busy = interval::total_length(&interval::merge(intervals));
            phases.device_busy_ns[p] = Opt::some(busy);
        }
    }
}

/// The entries with a time in `[start, end)`.
fn between<T: Copy>(sorted: &[(i64, T)], start: i64, end: i64) -> &[(i64, T)] {
    let from = sorted.partition_point(|entry| entry.0 < start);
    let to = sorted.partition_point(|entry| entry.0 < end);
    &sorted[from.min(to)..to]
}
