//! Can this trace be trusted?

use std::borrow::Cow;

use rooflens_schema::tables::ApiKind;
use rooflens_schema::{Note, RankTables, Severity};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::finding::{Analysis, Finding, FindingType, Findings, Fold};
use crate::interval;
use crate::recording;
use crate::sentence::{count, percent, time};
use crate::statistics::share;

/// Can this trace be trusted? One row a check.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Health(pub Vec<HealthCheck>);

/// One check.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct HealthCheck {
    /// Stable word.
    pub name: Cow<'static, str>,
    /// Whether it is as it should be.
    pub ok: bool,
    /// What was counted.
    pub count: i64,
    /// Of how many, where that is known.
    pub of: Option<i64>,
    /// What it means, in a sentence.
    pub message: String,
}

macro_rules! checks {
    ($($name:literal: $about:literal,)+) => {
        /// Every check: its name, and what it counts.
        pub const CHECKS: &[(&str, &str)] = &[$(($name, $about),)+];

        const EXPLAIN: &str = concat!(
            "Each check counts one thing; a check that does not apply to the trace is omitted.\n\n",
            $("- `", $name, "`: ", $about, "\n",)+
        );
    };
}

checks! {
    "data_loss": "records that could not be read, from the notes of the import.",
    "device_activity_missing": "launches in a trace without any device activity.",
    "activities_without_launch": "activities whose launching call is not in the trace.",
    "launches_without_activity": "kernel launches whose correlation id no activity has, except those captured into a graph.",
    "graph_launches_without_activity": "the same for graph launches.",
    "incomplete_graph_launches": "replays of a graph with fewer activities than its largest replay, where
  the trace names graphs.",
    "waits_without_work": "waiting calls (kinds sync and memcpy) of 1 ms or more with any activity running
  for less than a tenth of it; fails where they last 1 % of the span.",
    "starts_before_launch": "activities that start before their launching call: the clocks disagree.",
    "overlaps_on_stream": "activities that start at least 1 us (2 us with a microsecond clock) before an
  earlier one on their stream ends.",
    "impossible_durations": "negative ones, and those above a second that are longer than the time from
  the first to the last start of the rank.",
    "microsecond_clock": "ranks recorded in whole microseconds.",
    "profiler_overhead": "records of the profiler's own work; fails where they cover 5 % of the span.",
    "missing_ranks": "ranks that the job claims and that were not read, where more than one was.",
}

pub(super) const ANALYSIS: Analysis = Analysis {
    name: "health",
    question: "Can this trace be trusted?",
    needs: "records",
    is_special: false,
    finding: FindingType::list::<Health>(),
    start: || Box::new(State::default()),
    explain: EXPLAIN,
};

#[derive(Default)]
struct State {
    ranks: usize,
    world_size: i32,
    microsecond_ranks: usize,
    activities: usize,
    traced_activities: usize,
    without_launch: usize,
    launched_before_ns: i64,
    before_launch: usize,
    launches: usize,
    launches_without_activity: usize,
    graph_launches: usize,
    graph_launches_without_activity: usize,
    replays_of_named_graphs: usize,
    incomplete_replays: usize,
    waits: usize,
    waits_without_work: usize,
    waits_without_work_ns: i64,
    overlaps: usize,
    durations: usize,
    impossible: usize,
    overhead_records: usize,
    overhead_ns: i64,
    span_ns: i64,
}

/// Such waits disturb from this share of the span on.
const UNRECORDED_SHARE: f64 = 0.01;
/// Activities of one stream that overlap by this much overlap: 1 µs.
const OVERLAP_NS: i64 = 1_000;
/// With a microsecond clock rounding alone gives 1 µs.
const OVERLAP_OF_ROUNDED_NS: i64 = 2_000;
/// A duration above this is looked at: 1 s.
const LONG_NS: i64 = 1_000_000_000;
/// The profiler's own work disturbs from this share of the span on.
const OVERHEAD_SHARE: f64 = 0.05;

