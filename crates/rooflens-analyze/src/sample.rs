//! Hand-built tables for tests: rows as the passes leave them, in a line each.

use rooflens_schema::tables::{
    ActivityKind, ApiKind, ApiRow, CollectiveRow, CommCallRow, EngineLayerRow, FrameRow, GapCause, GemmRow,
    InferenceRow, KernelDimRow, KernelRow, MemoryRow, MetricSampleRow, OpRow, PhaseKind, PhaseRow,
    PhaseSource, Transpose,
};
use rooflens_schema::{NameId, Opt, RankTables, stable_id};

use crate::analyses::{FloorSource, JobAnalyses, Reachable};
use crate::finding::Findings;
use crate::ledger::{OperatorFloor, StepAsked, StepModel};

/// Every answer about the ranks, whose derived columns are as given.
pub(crate) fn findings(ranks: &[RankTables]) -> Findings {
    let mut job = JobAnalyses::default();
    ranks.iter().for_each(|tables| job.rank(tables));
    job.finish(Vec::new())
}

/// A model whose every step has the same operators: class of the static model and lower bound, which is its
/// bytes as well.
pub(crate) struct FixedModel(pub(crate) Vec<(&'static str, f64)>);

impl StepModel for FixedModel {
    fn operators(&self, _: &StepAsked) -> Result<Vec<OperatorFloor>, String> {
        let operator = |&(class, ns): &(&'static str, f64)| OperatorFloor {
            layer: None,
            name: class,
            class,
            matrix: None,
            parts: vec![1.0],
            ns,
            compute_ns: 0.0,
            memory_ns: ns,
            flops: 0.0,
            bytes: ns,
        };
        Ok(self.0.iter().map(operator).collect())
    }
}

pub(crate) fn floor_source() -> FloorSource {
    let reachable = Reachable { gemm: 0.8, attention: 0.6, bandwidth: 0.8 };
    FloorSource { model: "m".to_owned(), family: "llama".into(), device: "d".to_owned(), reachable }
}

/// A tiny deterministic generator (Knuth's MMIX constants), so that a failure repeats.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: u64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % limit) as i64
    }
}

/// One rank, row by row. Rows must come in the order the tables document.
pub(crate) struct Sample {
    pub(crate) tables: RankTables,
}

impl Sample {
    pub(crate) fn new(rank: i32) -> Self {
        let mut tables = RankTables { rank, ..RankTables::default() };
        tables.meta.source = format!("rank{rank}.json");
        Sample { tables }
    }

    /// The finding of a job with this rank alone.
    pub(crate) fn find<T: Clone + std::any::Any>(&self) -> T {
        findings(std::slice::from_ref(&self.tables)).get::<T>().expect("a finding").clone()
    }

    fn name(&mut self, text: &str) -> NameId {
        self.tables.names.add(text)
    }

    /// A product in bf16, as a log tells it.
    pub(crate) fn gemm(&mut self, m: i64, n: i64, k: i64) {
        let bf16 = Opt::some(self.name("bf16"));
        let (library_id, function_id) = (self.name("cublaslt"), self.name("cublasLtMatmul"));
        self.tables.gemms.push(GemmRow {
            process: 0,
            library_id,
            function_id,
            m,
            n,
            k,
            batch: 1,
            trans_a: Transpose::Yes,
            trans_b: Transpose::No,
            a_dtype_id: bf16,
            b_dtype_id: bf16,
            d_dtype_id: bf16,
            compute_id: Opt::NONE,
            epilogue_id: Opt::NONE,
            algorithm_id: Opt::NONE,
            flops: Opt::some(2 * m * n * k),
            bytes: Opt::some(2 * (m * k + k * n + m * n)),
            kernel_row: Opt::NONE,
        });
    }

    pub(crate) fn engine_layer(&mut self, name: &str, kind: &str, total_ns: Option<i64>) {
        let (name_id, type_id) = (self.name(name), Opt::some(self.name(kind)));
        self.tables.engine_layers.push(EngineLayerRow {
            name_id,
            type_id,
            dtype_id: Opt::NONE,
            tactic_id: Opt::NONE,
            inputs_id: Opt::NONE,
            outputs_id: Opt::NONE,
            runs: total_ns.map(|_| 2).into(),
            total_ns: total_ns.into(),
            median_ns: Opt::NONE,
        });
    }

