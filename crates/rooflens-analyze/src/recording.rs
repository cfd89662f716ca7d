//! What a recording did to what it recorded: launches that only fill a graph, waits for work that is not in the
//! trace, and the profiler's own calls.

use std::ops::Range;

use rooflens_schema::tables::ApiKind;
use rooflens_schema::{NameId, RankTables};

use crate::interval;
use crate::statistics::share;

/// A call that waits at least this long should see the device at work: 1 ms.
pub(crate) const LONG_WAIT_NS: i64 = 1_000_000;
/// If less than this share of the wait has any activity, it was for something that was not recorded.
const WORK_IN_WAIT: f64 = 0.1;

#[derive(Debug, Default)]
pub(crate) struct Waits {
    pub(crate) long: usize,
    pub(crate) unrecorded: Vec<(i64, i64)>,
}

pub(crate) fn waits(tables: &RankTables) -> Waits {
    let (kernels, api) = (&tables.kernels, &tables.api);
    let waiting = |&i: &usize| matches!(api.kind[i], ApiKind::Sync | ApiKind::Memcpy);
    let long: Vec<usize> =
        (0..api.len()).filter(waiting).filter(|&i| api.dur_ns[i] >= LONG_WAIT_NS).collect();
    if long.is_empty() || kernels.is_empty() {
        return Waits::default();
    }
    let activities = kernels.ts_ns.iter().zip(&kernels.dur_ns);
    let busy = interval::merge(activities.map(|(ts, dur)| interval::span(*ts, *dur)).collect());
    let without_work = |wait: &(i64, i64)| {
        share(interval::overlap_with(&busy, *wait), interval::length(*wait)) < WORK_IN_WAIT
    };
    let found = long.iter().map(|&i| interval::span(api.ts_ns[i], api.dur_ns[i]));
    Waits { long: long.len(), unrecorded: found.filter(without_work).collect() }
}

/// How much of a gap is a wait for work that was not recorded, whose merged intervals are given: none where that is
/// not most of it.
pub(crate) fn unrecorded_within(unrecorded: &[(i64, i64)], gap: (i64, i64)) -> i64 {
    let waited = interval::overlap_with(unrecorded, gap);
    let is_most = interval::length(gap) >= LONG_WAIT_NS && waited * 2 > interval::length(gap);
    if is_most { waited } else { 0 }
}

pub(crate) fn profiler_calls(tables: &RankTables) -> Vec<i64> {
    let is_one = |name: &str| name.contains("ProfilerStart") || name.contains("ProfilerStop");
    let names: Vec<NameId> = tables.names.iter().filter(|(_, name)| is_one(name)).map(|(id, _)| id).collect();
    if names.is_empty() {
        return Vec::new();
    }
    let api = &tables.api;
    let mut times: Vec<i64> =
        (0..api.len()).filter(|&i| names.contains(&api.name_id[i])).map(|i| api.ts_ns[i]).collect();
    times.sort_unstable();
    times
}

pub(crate) fn profiler_work(tables: &RankTables) -> Vec<(i64, i64)> {
    let api = &tables.api;
    let rows = (0..api.len()).filter(|&i| api.kind[i] == ApiKind::Overhead);
    interval::merge(rows.map(|i| interval::span(api.ts_ns[i], api.dur_ns[i])).collect())
}

/// The rows of `api` between the start and the end of capturing a graph on their thread: what is
/// launched there runs only when the graph is.
pub(crate) fn captured(tables: &RankTables) -> Vec<Range<usize>> {
    let (api, names) = (&tables.api, &tables.names);
    let named = |part: &str| -> Vec<NameId> {
        let runtimes = ["cuda", "hip", "cu"].map(|runtime| format!("{runtime}{part}"));
        let is_one = |name: &str| runtimes.iter().any(|start| name.starts_with(start));
        names.iter().filter(|(_, name)| is_one(name)).map(|(id, _)| id).collect()
    };
    let begin = named("StreamBeginCapture");
    if begin.is_empty() {
        return Vec::new();
    }
    let end = named("StreamEndCapture");
    let mut ranges = Vec::new();
    let mut open: Option<usize> = None;
    for i in 0..api.len() {
        if i > 0 && api.tid[i] != api.tid[i - 1] {
            ranges.extend(open.take().map(|from| from..i));
        }
        if begin.contains(&api.name_id[i]) {
            open.get_or_insert(i);
        } else if end.contains(&api.name_id[i]) {
            ranges.extend(open.take().map(|from| from..i));
        }
    }
    ranges.extend(open.map(|from| from..api.len()));
    ranges
}