impl Fold for State {
    fn rank(&mut self, tables: &RankTables) {
        let meta = &tables.meta;
        self.ranks += 1;
        self.world_size = self.world_size.max(meta.world_size.unwrap_or(0));
        self.microsecond_ranks += usize::from(meta.microsecond_clock);
        self.span_ns = self.span_ns.saturating_add(interval::length((meta.first_ns, meta.last_ns)));
        self.activities += tables.kernels.len();
        self.check_launches(tables);
        self.check_graphs(tables);
        self.check_waits(tables);
        self.check_streams(tables);
        self.check_durations(tables);
        self.check_overhead(tables);
    }

    fn finish(self: Box<Self>, earlier: &Findings) -> Option<Box<dyn Finding>> {
        (self.ranks > 0).then(|| Box::new(Health(self.checks(&earlier.notes))) as Box<dyn Finding>)
    }
}

impl State {
    fn check_launches(&mut self, tables: &RankTables) {
        let (kernels, api) = (&tables.kernels, &tables.api);
        if api.kind.iter().any(|kind| matches!(kind, ApiKind::Launch | ApiKind::GraphLaunch)) {
            self.traced_activities += kernels.len();
            let delays = &kernels.launch_delay_ns;
            self.without_launch += delays.iter().filter(|delay| !delay.is_some()).count();
            self.launched_before_ns = self.launched_before_ns.saturating_add(launched_before_ns(tables));
            self.before_launch +=
                delays.iter().filter_map(|delay| delay.get()).filter(|delay| *delay < 0).count();
        }
        let captured = recording::captured(tables);
        let ids = |wanted: ApiKind| {
            let rows = (0..api.len()).filter(|&i| api.kind[i] == wanted);
            let rows = rows.filter(|i| !captured.iter().any(|range| range.contains(i)));
            sorted(rows.filter_map(|i| api.corr_id[i].get()))
        };
        let seen = sorted(kernels.corr_id.iter().filter_map(|corr| corr.get()));
        let (launches, graph_launches) = (ids(ApiKind::Launch), ids(ApiKind::GraphLaunch));
        self.launches += launches.len();
        self.graph_launches += graph_launches.len();
        if !kernels.is_empty() {
            self.launches_without_activity += not_in(&launches, &seen);
            self.graph_launches_without_activity += not_in(&graph_launches, &seen);
        }
    }

    fn check_graphs(&mut self, tables: &RankTables) {
        let kernels = &tables.kernels;
        let named = kernels.graph_id.iter().zip(&kernels.corr_id);
        let mut activities: Vec<(i64, i64)> =
            named.filter_map(|(graph, corr)| Some((graph.get()?, corr.get()?))).collect();
        activities.sort_unstable();
        for graph in activities.chunk_by(|a, b| a.0 == b.0) {
            let replays: Vec<usize> = graph.chunk_by(|a, b| a.1 == b.1).map(<[_]>::len).collect();
            let whole = replays.iter().max().copied().unwrap_or_default();
            self.replays_of_named_graphs += replays.len();
            self.incomplete_replays += replays.iter().filter(|&&replay| replay < whole).count();
        }
    }

    fn check_waits(&mut self, tables: &RankTables) {
        let found = recording::waits(tables);
        self.waits += found.long;
        self.waits_without_work += found.unrecorded.len();
        for wait in found.unrecorded {
            self.waits_without_work_ns = self.waits_without_work_ns.saturating_add(interval::length(wait));
        }
    }

    fn check_streams(&mut self, tables: &RankTables) {
        let kernels = &tables.kernels;
        let least = if tables.meta.microsecond_clock { OVERLAP_OF_ROUNDED_NS } else { OVERLAP_NS };
        let mut stream = None;
        let mut reached = i64::MIN;
        for i in 0..kernels.len() {
            if stream != Some((kernels.device[i], kernels.stream[i])) {
                stream = Some((kernels.device[i], kernels.stream[i]));
                reached = i64::MIN;
            }
            let (start, end) = interval::span(kernels.ts_ns[i], kernels.dur_ns[i]);
            self.overlaps += usize::from(reached.saturating_sub(start) >= least);
            reached = reached.max(end);
        }
    }

