//! What do the metrics of a server and its devices show?

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;

use rooflens_schema::RankTables;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::finding::{Analysis, Finding, FindingType, Findings, Fold};

/// Metrics of servers and devices.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ServerMetrics {
    /// Pages of metrics, all files together.
    pub snapshots: usize,
    /// From the first page to the last, in the file where that is longest; null where no two pages have a time.
    pub span_ns: Option<i64>,
    /// Models of servers, most requests first.
    pub models: Vec<ModelMetrics>,
    /// Devices, in order.
    pub devices: Vec<DeviceMetrics>,
    /// What is null, and why.
    pub(crate) not_computed: BTreeMap<Cow<'static, str>, Cow<'static, str>>,
}

/// What a counter is of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Over {
    /// All since the server was started: there is one page.
    #[default]
    SinceStart,
    /// From the first page to the last.
    BetweenSnapshots,
}

/// A model of a server.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ModelMetrics {
    /// File, from 0.
    pub(crate) file: usize,
    /// Name.
    pub model: String,
    /// Version.
    pub version: Option<String>,
    /// What the counts are of.
    pub over: Over,
    /// Requests that were answered.
    pub requests: Option<f64>,
    /// Requests that failed, for any reason.
    pub failures: Option<f64>,
    /// Inferences: a batch of n counts n.
    pub inferences: Option<f64>,
    /// Executions of the model.
    pub executions: Option<f64>,
    /// Inferences an execution.
    pub batch: Option<f64>,
    /// Mean of a request, from its arrival to its answer.
    pub request_ns: Option<f64>,
    /// Mean wait in the queue.
    pub queue_ns: Option<f64>,
    /// Mean time to prepare inputs.
    pub compute_input_ns: Option<f64>,
    /// Mean time in the model.
    pub compute_infer_ns: Option<f64>,
    /// Mean time to take outputs.
    pub compute_output_ns: Option<f64>,
    /// Part of a request's time that is queue, 0 to 1.
    pub queue_share: Option<f64>,
    /// Requests a second.
    pub requests_per_s: Option<f64>,
    /// Inferences a second.
    pub inferences_per_s: Option<f64>,
    /// What is null, and why.
    pub(crate) not_computed: BTreeMap<Cow<'static, str>, Cow<'static, str>>,
}

/// A device, or an instance of a partitioned one.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct DeviceMetrics {
    /// File, from 0.
    pub(crate) file: usize,
    /// Index.
    pub device: i32,
    /// Instance of a partitioned device.
    pub instance: Option<i32>,
    /// Values whose unit is known, in the unit of their name.
    pub values: BTreeMap<Cow<'static, str>, Gauge>,
    /// Energy from the first page to the last; null with one page.
    pub energy_j: Option<f64>,
    /// That energy by the time.
    pub mean_power_w: Option<f64>,
    /// Last values of metrics whose unit is not known or differs from version to version, as recorded.
    pub unit_unknown: BTreeMap<String, f64>,
    /// What is null or has no unit, and why.
    pub(crate) not_computed: BTreeMap<Cow<'static, str>, Cow<'static, str>>,
}

/// A value over the pages.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gauge {
    /// On the last page that has it.
    pub(crate) last: f64,
    /// Mean of the pages, each counted once.
    pub mean: f64,
    /// Highest.
    pub(crate) max: f64,
}

pub(super) const ANALYSIS: Analysis = Analysis {
    name: "server_metrics",
    question: "What do the metrics of a server and its devices show?",
    needs: "metrics of a server or of DCGM",
    is_special: true,
    finding: FindingType::object::<ServerMetrics>(),
    start: || Box::new(State::default()),
    explain: "\
Metrics of vLLM, SGLang, TensorRT-LLM, TGI, llama.cpp, Triton and the DCGM exporter, from the text of `/metrics`: one
page, or several concatenated.
To record when each was taken:

    while sleep 5; do echo \"# time $(date +%s.%N)\"; curl -s localhost:8002/metrics; done > metrics.txt

- A server's counters count since its start. Numbers from one page cover the time since then (`over`:
  `since_start`); from several, they are last minus first (`between_snapshots`), and null if a counter decreased, as
  after a restart.
- `request_ns`, `queue_ns`, `compute_*_ns`: the counter of microseconds x 1000 / answered requests. Answers
  from the cache are among these; their compute time is 0. `queue_share`: queue / request time.
- Engines that serve language models give requests, and the sums of their times in the queue and in all; what only
  Triton gives is null for them.
- `batch`: inferences / executions. `requests_per_s`, `inferences_per_s`: only of pages with times.
- `values` of a device: last, mean and highest of the pages. DCGM's memory is in MiB and becomes bytes, its
  energy in mJ becomes J, percents become shares from 0 to 1.
