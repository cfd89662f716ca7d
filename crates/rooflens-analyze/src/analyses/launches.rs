//! How is work launched on the device?

use rooflens_schema::tables::{ActivityKind, ApiKind};
use rooflens_schema::{Opt, RankTables};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::analyses::Phases;
use crate::by_name::{ByName, compact_if_many};
use crate::facts::launches_work;
use crate::finding::{Analysis, Finding, FindingType, Findings, Fold};
use crate::recording;
use crate::statistics::{Durations, mean, share};

/// How work gets to the device.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Launches {
    /// Kernel launches.
    pub launches: usize,
    /// Those of them that were captured into a graph: they ran nothing.
    #[serde(default)]
    pub captured_launches: usize,
    /// Graph launches.
    pub graph_launches: usize,
    /// Activities launched by graphs.
    pub graph_activities: usize,
    /// Launching calls in a step, mean; `None` where there are no steps.
    pub per_step: Option<f64>,
    /// Kernels shorter than 10 µs, as a share of all kernels, 0 to 1.
    pub short_kernel_share: f64,
    /// Host time in launching calls.
    pub launch_api_ns: i64,
    /// Host time in calls that wait for the device.
    pub sync_api_ns: i64,
    /// From launch call to start on the device: median; `None` without launches.
    pub delay_p50_ns: Option<i64>,
    /// 99th percentile of the same.
    pub delay_p99_ns: Option<i64>,
    /// Activities queued ahead at launch: mean.
    pub queue_depth_mean: Option<f64>,
    /// Most queued at once.
    pub queue_depth_max: Option<i32>,
    /// Runtime calls by name, most time first.
    pub calls: Vec<ApiStat>,
}

/// From this share of the launches on, a trace is one of a capture.
const MOSTLY_CAPTURED: f64 = 0.5;

impl Launches {
    /// Whether the trace records the capture of a graph rather than work: where what was captured also ran, it is a
    /// trace of replays.
    pub(crate) fn is_capture(&self) -> bool {
        share(self.captured_launches as i64, self.launches as i64) >= MOSTLY_CAPTURED
            && self.graph_activities < self.captured_launches
    }
}

/// All runtime calls of one name.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ApiStat {
    /// Name.
    pub name: String,
    /// What it does.
    pub kind: ApiKind,
    /// Calls.
    pub count: usize,
    /// Host time.
    pub total_ns: i64,
    /// Median.
    pub p50_ns: i64,
    /// Longest.
    pub max_ns: i64,
}

pub(super) const ANALYSIS: Analysis = Analysis {
    name: "launches",
    question: "How is work launched on the device?",
    needs: "runtime calls",
    is_special: false,
    finding: FindingType::object::<Launches>(),
    start: || Box::new(State::default()),
    explain: "\
- `launches`, `graph_launches`: runtime calls of these kinds.
- `captured_launches`: kernel launches between the start and the end of a capture on their thread, which only
  add to a graph.
- `graph_activities`: activities whose correlation id is that of a graph launch, or that name a graph.
- `per_step`: launching calls (launch, graph_launch, memcpy, memset) in a step, mean over the first group
  of `phases`, the steps with the most time.
- `short_kernel_share`: kernels shorter than 10 us / all kernels, 0 to 1.
- `launch_api_ns`: host time in launching calls, ns. Copies may wait for the device inside theirs.
- `sync_api_ns`: host time in calls that wait for the device, ns.
- `delay_p50_ns`, `delay_p99_ns`: from the start of the launching call to the start on the device, ns;
  of a graph launch its first activity. Negative where the clocks of host and device disagree.
- `queue_depth_mean`, `queue_depth_max`: activities launched but not finished at a launch.
- `calls`: runtime calls by name: count, host time, median and longest, ns.
",
};

#[derive(Default)]
struct State {
    found: Launches,
    calls: ByName<Call>,
    kernels: usize,
    short_kernels: usize,
    delays: Durations,
    depth_sum: i64,
    depth_count: usize,
}

#[derive(Default)]
struct Call {
    durations: Durations,
    kind: Option<ApiKind>,
}

/// A kernel shorter than this takes about as long to launch as to run: 10 µs.
pub(super) const SHORT_NS: i64 = 10_000;

impl Fold for State {
    fn rank(&mut self, tables: &RankTables) {
        self.count_calls(tables);
        self.count_activities(tables);
    }

