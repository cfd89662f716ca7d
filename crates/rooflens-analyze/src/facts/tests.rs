//! Small traces with facts derived by hand.

use rooflens_schema::RankTables;
use rooflens_schema::tables::{ApiKind, GapCause, PhaseKind};

use super::derive;
use crate::sample::Sample;

const US: i64 = 1000;

/// A sample whose times are in microseconds and whose facts are not derived yet.
struct Trace(Sample);

fn trace() -> Trace {
    Trace(Sample::new(0))
}

impl Trace {
    fn op(mut self, name: &str, tid: i64, ts: i64, dur: i64) -> Self {
        self.0.op((tid, ts * US, dur * US), name, None, (dur * US, 0), None);
        self
    }
    fn call(mut self, name: &str, tid: i64, ts: i64, dur: i64, corr: i64) -> Self {
        self.0.api(tid, ts * US, dur * US, name, ApiKind::Other, Some(corr));
        self
    }
    fn kernel(mut self, name: &str, stream: i32, ts: i64, dur: i64, corr: i64) -> Self {
        self.0.kernel(0, stream, ts * US, dur * US, name, "other").corr(corr);
        self
    }
    fn frame(mut self, name: &str, tid: i64, ts: i64, dur: i64) -> Self {
        self.0.frame(tid, ts * US, dur * US, name);
        self
    }
    fn range(mut self, name: &str, tid: i64, ts: i64, dur: i64) -> Self {
        self.0.range(tid, ts * US, dur * US, name);
        self
    }
    fn derive(mut self) -> RankTables {
        derive(&mut self.0.tables);
        self.0.tables
    }
}

#[test]
fn operators_nest_and_keep_what_is_theirs() {
    // outer [0,100) holds a [10,40) which holds b [15,20), and c [50,90); out of order in the file.
    let t = trace()
        .op("c", 1, 50, 40)
        .op("outer", 1, 0, 100)
        .op("b", 1, 15, 5)
        .op("a", 1, 10, 30)
        .op("elsewhere", 2, 20, 10)
        .derive();
    let name = |i: usize| t.names.get(t.ops.name_id[i]).to_owned();
    assert_eq!((0..5).map(name).collect::<Vec<_>>(), ["outer", "a", "b", "c", "elsewhere"]);
    assert_eq!(t.ops.depth, [0, 1, 2, 1, 0]);
    // Self times 30, 25, 5, 40 and 10 µs.
    assert_eq!(t.ops.inside_ns, [70 * US, 5 * US, 0, 0, 0]);
    assert_eq!(
        t.ops.parent_id.iter().map(|p| p.get()).collect::<Vec<_>>(),
        [None, Some(0), Some(1), Some(0), None]
    );
}

#[test]
fn device_time_reaches_the_operators_that_launched_it() {
    let t = trace()
        .op("linear", 1, 0, 100)
        .op("mm", 1, 10, 50)
        .call("cudaLaunchKernel", 1, 20, 5, 7)
        .kernel("gemm", 3, 60, 30, 7)
        .derive();
    assert_eq!(t.kernels.op_id[0].get(), Some(1));
    assert_eq!(t.ops.device_ns, [30 * US, 30 * US]);
    assert_eq!(t.kernels.launch_delay_ns[0].get(), Some(40 * US));
    assert_eq!(t.api.kind, [ApiKind::Launch]);
}

#[test]
fn a_graph_launch_owns_all_its_kernels() {
    let t = trace()
        .op("replay", 1, 0, 50)
        .call("cudaGraphLaunch", 1, 10, 5, 9)
        .kernel("a", 7, 20, 5, 9)
        .kernel("b", 7, 26, 5, 9)
        .derive();
    assert_eq!(t.ops.device_ns, [10 * US]);
    // b was queued with the graph: 1 µs between them is what the device needs.
    assert_eq!(t.kernels.gap_cause, [GapCause::None, GapCause::Dispatch]);
    assert_eq!(t.kernels.queue_depth.iter().map(|d| d.get()).collect::<Vec<_>>(), [Some(0), Some(0)]);
}