- `unit_unknown`: `*_VIOLATION` counts microseconds in some versions of DCGM and nanoseconds in others, and
  the bytes of PCIe and NVLink are rates in some and sums in others; they are shown unchanged.
",
};

#[derive(Default)]
struct State {
    found: ServerMetrics,
    files: usize,
}

type Model = (String, Option<String>);
type Device = (i32, Option<i32>);
/// Values of a metric, page by page; those that differ in labels that were not kept are added.
type Series = BTreeMap<String, BTreeMap<i32, f64>>;

impl Fold for State {
    fn rank(&mut self, tables: &RankTables) {
        let rows = &tables.metric_samples;
        let Some(last) = rows.snapshot.iter().max() else { return };
        let file = self.files;
        self.files += 1;
        self.found.snapshots += *last as usize + 1;
        let time_of = |snapshot: i32| {
            let at = rows.snapshot.iter().position(|of| *of == snapshot)?;
            rows.unix_ns.get(at)?.get()
        };
        let span = time_of(0).zip(time_of(*last)).and_then(|(first, last)| last.checked_sub(first));
        let span_ns = span.filter(|span| *span > 0);
        self.found.span_ns = self.found.span_ns.max(span_ns);
        let mut models: BTreeMap<Model, Series> = BTreeMap::new();
        let mut devices: BTreeMap<Device, Series> = BTreeMap::new();
        for i in 0..rows.len() {
            let Some(value) = rows.value[i] else { continue };
            let metric = tables.names.get(rows.metric_id[i]);
            let series = match (rows.model_id[i].get(), rows.device[i].get()) {
                (Some(model), _) => {
                    let version = rows.version_id[i].get().map(|id| tables.names.get(id).to_owned());
                    models.entry((tables.names.get(model).to_owned(), version)).or_default()
                }
                (None, Some(device)) => devices.entry((device, rows.instance[i].get())).or_default(),
                (None, None) => match EngineNames::of_metric(metric) {
                    Some(engine) => models.entry((engine.title.to_owned(), None)).or_default(),
                    None => continue,
                },
            };
            *series.entry(metric.to_owned()).or_default().entry(rows.snapshot[i]).or_default() += value;
        }
        let pages = Pages { file, last: *last, span_ns };
        self.found.models.extend(models.into_iter().map(|(model, series)| pages.model(model, &series)));
        self.found.devices.extend(devices.into_iter().map(|(device, series)| pages.device(device, &series)));
    }

    fn finish(self: Box<Self>, _earlier: &Findings) -> Option<Box<dyn Finding>> {
        let mut found = self.found;
        if found.models.is_empty() && found.devices.is_empty() {
            return None;
        }
        found.models.sort_by(|a, b| b.requests.unwrap_or(-1.0).total_cmp(&a.requests.unwrap_or(-1.0)));
        if found.span_ns.is_none() {
            found.not_computed.insert("span_ns".into(), NO_SPAN.into());
        }
        Some(Box::new(found))
    }
}

const NO_SPAN: &str = "there are fewer than two pages of metrics with times";

struct Pages {
    file: usize,
    last: i32,
    span_ns: Option<i64>,
}

impl Pages {
    fn count(&self, series: &Series, metric: &str) -> Option<f64> {
        let pages = series.get(metric)?;
        let last = *pages.get(&self.last)?;
        if self.last == 0 {
            return Some(last).filter(|count| *count >= 0.0);
        }
        let all: Vec<f64> = (0..=self.last).map(|page| pages.get(&page).copied()).collect::<Option<_>>()?;
        let grows = all.windows(2).all(|pair| pair[0] <= pair[1]);
        grows.then(|| last - all[0])
    }

    fn a_second(&self, count: Option<f64>) -> Option<f64> {
        Some(count? * 1e9 / self.span_ns? as f64)
    }

    fn model(&self, model: Model, series: &Series) -> ModelMetrics {
        match series.keys().find_map(|metric| EngineNames::of_metric(metric)) {
            Some(engine) => self.model_of_engine(model, engine, series),
            None => self.model_of_triton(model, series),
        }
    }