    pub(crate) fn inference(&mut self, ts_ns: i64, compute_ns: i64) {
        self.tables.inferences.push(InferenceRow {
            ts_ns,
            enqueue_ns: 1,
            h2d_ns: 0,
            compute_ts_ns: ts_ns,
            compute_ns,
            d2h_ns: 0,
            latency_ns: compute_ns,
            end_ns: ts_ns + compute_ns,
        });
    }

    pub(crate) fn metric(&mut self, snapshot: i32, unix_ns: Option<i64>, metric: &str, value: f64) {
        let of_model = metric.starts_with("nv_inference_") || metric.starts_with("vllm:");
        let of_device = metric.starts_with("nv_") || metric.starts_with("DCGM_");
        let metric_id = self.name(metric);
        let model = self.name("m");
        self.tables.metric_samples.push(MetricSampleRow {
            snapshot,
            unix_ns: unix_ns.into(),
            metric_id,
            model_id: of_model.then_some(model).into(),
            version_id: Opt::NONE,
            device: (of_device && !of_model).then_some(0).into(),
            instance: Opt::NONE,
            value: Some(value),
        });
    }

    pub(crate) fn comm_call(
        &mut self,
        collective: &str,
        ranks: i32,
        bytes: i64,
        exec_ns: Option<i64>,
        told: Option<(f64, f64)>,
    ) {
        let collective_id = self.name(collective);
        self.tables.comm_calls.push(CommCallRow {
            comm: 0,
            comm_rank: Opt::NONE,
            group_size: Opt::some(ranks),
            sequence: Opt::NONE,
            collective_id,
            dtype_id: Opt::NONE,
            elements: Opt::NONE,
            bytes: Opt::some(bytes),
            exec_ns: exec_ns.into(),
            timing_id: Opt::NONE,
            alg_gb_per_s: told.map(|told| told.0),
            bus_gb_per_s: told.map(|told| told.1),
        });
    }

    fn activity(
        &mut self,
        place: (i32, i32),
        ts: i64,
        dur: i64,
        name: &str,
        kind: ActivityKind,
        class: &str,
    ) -> &mut Self {
        let id = self.name(name);
        self.tables.kernels.push(KernelRow::new(place.0, place.1, ts, dur, id, kind));
        if !self.tables.kernel_dim.name.iter().any(|known| known == name) {
            self.tables.kernel_dim.push(KernelDimRow {
                kernel_id: stable_id(name),
                name: name.to_owned(),
                short_name: format!("<{name}>"),
                class: class.to_owned(),
                library: None,
                dtype: None,
            });
        }
        self.tables.meta.last_ns = self.tables.meta.last_ns.max(ts + dur);
        self
    }

    pub(crate) fn kernel(
        &mut self,
        device: i32,
        stream: i32,
        ts: i64,
        dur: i64,
        name: &str,
        class: &str,
    ) -> &mut Self {
        self.activity((device, stream), ts, dur, name, ActivityKind::Kernel, class)
    }

    pub(crate) fn memcpy(&mut self, device: i32, stream: i32, ts: i64, dur: i64, name: &str) -> &mut Self {
        self.activity((device, stream), ts, dur, name, ActivityKind::Memcpy, "memcpy")
    }

    pub(crate) fn memset(&mut self, device: i32, stream: i32, ts: i64, dur: i64, name: &str) -> &mut Self {
        self.activity((device, stream), ts, dur, name, ActivityKind::Memset, "memset")
    }

    pub(crate) fn idle(&mut self, idle_ns: i64, cause: GapCause) -> &mut Self {
        let last = self.tables.kernels.len() - 1;
        self.tables.kernels.idle_before_ns[last] = idle_ns;
        self.tables.kernels.gap_cause[last] = cause;
        self
    }

    /// The launch of the last activity: its correlation id, delay and queue depth.
    pub(crate) fn launched(&mut self, corr: i64, delay_ns: i64, depth: i32) -> &mut Self {
        let kernels = &mut self.tables.kernels;
        let last = kernels.len() - 1;
        kernels.launch_delay_ns[last] = Opt::some(delay_ns);
        kernels.queue_depth[last] = Opt::some(depth);
        self.corr(corr)
    }

