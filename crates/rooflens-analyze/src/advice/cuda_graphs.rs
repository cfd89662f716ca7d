//! Launch a step as one graph.

use crate::advice::{Case, Draft, Range, Rule};
use crate::analyses::Launches;
use crate::ledger::Line;
use crate::sentence::{count, percent, time};

/// The rule.
pub(super) struct CudaGraphs;

/// What a device needs between two kernels of a graph, ns. NVIDIA's "Getting Started with CUDA Graphs"
/// (developer.nvidia.com/blog/cuda-graphs) has 0.5 µs a kernel on a V100; 2 µs leaves room for kernels with
/// many arguments and for older devices.
const REPLAY_NS: (f64, f64) = (500.0, 2_000.0);
/// From this share of activities on, replays are in use already.
const IN_USE: f64 = 0.5;

impl Rule for CudaGraphs {
    fn name(&self) -> &'static str {
        "cuda_graphs"
    }
    fn about(&self) -> &'static str {
        "Idle time in which the host was launching, less 0.5 to 2 us for each activity: what a device needs \
         between two kernels of a graph. Silent where half of the activities come from graphs."
    }
    fn judge(&self, case: &Case<'_>) -> Result<Option<Draft>, String> {
        let idle = case.on(Line::LaunchBound);
        if !case.is_device() || idle <= 0.0 {
            return Ok(None);
        }
        let launches = case.findings.get::<Launches>();
        let phase = case.phase;
        let in_graphs = launches.map_or(0, |found| found.graph_activities);
        let all: usize = case.ledger.phases.iter().map(|phase| phase.activities).sum();
        if in_graphs as f64 >= IN_USE * all.max(1) as f64 {
            return Ok(None);
        }
        let activities = phase.activities as f64;
        let gain = Range::new(idle - activities * REPLAY_NS.1, idle - activities * REPLAY_NS.0);
        let (wall, steps) = (phase.wall_ns as f64, phase.steps.max(1) as f64);
        let busy: f64 =
            phase.lines.iter().filter(|line| !line.line.is_idle()).map(|line| line.ns as f64).sum();
        let each = activities / steps;
        let mut evidence = vec![
            case.row("idle, launch bound", idle),
            format!(
                "{} activities a step for {} of device work, one every {}",
                count(each.round() as i64),
                time(busy / steps),
                time(wall / activities.max(1.0))
            ),
        ];
        evidence.push(format!("busy: {} of the time", percent(busy / wall)));
        Ok(Some(Draft {
            title: format!("Launch each {} as one CUDA graph", case.step_word()),
            gain_ns: gain,
            evidence,
            computed: format!(
                "launch-bound idle time less {} to {} for each of {} activities of a replay",
                time(REPLAY_NS.0),
                time(REPLAY_NS.1),
                count(phase.activities as i64)
            ),
            change: "vLLM: leave out --enforce-eager; SGLang: leave out --disable-cuda-graph; PyTorch: \
                     torch.compile(model, mode=\"reduce-overhead\") with a static cache"
                .to_owned(),
            risk: "Shapes and addresses must not change between replays: pad the batch, allocate the cache once. \
                   Each captured shape takes memory."
                .to_owned(),
        }))
    }
}