    fn model_of_triton(&self, (model, version): Model, series: &Series) -> ModelMetrics {
        let count = |name: &str| self.count(series, &format!("nv_inference_{name}"));
        let over = |a: Option<f64>, b: Option<f64>| Some(a? / b.filter(|b| *b > 0.0)?);
        let requests = count("request_success");
        let mean = |what: &str| Some(1e3 * over(count(&format!("{what}_duration_us")), requests)?);
        let (inferences, executions) = (count("count"), count("exec_count"));
        let mut found = ModelMetrics {
            file: self.file,
            model,
            version,
            over: if self.last == 0 { Over::SinceStart } else { Over::BetweenSnapshots },
            requests,
            failures: count("request_failure"),
            inferences,
            executions,
            batch: over(inferences, executions),
            request_ns: mean("request"),
            queue_ns: mean("queue"),
            compute_input_ns: mean("compute_input"),
            compute_infer_ns: mean("compute_infer"),
            compute_output_ns: mean("compute_output"),
            queue_share: over(count("queue_duration_us"), count("request_duration_us")),
            requests_per_s: self.a_second(requests),
            inferences_per_s: self.a_second(inferences),
            ..ModelMetrics::default()
        };
        let why = "not on every page, or decreased: the server was restarted";
        let none = if requests == Some(0.0) { "no request was answered" } else { why };
        for (key, value, why) in [
            ("requests", found.requests, why),
            ("failures", found.failures, why),
            ("inferences", found.inferences, why),
            ("executions", found.executions, why),
            ("batch", found.batch, if executions == Some(0.0) { "the model was not executed" } else { why }),
            ("request_ns", found.request_ns, none),
            ("queue_ns", found.queue_ns, none),
            ("compute_input_ns", found.compute_input_ns, none),
            ("compute_infer_ns", found.compute_infer_ns, none),
            ("compute_output_ns", found.compute_output_ns, none),
            ("queue_share", found.queue_share, none),
            ("requests_per_s", found.requests_per_s, if self.span_ns.is_none() { NO_SPAN } else { why }),
            ("inferences_per_s", found.inferences_per_s, if self.span_ns.is_none() { NO_SPAN } else { why }),
        ] {
            if value.is_none() {
                found.not_computed.insert(key.into(), why.into());
            }
        }
        found
    }

    fn model_of_engine(
        &self,
        (model, version): Model,
        engine: &EngineNames,
        series: &Series,
    ) -> ModelMetrics {
        let name = |at: usize| Some(format!("{}{}", engine.begin, engine.names?[at]));
        let requests = name(0).and_then(|name| self.count(series, &name));
        let mean = |at: usize| {
            let name = name(at)?;
            let part = |part: &str| self.count(series, &format!("{name}_{part}"));
            Some(1e9 * part("sum")? / part("count").filter(|count| *count > 0.0)?)
        };
        let (request_ns, queue_ns) = (mean(1), mean(2));
        let mut found = ModelMetrics {
            file: self.file,
            model,
            version,
            over: if self.last == 0 { Over::SinceStart } else { Over::BetweenSnapshots },
            requests,
            request_ns,
            queue_ns,
            queue_share: queue_ns
                .zip(request_ns)
                .filter(|(_, all)| *all > 0.0)
                .map(|(queue, all)| queue / all),
            requests_per_s: self.a_second(requests),
            ..ModelMetrics::default()
        };
        let not_given = format!("{} does not give it", engine.title);
        let triton_only = "failures inferences executions batch compute_input_ns compute_infer_ns compute_output_ns inferences_per_s";
        for key in triton_only.split(' ') {
            found.not_computed.insert(key.into(), not_given.clone().into());
        }
        let lost = "not on every page, or decreased: the server was restarted";
        let none = if requests == Some(0.0) { "no request ended" } else { lost };
        for (key, value, why) in [
            ("requests", found.requests, lost),
            ("request_ns", found.request_ns, none),
            ("queue_ns", found.queue_ns, none),
            ("queue_share", found.queue_share, none),
            ("requests_per_s", found.requests_per_s, if self.span_ns.is_none() { NO_SPAN } else { lost }),
        ] {
            if value.is_none() {
                let why = engine.names.map_or_else(|| not_given.clone(), |_| why.to_owned());
                found.not_computed.insert(key.into(), why.into());
            }
        }
        found
    }

    fn device(&self, (device, instance): Device, series: &Series) -> DeviceMetrics {
        let mut found = DeviceMetrics { file: self.file, device, instance, ..DeviceMetrics::default() };
        for (metric, pages) in series {
            let Some(last) = pages.values().next_back().copied() else { continue };
            match field(metric) {
                MetricField::Gauge(name, factor) => {
                    let mean = pages.values().sum::<f64>() / pages.len() as f64;
                    let max = pages.values().copied().fold(f64::NEG_INFINITY, f64::max);
                    let gauge = Gauge { last: last * factor, mean: mean * factor, max: max * factor };
                    found.values.insert(name.into(), gauge);
                }
                MetricField::Energy(factor) if self.last > 0 => {
                    found.energy_j = self.count(series, metric).map(|energy| energy * factor);
                }
                // Since the driver was loaded: of no run in particular.
                MetricField::Energy(_) => {}
                MetricField::Unknown => {
                    found.unit_unknown.insert(metric.clone(), last);
                }
            }
        }
        found.mean_power_w = self.a_second(found.energy_j);
        if found.energy_j.is_none() {
            let why = "there is only one page of metrics, or energy is not on every page, or decreased";
            found.not_computed.insert("energy_j".into(), why.into());
        }
        if found.mean_power_w.is_none() {
            let why = if self.span_ns.is_none() { NO_SPAN } else { "energy is not known" };
            found.not_computed.insert("mean_power_w".into(), why.into());
        }
        if !found.unit_unknown.is_empty() {
            found.not_computed.insert(
                "unit_unknown".into(),
                "the unit differs from version to version, or is not known".into(),
            );
        }
        found
    }
}

