//! Which step an operator or activity belongs to, and what each step or range did on the device.

use std::collections::BTreeMap;

use rooflens_schema::tables::{Kernels, PhaseKind, Phases};
use rooflens_schema::{Opt, RankTables};

use super::api_kind;
use super::launches::Launches;
use crate::interval;

/// Fills `phase_id` of `ops` and `kernels`, and the device columns of `phases`.
///
/// An operator belongs to the innermost step that was open when it started: on its own thread, or else on any,
/// since work is handed to other threads. An activity belongs to the step of its launch; without a launch, to the
/// step it runs in, unless it runs before everything that was launched: then it is work of before the recording. Steps that are only known on the device have what runs in them.
pub(super) fn assign(tables: &mut RankTables, launches: &Launches) {
    if tables.phases.is_empty() {
        return;
    }
    let segments = Segments::new(&tables.phases);
    let (ops, kernels, api) = (&mut tables.ops, &mut tables.kernels, &tables.api);
    let mut last = Cached::default();
    for i in 0..ops.len() {
        let found = segments.on_host(Some(ops.tid[i]), ops.ts_ns[i], &mut last);
        ops.phase_id[i] = found.or_else(|| segments.on_any_device(ops.ts_ns[i])).into();
    }
    let first_launched = first_launched(kernels, launches);
    for i in 0..kernels.len() {
        let is_earlier =
            || first_launched.get(&kernels.device[i]).is_some_and(|first| kernels.ts_ns[i] < *first);
        let on_device = || segments.on_device(kernels.device[i], kernels.ts_ns[i]);
        kernels.phase_id[i] = match launches.of(i) {
            Some(call) => {
                segments.on_host(Some(api.tid[call]), api.ts_ns[call], &mut last).or_else(on_device)
            }
            None if is_earlier() => on_device(),
            None => on_device().or_else(|| segments.on_host(None, kernels.ts_ns[i], &mut last)),
        }
        .into();
    }
    measure(tables, launches, &segments);
}

fn first_launched(kernels: &Kernels, launches: &Launches) -> BTreeMap<i32, i64> {
    let mut found = BTreeMap::new();
    for i in (0..kernels.len()).filter(|&i| launches.of(i).is_some()) {
        let first = found.entry(kernels.device[i]).or_insert(i64::MAX);
        *first = kernels.ts_ns[i].min(*first);
    }
    found
}

/// The innermost step at each time, as pieces that do not overlap.
struct Segments {
    threads: Vec<(i64, Vec<Segment>)>,
    any_thread: Vec<Segment>,
    devices: Vec<(i32, Vec<Segment>)>,
    any_device: Vec<Segment>,
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
    tid: Option<i64>,
    segment: Option<Segment>,
}

/// A step with the time that all of its names cover.
type Extent = (i64, i64, usize);

impl Segments {
    fn new(phases: &Phases) -> Self {
        let extents = extents(phases);
        let (on_device, on_host): (Vec<Extent>, Vec<Extent>) =
            extents.into_iter().partition(|extent| phases.device[extent.2].is_some());
        let of = |extents: &[Extent], wanted: &dyn Fn(usize) -> bool| {
            flatten(extents.iter().copied().filter(|extent| wanted(extent.2)))
        };
        let mut tids: Vec<i64> = on_host.iter().filter_map(|extent| phases.tid[extent.2].get()).collect();
        tids.sort_unstable();
        tids.dedup();
        let mut devices: Vec<i32> =
            on_device.iter().filter_map(|extent| phases.device[extent.2].get()).collect();
        devices.sort_unstable();
        devices.dedup();
        let thread = |tid: i64| (tid, of(&on_host, &|row| phases.tid[row].get() == Some(tid)));
        let device = |device: i32| (device, of(&on_device, &|row| phases.device[row].get() == Some(device)));
        Segments {
            threads: tids.into_iter().map(thread).collect(),
            any_thread: of(&on_host, &|_| true),
            devices: devices.into_iter().map(device).collect(),
            any_device: of(&on_device, &|_| true),
        }
    }

    fn on_host(&self, tid: Option<i64>, now: i64, last: &mut Cached) -> Option<i32> {
        if let Some(segment) = last.segment.filter(|segment| last.tid == tid && segment.holds(now)) {
            return Some(segment.phase);
        }
        let own = self.threads.iter().find(|thread| Some(thread.0) == tid);
        let found = own.and_then(|thread| find(&thread.1, now)).or_else(|| find(&self.any_thread, now));
        *last = Cached { tid, segment: found };
        found.map(|segment| segment.phase)
    }

    fn on_device(&self, device: i32, now: i64) -> Option<i32> {
        match self.devices.iter().find(|found| found.0 == device) {
            Some((_, own)) => find(own, now).map(|segment| segment.phase),
            None => self.on_any_device(now),
        }
    }