    fn finish(self: Box<Self>, earlier: &Findings) -> Option<Box<dyn Finding>> {
        let mut found = self.found;
        for (name, call) in self.calls.into_rows() {
            let (count, total_ns) = (call.durations.count, call.durations.total_ns);
            let (Some(kind), Some(summary)) = (call.kind, call.durations.summary([50])) else { continue };
            let [p50_ns] = summary.percentiles;
            found.calls.push(ApiStat { name, kind, count, total_ns, p50_ns, max_ns: summary.max });
        }
        if found.calls.is_empty() {
            return None;
        }
        found.calls.sort_by(|a, b| b.total_ns.cmp(&a.total_ns).then_with(|| a.name.cmp(&b.name)));
        let phases = earlier.get::<Phases>();
        found.per_step = phases.and_then(|phases| phases.main_step()).and_then(|step| step.launches);
        found.short_kernel_share = share(self.short_kernels as i64, self.kernels as i64);
        if let Some(delays) = self.delays.summary([50, 99]) {
            found.delay_p50_ns = Some(delays.percentiles[0]);
            found.delay_p99_ns = Some(delays.percentiles[1]);
        }
        found.queue_depth_mean = (self.depth_count > 0).then(|| mean(self.depth_sum, self.depth_count));
        Some(Box::new(found))
    }
}

struct GraphLaunch {
    corr_id: i64,
    delay_ns: Opt<i64>,
    depth: Opt<i32>,
}

impl State {
    fn count_calls(&mut self, tables: &RankTables) {
        let api = &tables.api;
        let mut calls = self.calls.rank(&tables.names);
        let found = &mut self.found;
        for i in 0..api.len() {
            let (kind, dur_ns) = (api.kind[i], api.dur_ns[i]);
            let call = calls.at(api.name_id[i]);
            call.durations.push(dur_ns);
            call.kind.get_or_insert(kind);
            match kind {
                ApiKind::Launch => found.launches += 1,
                ApiKind::GraphLaunch => found.graph_launches += 1,
                _ => {}
            }
            if launches_work(kind) {
                found.launch_api_ns = found.launch_api_ns.saturating_add(dur_ns);
            } else if kind == ApiKind::Sync {
                found.sync_api_ns = found.sync_api_ns.saturating_add(dur_ns);
            }
        }
        let captured = recording::captured(tables).into_iter().flatten();
        found.captured_launches += captured.filter(|&i| api.kind[i] == ApiKind::Launch).count();
        compact_if_many(self.calls.rows_mut().map(|call| &mut call.durations));
    }

    fn count_activities(&mut self, tables: &RankTables) {
        let kernels = &tables.kernels;
        let mut graphs = graph_launches(tables);
        // Activities of one graph launch follow each other, so the last answer is tried first.
        let mut last: (Opt<i64>, Option<usize>) = (Opt::NONE, None);
        for i in 0..kernels.len() {
            if kernels.kind[i] == ActivityKind::Kernel {
                self.kernels += 1;
                self.short_kernels += usize::from(kernels.dur_ns[i] < SHORT_NS);
            }
            let corr = kernels.corr_id[i];
            if corr != last.0 {
                let at = corr
                    .get()
                    .and_then(|corr| graphs.binary_search_by_key(&corr, |graph| graph.corr_id).ok());
                last = (corr, at);
            }
            let (delay, depth) = (kernels.launch_delay_ns[i], kernels.queue_depth[i]);
            self.found.graph_activities += usize::from(last.1.is_some() || kernels.graph_id[i].is_some());
            match last.1 {
                None => self.launched(delay, depth),
                Some(at) => {
                    let graph = &mut graphs[at];
                    if delay.is_some() && graph.delay_ns.get().is_none_or(|first| delay < Opt::some(first)) {
                        (graph.delay_ns, graph.depth) = (delay, depth);
                    }
                }
            }
        }
        for graph in graphs {
            self.launched(graph.delay_ns, graph.depth);
        }
        compact_if_many(std::iter::once(&mut self.delays));
    }

    fn launched(&mut self, delay: Opt<i64>, depth: Opt<i32>) {
        if let Some(delay_ns) = delay.get() {
            self.delays.push(delay_ns);
        }
        if let Some(depth) = depth.get() {
            self.depth_sum += i64::from(depth);
            self.depth_count += 1;
            self.found.queue_depth_max = self.found.queue_depth_max.max(Some(depth));
        }
    }
}