enum MetricField {
    /// A value of its moment: our name, and the factor to the unit in it.
    Gauge(&'static str, f64),
    Energy(f64),
    Unknown,
}

const MIB: f64 = 1_048_576.0;

/// Units of Triton: docs/user_guide/metrics.md of triton-inference-server. Units of DCGM: the comments of
/// `dcgm_fields.h`, and `etc/default-counters.csv` of dcgm-exporter.
fn field(metric: &str) -> MetricField {
    let (name, factor) = match metric {
        "nv_energy_consumption" => return MetricField::Energy(1.0),
        "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION" => return MetricField::Energy(1e-3),
        "nv_gpu_utilization" => ("utilization_share", 1.0),
        "nv_gpu_power_usage" | "DCGM_FI_DEV_POWER_USAGE" => ("power_w", 1.0),
        "nv_gpu_power_limit" => ("power_limit_w", 1.0),
        "nv_gpu_memory_total_bytes" => ("memory_total_bytes", 1.0),
        "nv_gpu_memory_used_bytes" => ("memory_used_bytes", 1.0),
        "DCGM_FI_DEV_GPU_UTIL" => ("utilization_share", 0.01),
        "DCGM_FI_DEV_MEM_COPY_UTIL" => ("memory_copy_share", 0.01),
        "DCGM_FI_DEV_FB_TOTAL" => ("memory_total_bytes", MIB),
        "DCGM_FI_DEV_FB_USED" => ("memory_used_bytes", MIB),
        "DCGM_FI_DEV_FB_FREE" => ("memory_free_bytes", MIB),
        "DCGM_FI_DEV_FB_RESERVED" => ("memory_reserved_bytes", MIB),
        "DCGM_FI_DEV_SM_CLOCK" => ("sm_clock_hz", 1e6),
        "DCGM_FI_DEV_MEM_CLOCK" => ("memory_clock_hz", 1e6),
        "DCGM_FI_DEV_GPU_TEMP" => ("temperature_c", 1.0),
        "DCGM_FI_DEV_MEMORY_TEMP" => ("memory_temperature_c", 1.0),
        "DCGM_FI_PROF_GR_ENGINE_ACTIVE" => ("engine_active_share", 1.0),
        "DCGM_FI_PROF_SM_ACTIVE" => ("sm_active_share", 1.0),
        "DCGM_FI_PROF_SM_OCCUPANCY" => ("sm_occupancy_share", 1.0),
        "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE" => ("tensor_active_share", 1.0),
        "DCGM_FI_PROF_DRAM_ACTIVE" => ("dram_active_share", 1.0),
        "DCGM_FI_PROF_PIPE_FP64_ACTIVE" => ("fp64_active_share", 1.0),
        "DCGM_FI_PROF_PIPE_FP32_ACTIVE" => ("fp32_active_share", 1.0),
        "DCGM_FI_PROF_PIPE_FP16_ACTIVE" => ("fp16_active_share", 1.0),
        _ => return MetricField::Unknown,
    };
    MetricField::Gauge(name, factor)
}

/// What an engine calls its metrics.
struct EngineNames {
    title: &'static str,
    begin: &'static str,
    /// Behind `begin`: requests, their time and their time in the queue. None where the engine gives no such.
    names: Option<[&'static str; 3]>,
}

const ENGINES: &[EngineNames] = &[
    EngineNames {
        title: "vLLM",
        begin: "vllm:",
        names: Some(["request_success_total", "e2e_request_latency_seconds", "request_queue_time_seconds"]),
    },
    EngineNames {
        title: "SGLang",
        begin: "sglang:",
        names: Some(["num_requests_total", "e2e_request_latency_seconds", "queue_time_seconds"]),
    },
    EngineNames {
        title: "TensorRT-LLM",
        begin: "trtllm_",
        names: Some(["request_success_total", "e2e_request_latency_seconds", "request_queue_time_seconds"]),
    },
    EngineNames {
        title: "TGI",
        begin: "tgi_",
        names: Some(["request_success", "request_duration", "request_queue_duration"]),
    },
    EngineNames { title: "llama.cpp", begin: "llamacpp:", names: None },
];

impl EngineNames {
    fn of_metric(metric: &str) -> Option<&'static EngineNames> {
        ENGINES.iter().find(|engine| metric.starts_with(engine.begin))
    }
}