    fn check_durations(&mut self, tables: &RankTables) {
        let (kernels, ops, api) = (&tables.kernels, &tables.ops, &tables.api);
        let starts = [&kernels.ts_ns, &ops.ts_ns, &api.ts_ns];
        let first = starts.iter().filter_map(|starts| starts.iter().min()).min();
        let last = starts.iter().filter_map(|starts| starts.iter().max()).max();
        let (Some(&first), Some(&last)) = (first, last) else { return };
        let limit = interval::length((first, last)).max(LONG_NS);
        for durations in [&kernels.dur_ns, &ops.dur_ns, &api.dur_ns] {
            self.durations += durations.len();
            self.impossible += durations.iter().filter(|dur_ns| !(0..=limit).contains(*dur_ns)).count();
        }
    }

    fn check_overhead(&mut self, tables: &RankTables) {
        self.overhead_records += tables.api.kind.iter().filter(|kind| **kind == ApiKind::Overhead).count();
        let covered = interval::total_length(&recording::profiler_work(tables));
        self.overhead_ns = self.overhead_ns.saturating_add(covered);
    }

    fn checks(&self, notes: &[Note]) -> Vec<HealthCheck> {
        let lost =
            notes.iter().filter(|note| note.severity == Severity::DataLoss).map(|note| note.count).sum();
        let all_launches = self.launches + self.graph_launches;
        let before = match self.launched_before_ns {
            0 => String::new(),
            ns => {
                format!(
                    " The first {} were launched before the recording and belong to no step.",
                    time(ns as f64)
                )
            }
        };
        let if_active = |launches: usize| if self.activities > 0 { launches } else { 0 };
        let overhead = share(self.overhead_ns, self.span_ns);
        let missing = i64::from(self.world_size) - self.ranks as i64;
        let checks = [
            Some(check(
                "data_loss",
                lost,
                None,
                "Everything in the files was read.",
                "{n} problems lost data during import: see the notes.",
            )),
            (self.activities == 0 && all_launches > 0).then(|| {
                let otherwise = "The host made {n} launches and no device activity was recorded.";
                check("device_activity_missing", all_launches as i64, None, "", otherwise)
            }),
            among(
                "activities_without_launch",
                (self.without_launch, self.traced_activities),
                "Every activity has its launching call.",
                &format!(
                    "{{n}} of {{of}} activities have no launching call in the trace: their operator and the cause of \
                     their gaps are unknown.{before}"
                ),
            ),
            among(
                "starts_before_launch",
                (self.before_launch, self.traced_activities),
                "No activity starts before its launching call.",
                "{n} of {of} activities start before their launching call: the clocks of host and device \
                 disagree, and causes of gaps may be wrong.",
            ),
            among(
                "launches_without_activity",
                (self.launches_without_activity, if_active(self.launches)),
                "Every kernel launch has its activity.",
                "{n} of {of} kernel launches have no activity: still running when the trace ended, or dropped by \
                 the profiler, and then device time is missing.",
            ),
            among(
                "graph_launches_without_activity",
                (self.graph_launches_without_activity, if_active(self.graph_launches)),
                "Every graph launch has activities.",
                "{n} of {of} graph launches have no activity: device time is missing.",
            ),
            among(
                "incomplete_graph_launches",
                (self.incomplete_replays, self.replays_of_named_graphs),
                "Every replay of a graph has the same number of activities.",
                "{n} of {of} graph replays have fewer activities than the largest replay of their graph: device \
                 time may be missing.",
            ),
            among(
                "waits_without_work",
                (self.waits_without_work, self.waits),
                "Whenever the host waits for long, a device is busy.",
                &format!(
                    "In {{n}} of {{of}} calls that wait for 1 ms or more ({} in total) no recorded activity was \
                     running: the device may have run something that is not in the trace, in which case \
                     idle time is overstated.",
                    time(self.waits_without_work_ns as f64)
                ),
            )
            .map(|check| {
                let ok = share(self.waits_without_work_ns, self.span_ns) < UNRECORDED_SHARE;
                HealthCheck { ok, ..check }
            }),
            among(
                "overlaps_on_stream",
                (self.overlaps, self.activities),
                "Activities of a stream do not overlap.",
                "{n} of {of} activities start before an earlier one on their stream ends: programmatic dependent \
                 launch, several queues shown as one stream, or wrong times. Sums of durations exceed busy time.",
            ),
            among(
                "impossible_durations",
                (self.impossible, self.durations),
                "No duration is negative or longer than the trace.",
                "{n} of {of} durations are negative or longer than the trace: sums and busy time are wrong.",
            ),
            among(
                "microsecond_clock",
                (self.microsecond_ranks, self.ranks),
                "Times were recorded in nanoseconds.",
                "{n} of {of} ranks were recorded in whole microseconds: each short kernel and gap is uncertain by up \
                 to 1 µs.",
            ),
            (self.overhead_records > 0).then(|| HealthCheck {
                name: "profiler_overhead".into(),
                ok: overhead < OVERHEAD_SHARE,
                count: self.overhead_records as i64,
                of: None,
                message: format!("The profiler's own work covers {} of the span.", percent(overhead)),
            }),
            (self.ranks > 1 && self.world_size > 0).then(|| {
                let otherwise = "{n} of {of} ranks were not read: waits between ranks are lower bounds.";
                let of = Some(i64::from(self.world_size));
                check("missing_ranks", missing.max(0), of, "Every rank of the job was read.", otherwise)
            }),
        ];
        let checks: Vec<HealthCheck> = checks.into_iter().flatten().collect();
        debug_assert!(checks.iter().all(|check| CHECKS.iter().any(|(name, _)| *name == check.name)));
        checks
    }
}