fn graph_launches(tables: &RankTables) -> Vec<GraphLaunch> {
    let api = &tables.api;
    let rows = (0..api.len()).filter(|&i| api.kind[i] == ApiKind::GraphLaunch);
    let mut graphs: Vec<GraphLaunch> = rows
        .filter_map(|i| api.corr_id[i].get())
        .map(|corr_id| GraphLaunch { corr_id, delay_ns: Opt::NONE, depth: Opt::NONE })
        .collect();
    graphs.sort_unstable_by_key(|graph| graph.corr_id);
    graphs.dedup_by_key(|graph| graph.corr_id);
    graphs
}

#[cfg(test)]
mod tests {
    use rooflens_schema::tables::{PhaseKind, PhaseSource};

    use super::*;
    use crate::sample::Sample;

    #[test]
    fn a_capture_that_is_replayed_is_none() {
        let with = |replayed: usize| {
            let mut sample = Sample::new(0);
            sample.api(1, 0, 1, "cudaStreamBeginCapture", ApiKind::Other, Some(1));
            sample.api(1, 10, 1, "cudaLaunchKernel", ApiKind::Launch, Some(2));
            sample.api(1, 20, 1, "cudaLaunchKernel", ApiKind::Launch, Some(3));
            sample.api(1, 30, 1, "cudaStreamEndCapture", ApiKind::Other, Some(4));
            sample.api(1, 40, 1, "cudaLaunchKernel", ApiKind::Launch, Some(5));
            sample.kernel(0, 7, 50, 5, "a", "gemm").launched(5, 10, 0);
            sample.api(1, 60, 1, "cudaGraphLaunch", ApiKind::GraphLaunch, Some(6));
            for at in 0..replayed {
                sample.kernel(0, 7, 70 + 10 * at as i64, 5, "a", "gemm").launched(6, 10, 0);
            }
            let launches = sample.find::<Launches>();
            (launches.captured_launches, launches.launches, launches.is_capture())
        };
        assert_eq!((with(0), with(2)), ((2, 3, true), (2, 3, false)));
    }

    #[test]
    fn counts_calls_and_what_came_of_them() {
        // Two launches (5, 7 ns), a graph launch (20) that brings three activities, a sync (100).
        let mut sample = Sample::new(0);
        sample.phase(0, 500, "ProfilerStep#1", PhaseKind::Step, PhaseSource::ProfilerStep).work(0, 0, 90);
        sample.phase(0, 200, "step 1", PhaseKind::Decode, PhaseSource::Engine).work(0, 0, 2);
        sample.phase(200, 200, "step 2", PhaseKind::Decode, PhaseSource::Engine).work(0, 0, 3);
        sample.api(1, 0, 5, "cudaLaunchKernel", ApiKind::Launch, Some(1));
        sample.api(1, 10, 7, "cudaLaunchKernel", ApiKind::Launch, Some(2));
        sample.api(1, 20, 20, "cudaGraphLaunch", ApiKind::GraphLaunch, Some(3));
        sample.api(1, 50, 100, "cudaStreamSynchronize", ApiKind::Sync, Some(4));
        sample.kernel(0, 7, 30, 10, "a", "gemm").launched(1, 30, 0);
        sample.kernel(0, 7, 50, 20_000, "b", "gemm").launched(2, 40, 1);
        // Later activities of the graph wait for earlier ones: only the first tells of the launch.
        for (ts, delay) in [(20_100, 20_080), (20_110, 20_090), (20_120, 20_100)] {
            sample.kernel(0, 7, ts, 5, "c", "gemm").launched(3, delay, 2);
        }
        let launches = sample.find::<Launches>();
        assert_eq!((launches.launches, launches.graph_launches, launches.graph_activities), (2, 1, 3));
        assert_eq!((launches.launch_api_ns, launches.sync_api_ns), (32, 100));
        assert_eq!(launches.per_step, Some(2.5)); // the engine's steps, not the profiler's
        assert_eq!(launches.short_kernel_share, 0.8);
        assert_eq!((launches.delay_p50_ns, launches.delay_p99_ns), (Some(40), Some(20_080)));
        assert_eq!((launches.queue_depth_mean, launches.queue_depth_max), (Some(1.0), Some(2)));
        let calls: Vec<_> =
            launches.calls.iter().map(|call| (call.name.as_str(), call.count, call.total_ns)).collect();
        let expected =
            [("cudaStreamSynchronize", 1, 100), ("cudaGraphLaunch", 1, 20), ("cudaLaunchKernel", 2, 12)];
        assert_eq!(calls, expected);
        assert_eq!((launches.calls[2].p50_ns, launches.calls[2].max_ns), (5, 7));
    }
}