#[test]
fn gaps_have_causes() {
    let t = trace()
        // Back to back launches, slower than the device: launch-bound.
        .call("cudaLaunchKernel", 1, 0, 5, 1)
        .kernel("k", 7, 6, 2, 1)
        .call("cudaLaunchKernel", 1, 20, 5, 2)
        .kernel("k", 7, 26, 2, 2)
        // 500 µs without a launch: CPU-bound.
        .call("cudaLaunchKernel", 1, 525, 5, 3)
        .kernel("k", 7, 531, 100, 3)
        // Waits for that kernel, then launches: sync.
        .call("cudaStreamSynchronize", 1, 535, 100, 4)
        .call("cudaLaunchKernel", 1, 640, 5, 5)
        .kernel("k", 7, 646, 50, 5)
        // Queued in time on another stream, starts 40 µs after the first ends: dependency.
        .call("cudaLaunchKernel", 1, 650, 5, 6)
        .kernel("k", 8, 736, 10, 6)
        // Launched at once but started 400 µs later: what it waited for is not in the trace.
        .call("cudaLaunchKernel", 1, 747, 5, 7)
        .kernel("k", 7, 1152, 10, 7)
        // No launch in the trace: unknown.
        .kernel("k", 8, 1200, 10, 99)
        .derive();
    let mut rows: Vec<usize> = (0..t.kernels.len()).collect();
    rows.sort_by_key(|&i| t.kernels.ts_ns[i]);
    let causes: Vec<GapCause> = rows.iter().map(|&i| t.kernels.gap_cause[i]).collect();
    use GapCause::*;
    assert_eq!(causes, [None, LaunchBound, CpuBound, Sync, DataDependency, DataDependency, Unknown]);
    let idle: Vec<i64> = rows.iter().map(|&i| t.kernels.idle_before_ns[i] / US).collect();
    assert_eq!(idle, [0, 18, 503, 15, 40, 406, 38]);
}

#[test]
fn modules_and_layers_come_from_the_stack() {
    let t = trace()
        .frame("nn.Module: Llama_0", 1, 0, 100)
        .frame("nn.Module: LlamaDecoderLayer_3", 1, 10, 50)
        .frame("model.py(10): forward", 1, 11, 45)
        .frame("nn.Module: Linear_7", 1, 20, 20)
        .op("aten::mm", 1, 25, 10)
        .op("aten::add", 1, 70, 10)
        .call("cudaLaunchKernel", 1, 26, 5, 1)
        .kernel("gemm", 7, 40, 5, 1)
        .derive();
    let module = t.names.get(t.kernels.module_id[0].get().unwrap());
    assert_eq!(module, "Llama_0/LlamaDecoderLayer_3/Linear_7");
    assert_eq!(t.kernels.layer[0].get(), Some(3));
    assert_eq!(t.ops.layer.iter().map(|l| l.get()).collect::<Vec<_>>(), [Some(3), None]);
}

#[test]
fn activities_belong_to_the_step_that_launched_them() {
    let t = trace()
        .range("step[DECODE bs=4]", 1, 0, 100)
        .range("step[DECODE bs=4]", 1, 100, 100)
        .range("nccl:all_reduce", 1, 110, 10)
        .call("cudaLaunchKernel", 1, 50, 5, 1)
        .kernel("a", 7, 60, 80, 1)
        .call("cudaLaunchKernel", 2, 150, 5, 2)
        .kernel("b", 7, 160, 10, 2)
        .derive();
    assert_eq!(t.kernels.phase_id.iter().map(|p| p.get()).collect::<Vec<_>>(), [Some(0), Some(1)]);
    assert_eq!(
        t.phases.device_busy_ns.iter().map(|b| b.get()).collect::<Vec<_>>(),
        [Some(80 * US), Some(10 * US), Some(0)]
    );
    assert_eq!(t.phases.launches.iter().map(|l| l.get()).collect::<Vec<_>>(), [Some(1), Some(1), Some(0)]);
    assert_eq!(t.phases.kind[2], PhaseKind::Range);
}

#[test]
fn an_empty_rank_is_no_trouble() {
    let t = trace().derive();
    assert!(t.kernels.is_empty());
}