/// A check that nothing of a kind is there. In the other message `{n}` is what was found and `{of}` of how many.
fn check(name: &'static str, found: i64, of: Option<i64>, fine: &str, otherwise: &str) -> HealthCheck {
    let message = match found {
        0 => fine.to_owned(),
        _ => otherwise.replace("{n}", &count(found)).replace("{of}", &of.map(count).unwrap_or_default()),
    };
    HealthCheck { name: name.into(), ok: found == 0, count: found, of, message }
}

/// The same, where there is anything of which it could be.
fn among(
    name: &'static str,
    (found, of): (usize, usize),
    fine: &str,
    otherwise: &str,
) -> Option<HealthCheck> {
    (of > 0).then(|| check(name, found as i64, Some(of as i64), fine, otherwise))
}

/// Sorted; the ids of a stream or thread mostly are, so a stable sort has little to do.
fn sorted(ids: impl Iterator<Item = i64>) -> Vec<i64> {
    let mut ids: Vec<i64> = ids.collect();
    ids.sort();
    ids
}

fn launched_before_ns(tables: &RankTables) -> i64 {
    let kernels = &tables.kernels;
    let mut sum = 0i64;
    for (_, rows) in interval::runs(&tables.kernels.device) {
        let first = |is_launched: bool| {
            let own = rows.clone().filter(|&i| kernels.launch_delay_ns[i].is_some() == is_launched);
            own.map(|i| kernels.ts_ns[i]).min()
        };
        if let (Some(unknown), Some(launched)) = (first(false), first(true)) {
            sum = sum.saturating_add(launched.saturating_sub(unknown).max(0));
        }
    }
    sum
}

/// How many of the sorted `ids` are not among the sorted `others`.
fn not_in(ids: &[i64], others: &[i64]) -> usize {
    let mut others = others.iter().peekable();
    let mut missing = 0;
    for id in ids {
        while others.next_if(|other| *other < id).is_some() {}
        missing += usize::from(others.peek() != Some(&id));
    }
    missing
}

#[cfg(test)]
mod tests {
    use rooflens_schema::{Opt, Stage};

    use super::*;
    use crate::analyses::JobAnalyses;
    use crate::sample::{Sample, findings};

    fn failed(found: &Findings) -> Vec<(&str, i64)> {
        let checks = &found.get::<Health>().expect("a rank").0;
        checks.iter().filter(|check| !check.ok).map(|check| (&*check.name, check.count)).collect()
    }

    #[test]
    fn a_sound_trace_passes() {
        let mut sample = Sample::new(0);
        sample.api(1, 0, 5, "cudaLaunchKernel", ApiKind::Launch, Some(1));
        sample.kernel(0, 7, 10, 10, "a", "gemm").launched(1, 10, 0);
        let found = findings(&[sample.tables]);
        assert_eq!(failed(&found), []);
        assert!(
            found
                .get::<Health>()
                .is_some_and(|health| health.0.iter().all(|check| !check.message.is_empty()))
        );
    }