    /// The correlation id of the last activity.
    pub(crate) fn corr(&mut self, corr: i64) -> &mut Self {
        let last = self.tables.kernels.len() - 1;
        self.tables.kernels.corr_id[last] = Opt::some(corr);
        self
    }

    pub(crate) fn within(&mut self, op: Option<i32>, layer: Option<i32>, module: Option<&str>) -> &mut Self {
        let module = module.map(|module| self.name(module));
        let kernels = &mut self.tables.kernels;
        let last = kernels.len() - 1;
        kernels.op_id[last] = op.into();
        kernels.layer[last] = layer.into();
        kernels.module_id[last] = module.into();
        self
    }

    pub(crate) fn in_phase(&mut self, phase: i32) -> &mut Self {
        let last = self.tables.kernels.len() - 1;
        self.tables.kernels.phase_id[last] = Opt::some(phase);
        self
    }

    /// An operator inside `parent` (a row), with its self and device time and shapes.
    pub(crate) fn op(
        &mut self,
        (tid, ts, dur): (i64, i64, i64),
        name: &str,
        parent: Option<i32>,
        (self_ns, device_ns): (i64, i64),
        shapes: Option<&str>,
    ) -> &mut Self {
        let depth = parent.map_or(0, |parent| self.tables.ops.depth[parent as usize] + 1);
        let name_id = self.name(name);
        let shapes_id = shapes.map(|shapes| self.name(shapes));
        self.tables.ops.push(OpRow {
            op_id: self.tables.ops.len() as i32,
            shapes_id: shapes_id.into(),
            parent_id: parent.into(),
            depth,
            inside_ns: dur - self_ns,
            device_ns,
            ..OpRow::new(tid, ts, dur, name_id)
        });
        self.tables.meta.last_ns = self.tables.meta.last_ns.max(ts + dur);
        self
    }

    pub(crate) fn api(
        &mut self,
        tid: i64,
        ts: i64,
        dur: i64,
        name: &str,
        kind: ApiKind,
        corr: Option<i64>,
    ) -> &mut Self {
        let name_id = self.name(name);
        self.tables.api.push(ApiRow {
            pid: Opt::NONE,
            tid,
            ts_ns: ts,
            dur_ns: dur,
            name_id,
            kind,
            corr_id: corr.into(),
            ext_id: Opt::NONE,
            op_id: Opt::NONE,
            kernel_id: Opt::NONE,
        });
        self.tables.meta.last_ns = self.tables.meta.last_ns.max(ts + dur);
        self
    }

    pub(crate) fn frame(&mut self, tid: i64, ts: i64, dur: i64, name: &str) -> &mut Self {
        let name_id = self.name(name);
        self.tables.frames.push(FrameRow { tid, ts_ns: ts, dur_ns: dur, name_id });
        self.tables.meta.last_ns = self.tables.meta.last_ns.max(ts + dur);
        self
    }

    pub(crate) fn phase(
        &mut self,
        ts: i64,
        dur: i64,
        name: &str,
        kind: PhaseKind,
        source: PhaseSource,
    ) -> &mut Self {
        let name_id = self.name(name);
        self.tables.phases.push(PhaseRow {
            phase_id: self.tables.phases.len() as i32,
            kind,
            ..PhaseRow::new(source, ts, dur, name_id)
        });
        self.tables.meta.last_ns = self.tables.meta.last_ns.max(ts + dur);
        self
    }

    /// A range as a reader leaves it, on a thread.
    pub(crate) fn range(&mut self, tid: i64, ts: i64, dur: i64, name: &str) -> &mut Self {
        self.phase(ts, dur, name, PhaseKind::Range, PhaseSource::Annotation);
        let last = self.tables.phases.len() - 1;
        self.tables.phases.tid[last] = Opt::some(tid);
        self
    }

    pub(crate) fn device_range(&mut self, device: i32, ts: i64, dur: i64, name: &str) -> &mut Self {
        self.phase(ts, dur, name, PhaseKind::Range, PhaseSource::DeviceAnnotation);
        let last = self.tables.phases.len() - 1;
        self.tables.phases.device[last] = Opt::some(device);
        self
    }