    fn on_any_device(&self, now: i64) -> Option<i32> {
        find(&self.any_device, now).map(|segment| segment.phase)
    }
}

impl Segment {
    fn holds(&self, now: i64) -> bool {
        self.start <= now && now < self.end
    }
}

fn find(segments: &[Segment], now: i64) -> Option<Segment> {
    let behind = segments.partition_point(|segment| segment.start <= now);
    segments[..behind].last().copied().filter(|segment| segment.holds(now))
}

/// Every step, by start: from its first name's beginning to its last name's end, on its own timeline.
fn extents(phases: &Phases) -> Vec<Extent> {
    let mut ends: Vec<Option<i64>> = vec![None; phases.len()];
    for row in 0..phases.len() {
        let Some(step) = phases.step_id[row].get().and_then(|step| usize::try_from(step).ok()) else {
            continue;
        };
        if phases.device[row].is_some() == phases.device[step].is_some() {
            let end = interval::span(phases.ts_ns[row], phases.dur_ns[row]).1;
            ends[step] = ends[step].max(Some(end));
        }
    }
    let steps = ends.into_iter().enumerate();
    steps.filter_map(|(row, end)| Some((phases.ts_ns[row], end?, row))).collect()
}

/// Nested steps, sorted by start and longest first, to pieces of which each names the innermost.
fn flatten(steps: impl Iterator<Item = Extent>) -> Vec<Segment> {
    let mut segments: Vec<Segment> = Vec::new();
    let mut open: Vec<(i64, i32)> = Vec::new();
    let mut now = i64::MIN;
    let mut emit = |from: i64, to: i64, phase: i32| {
        if from < to {
            segments.push(Segment { start: from, end: to, phase });
        }
    };
    for (start, stop, row) in steps {
        while let Some(&(end, phase)) = open.last().filter(|open| open.0 <= start) {
            emit(now, end, phase);
            now = now.max(end);
            open.pop();
        }
        if let Some(&(_, phase)) = open.last() {
            emit(now, start, phase);
        }
        now = now.max(start);
        open.push((stop, row as i32));
    }
    while let Some((end, phase)) = open.pop() {
        emit(now, end, phase);
        now = now.max(end);
    }
    segments
}

/// Device time, activities and launching calls of each phase: of a step those that belong to it and to no step
/// inside it; of any other range those of the time it was open, on its own thread.
fn measure(tables: &mut RankTables, launches: &Launches, segments: &Segments) {
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
    let mut of_steps: Vec<(i32, u32)> =
        (0..kernels.len()).filter_map(|i| Some((kernels.phase_id[i].get()?, i as u32))).collect();
    of_steps.sort_unstable();
    let mut last = Cached::default();
    let mut calls_of_steps: Vec<i64> = vec![0; phases.len()];
    for &(ts, tid) in &calls {
        if let Some(step) = segments.on_host(Some(tid), ts, &mut last) {
            calls_of_steps[step as usize] += 1;
        }
    }
    for p in 0..phases.len() {
        let (start, end) = interval::span(phases.ts_ns[p], phases.dur_ns[p]);
        let on_device = phases.device[p].get();
        let is_step = phases.step_id[p].get() == Some(p as i32);
        let source = if on_device.is_some() || launched.is_empty() { &ran } else { &launched };
        let own_thread = (phases.kind[p] == PhaseKind::Range).then(|| phases.tid[p].get()).flatten();
        let by_thread = |i: usize| match (own_thread, launches.of(i)) {
            (Some(tid), Some(call)) if on_device.is_none() => api.tid[call] == tid,
            _ => true,
        };
        let rows: Vec<usize> = match is_step {
            true => between(&of_steps, p as i32, p as i32 + 1).iter().map(|row| row.1 as usize).collect(),
            false => between(source, start, end)
                .iter()
                .map(|row| row.1 as usize)
                .filter(|&i| by_thread(i) && on_device.is_none_or(|device| kernels.device[i] == device))
                .collect(),
        };
        let intervals: Vec<_> =
            rows.iter().map(|&i| interval::span(kernels.ts_ns[i], kernels.dur_ns[i])).collect();
        if !api.is_empty() && on_device.is_none() {
            let inside = between(&calls, start, end).iter();
            let in_time = || inside.filter(|call| own_thread.is_none_or(|tid| call.1 == tid)).count() as i64;
            phases.launches[p] = Opt::some(if is_step { calls_of_steps[p] } else { in_time() });
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

/// The entries with a time, or an id, in `[start, end)`.
fn between<K: Copy + Ord, T: Copy>(sorted: &[(K, T)], start: K, end: K) -> &[(K, T)] {
    let from = sorted.partition_point(|entry| entry.0 < start);
    let to = sorted.partition_point(|entry| entry.0 < end);
    &sorted[from.min(to)..to]
}