    #[test]
    fn each_check_counts_its_own() {
        let mut sample = Sample::new(0);
        // Launches 1 to 3, of which 2 has no activity; graph launch 4 has one; 5 has none.
        for corr in 1..=3 {
            sample.api(1, corr * 10, 5, "cudaLaunchKernel", ApiKind::Launch, Some(corr));
        }
        sample.api(1, 40, 5, "cudaGraphLaunch", ApiKind::GraphLaunch, Some(4));
        sample.api(1, 50, 5, "cudaGraphLaunch", ApiKind::GraphLaunch, Some(5));
        // The profiler works 1,000 of the span of 10,000.
        sample.api(2, 60, 600, "Buffer Flush", ApiKind::Overhead, None);
        sample.api(2, 500, 560, "Buffer Flush", ApiKind::Overhead, None);
        sample.kernel(0, 7, 100, 2000, "a", "gemm").launched(1, 90, 0);
        // 1,000 before the first ends; launched after its start.
        sample.kernel(0, 7, 1100, 5000, "a", "gemm").launched(3, -5, 0);
        sample.kernel(0, 7, 5500, 1500, "a", "gemm").launched(4, 5460, 0);
        // No launch, and a negative duration.
        sample.kernel(0, 9, 5600, -1, "b", "gemm");
        // Longer than everything and than a second.
        sample.kernel(0, 11, 5700, 2_000_000_000, "c", "gemm").launched(3, 0, 0);
        // Graph 8 is replayed by 20 and 21, once with a node less.
        for (ts, corr) in [(100, 20), (200, 20), (300, 21)] {
            sample.kernel(0, 13, ts, 1, "d", "gemm").launched(corr, 0, 0);
            if let Some(graph) = sample.tables.kernels.graph_id.last_mut() {
                *graph = Opt::some(8);
            }
        }
        sample.tables.meta.last_ns = 10_000;
        sample.tables.meta.world_size = Some(4);
        let mut second = Sample::new(1);
        second.tables.meta.microsecond_clock = true;
        let found = findings(&[sample.tables, second.tables]);
        let expected = [
            ("activities_without_launch", 1),
            ("starts_before_launch", 1),
            ("launches_without_activity", 1),
            ("graph_launches_without_activity", 1),
            ("incomplete_graph_launches", 1),
            ("overlaps_on_stream", 1),
            ("impossible_durations", 2),
            ("microsecond_clock", 1),
            ("profiler_overhead", 2),
            ("missing_ranks", 2),
        ];
        assert_eq!(failed(&found), expected);
    }

    #[test]
    fn captured_launches_are_not_missed_and_waits_see_work() {
        let mut sample = Sample::new(0);
        sample.api(1, 0, 5, "cudaStreamBeginCapture", ApiKind::Other, None);
        sample.api(1, 10, 5, "cudaLaunchKernel", ApiKind::Launch, Some(1));
        sample.api(1, 20, 5, "cudaStreamEndCapture", ApiKind::Other, None);
        sample.api(1, 30, 5, "cudaLaunchKernel", ApiKind::Launch, Some(2));
        // The device works in the first wait of 2 ms and not in the second; 0.9 ms is not looked at.
        sample.api(1, 40, 2_000_000, "cudaStreamSynchronize", ApiKind::Sync, None);
        sample.api(1, 3_000_000, 2_000_000, "cudaMemcpyAsync", ApiKind::Memcpy, None);
        sample.api(1, 6_000_000, 900_000, "cudaStreamSynchronize", ApiKind::Sync, None);
        sample.kernel(0, 7, 50, 1_500_000, "a", "gemm").launched(2, 20, 0);
        assert_eq!(failed(&findings(&[sample.tables])), [("waits_without_work", 1)]);
    }

    #[test]
    fn lost_data_and_lost_devices_are_told() {
        let mut sample = Sample::new(0);
        sample.api(1, 0, 5, "cudaLaunchKernel", ApiKind::Launch, Some(1));
        let mut job = JobAnalyses::default();
        job.rank(&sample.tables);
        let note = Note {
            stage: Stage::Ingest,
            severity: Severity::DataLoss,
            code: "truncated".to_owned(),
            source: "a.json".to_owned(),
            count: 3,
            message: String::new(),
        };
        assert_eq!(failed(&job.finish(vec![note])), [("data_loss", 3), ("device_activity_missing", 1)]);
    }
}