    pub(crate) fn launch(&mut self, tid: i64, call: i64, stream: i32, ts: i64, dur: i64) -> &mut Self {
        let corr = self.tables.kernels.len() as i64 + 1;
        self.api(tid, call, 5, "cudaLaunchKernel", ApiKind::Other, Some(corr));
        self.kernel(0, stream, ts, dur, "gemm", "gemm").launched(corr, ts - call, 0)
    }

    /// The device time, activities and launching calls of the last phase.
    pub(crate) fn work(&mut self, busy_ns: i64, activities: i64, launches: i64) -> &mut Self {
        let phases = &mut self.tables.phases;
        let last = phases.len() - 1;
        phases.device_busy_ns[last] = Opt::some(busy_ns);
        phases.activities[last] = Opt::some(activities);
        phases.launches[last] = Opt::some(launches);
        self
    }

    pub(crate) fn memory(
        &mut self,
        ts: i64,
        device: i32,
        bytes: i64,
        allocated: i64,
        reserved: i64,
    ) -> &mut Self {
        self.tables.memory.push(MemoryRow {
            ts_ns: ts,
            bytes,
            allocated_bytes: Opt::some(allocated),
            reserved_bytes: Opt::some(reserved),
            device,
            site_id: Opt::NONE,
        });
        self
    }

    /// What the trace says of the last activity, a collective.
    pub(crate) fn collective(
        &mut self,
        name: &str,
        dtype: &str,
        elements: (i64, i64),
        group: (&str, i32),
    ) -> &mut Self {
        let last = self.tables.kernels.len() - 1;
        let collective_id = self.name(name);
        let dtype_id = Opt::some(self.name(dtype));
        let group_id = Opt::some(self.name(group.0));
        let kernels = &self.tables.kernels;
        self.tables.collectives.push(CollectiveRow {
            device: kernels.device[last],
            ts_ns: kernels.ts_ns[last],
            dur_ns: kernels.dur_ns[last],
            corr_id: kernels.corr_id[last],
            collective_id,
            dtype_id,
            in_elements: Opt::some(elements.0),
            out_elements: Opt::some(elements.1),
            group_size: Opt::some(group.1),
            group_id,
        });
        self
    }
}

/// A rank with some of everything. `shift` moves every name id.
pub(crate) fn some_of_everything(number: i32, shift: usize) -> RankTables {
    let mut random = Random(number as u64 + 1);
    let mut sample = Sample::new(number);
    for i in 0..shift {
        sample.tables.names.add(&format!("unused {i}"));
    }
    let names = ["gemm", "norm", "attention", "ncclKernel"];
    for step in 0..10 {
        let ts = step * 10_000;
        sample.phase(ts, 9_000, &format!("ProfilerStep#{step}"), PhaseKind::Step, PhaseSource::ProfilerStep);
        sample.work(random.below(9_000), 4, 4);
        sample.frame(1, ts, 9_000, "main").frame(1, ts + 100, 5_000, names[random.below(4) as usize]);
        sample.op((1, ts + 200, 1_000), names[random.below(4) as usize], None, (1_000, 500), Some("[[1]]"));
        sample.op((1, ts + 1_300, 10), "aten::mm", None, (0, 0), Some("[[2, 3], [3, 4]]"));
        if let Some(phase) = sample.tables.ops.phase_id.last_mut() {
            *phase = Opt::some(step as i32);
        }
        sample.api(1, ts + 300, 50, "cudaLaunchKernel", ApiKind::Launch, Some(step));
        sample.memory(ts, 0, 100, 100 * step, 5_000);
        sample.gemm(8, 8, 8);
        sample.engine_layer("layer", "Conv", Some(10));
        sample.inference(ts, 10);
        sample.metric(0, None, "nv_inference_request_success", 1.0);
        sample.comm_call("allreduce", 8, 1_000, Some(100), None);
        let name = names[random.below(4) as usize];
        let class = if name == "ncclKernel" { "communication" } else { name };
        sample.kernel(0, 7, ts + 400, 500 + random.below(3), name, class).launched(step, 100, 1);
        sample
            .within(Some(step as i32), Some(step as i32 % 3), Some("Model_0/Layer_1"))
            .in_phase(step as i32);
        if step > 0 {
            sample.idle(9_000, GapCause::CpuBound);
        }
    }
    sample.tables
}
