//! Which servers are known, what is known of any server, and what each calls it. Each name was taken from the source of
//! the server that writes it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A program that serves metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ServerKind {
    /// vLLM, version 1 of its engine.
    Vllm,
    /// SGLang, started with `--enable-metrics`.
    Sglang,
    /// `trtllm-serve`, with `return_perf_metrics`.
    TensorrtLlm,
    /// Text Generation Inference.
    Tgi,
    /// The server of llama.cpp, started with `--metrics`.
    LlamaCpp,
    /// Triton Inference Server.
    Triton,
    /// NVIDIA's DCGM exporter: devices, no requests.
    Dcgm,
}

impl ServerKind {
    /// All of them. An engine within Triton puts its own names on Triton's page and says more than Triton does, so
    /// engines come first.
    pub(crate) const ALL: [ServerKind; 7] = [
        ServerKind::Vllm,
        ServerKind::Sglang,
        ServerKind::TensorrtLlm,
        ServerKind::Tgi,
        ServerKind::LlamaCpp,
        ServerKind::Triton,
        ServerKind::Dcgm,
    ];

    /// Names in documents and in text, and what names of metrics begin with.
    fn names(self) -> (&'static str, &'static str, &'static str) {
        match self {
            ServerKind::Vllm => ("vllm", "vLLM", "vllm:"),
            ServerKind::Sglang => ("sglang", "SGLang", "sglang:"),
            ServerKind::TensorrtLlm => ("tensorrt_llm", "TensorRT-LLM", "trtllm_"),
            ServerKind::Tgi => ("tgi", "TGI", "tgi_"),
            ServerKind::LlamaCpp => ("llama_cpp", "llama.cpp", "llamacpp:"),
            ServerKind::Triton => ("triton", "Triton", "nv_"),
            ServerKind::Dcgm => ("dcgm", "the DCGM exporter", "DCGM_FI_"),
        }
    }

    /// Its name in documents.
    pub fn name(self) -> &'static str {
        self.names().0
    }

    pub(crate) fn title(self) -> &'static str {
        self.names().1
    }

    pub(crate) fn metrics_path(self) -> &'static str {
        match self {
            // Its /metrics is JSON about iterations.
            ServerKind::TensorrtLlm => "/prometheus/metrics",
            _ => "/metrics",
        }
    }

    pub(crate) fn of_metric(name: &str) -> Option<ServerKind> {
        Self::ALL.into_iter().find(|kind| name.starts_with(kind.names().2))
    }
}

/// A value that goes up and down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerGauge {
    /// Requests in the running batch.
    Running,
    /// Requests that wait in the queue.
    Waiting,
    /// Used share of the KV cache, 0 to 1; the fullest one where there are several.
    KvCacheUsage,
    /// The most requests that may run at once.
    RunningLimit,
    /// Busy share of devices, 0 to 1, mean.
    GpuUtilization,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerCounter {
    Preemptions,
    PromptTokens,
    GeneratedTokens,
    PrefixQueries,
    PrefixHits,
    DraftTokens,
    AcceptedTokens,
    RequestsFinished,
    Energy,
}

/// Times, or sizes, of many: their sum and count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerDistribution {
    QueueTime,
    PrefillTime,
    DecodeTime,
    TimeToFirstToken,
    InterTokenLatency,
    EndToEnd,
    IterationTokens,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Feeds {
    Gauge(ServerGauge),
    Counter(ServerCounter),
    Histogram(ServerDistribution),
    SumOf(ServerDistribution),
    CountOf(ServerDistribution),
    HistogramSum(ServerCounter),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Joined {
    Sum,
    Max,
    Mean,
    /// Models of an ensemble count the same request several times: only a lone series is a value.
    Alone,
}

#[derive(Debug)]
pub(super) struct MetricName {
    pub(crate) name: &'static str,
    pub(crate) label: Option<(&'static str, &'static str)>,
    pub(crate) feeds: Feeds,
    pub(crate) joined: Joined,
    /// Factor to seconds, shares or joules.
    pub(crate) scale: f64,
    /// An older name, which counts only where nothing else feeds the same. Both may be on a page.
    pub(crate) is_old: bool,
}

const fn metric(name: &'static str, feeds: Feeds) -> MetricName {
    MetricName { name, label: None, feeds, joined: Joined::Sum, scale: 1.0, is_old: false }
}

impl MetricName {
    const fn with(mut self, name: &'static str, value: &'static str) -> Self {
        self.label = Some((name, value));
        self
    }

    const fn joined(mut self, joined: Joined) -> Self {
        self.joined = joined;
        self
    }

    const fn scaled(mut self, scale: f64) -> Self {
        self.scale = scale;
        self
    }

    const fn old(mut self) -> Self {
        self.is_old = true;
        self
    }
}

use Feeds::{CountOf, Counter, Gauge, Histogram, HistogramSum, SumOf};
use ServerCounter::{
    AcceptedTokens, DraftTokens, Energy, GeneratedTokens, Preemptions, PrefixHits, PrefixQueries,
    PromptTokens, RequestsFinished,
};
use ServerDistribution::{
    DecodeTime, EndToEnd, InterTokenLatency, IterationTokens, PrefillTime, QueueTime, TimeToFirstToken,
};
use ServerGauge::{GpuUtilization, KvCacheUsage, Running, RunningLimit, Waiting};

/// `vllm/v1/metrics/loggers.py` and `vllm/v1/spec_decode/metrics.py`, 0.10 to 0.32. The client library of Prometheus
/// adds `_total` to counters.
const VLLM: &[MetricName] = &[
    metric("vllm:num_requests_running", Gauge(Running)),
    metric("vllm:num_requests_waiting", Gauge(Waiting)),
    metric("vllm:kv_cache_usage_perc", Gauge(KvCacheUsage)).joined(Joined::Max),
    metric("vllm:gpu_cache_usage_perc", Gauge(KvCacheUsage)).joined(Joined::Max).old(),
    metric("vllm:num_preemptions_total", Counter(Preemptions)),
    metric("vllm:prompt_tokens_total", Counter(PromptTokens)),
    metric("vllm:generation_tokens_total", Counter(GeneratedTokens)),
    metric("vllm:prefix_cache_queries_total", Counter(PrefixQueries)),
    metric("vllm:prefix_cache_hits_total", Counter(PrefixHits)),
    metric("vllm:gpu_prefix_cache_queries_total", Counter(PrefixQueries)).old(),
    metric("vllm:gpu_prefix_cache_hits_total", Counter(PrefixHits)).old(),
    metric("vllm:spec_decode_num_draft_tokens_total", Counter(DraftTokens)),
    metric("vllm:spec_decode_num_accepted_tokens_total", Counter(AcceptedTokens)),
    metric("vllm:request_success_total", Counter(RequestsFinished)),
    metric("vllm:request_queue_time_seconds", Histogram(QueueTime)),
    metric("vllm:request_prefill_time_seconds", Histogram(PrefillTime)),
    metric("vllm:request_decode_time_seconds", Histogram(DecodeTime)),
    metric("vllm:time_to_first_token_seconds", Histogram(TimeToFirstToken)),
    metric("vllm:inter_token_latency_seconds", Histogram(InterTokenLatency)),
    metric("vllm:time_per_output_token_seconds", Histogram(InterTokenLatency)).old(),
    metric("vllm:e2e_request_latency_seconds", Histogram(EndToEnd)),
    metric("vllm:iteration_tokens_total", Histogram(IterationTokens)),
];

/// `python/sglang/srt/observability/metrics_collector.py` (`srt/metrics/collector.py` before). Token counters grow when
/// a request ends.
const SGLANG: &[MetricName] = &[
    metric("sglang:num_running_reqs", Gauge(Running)),
    metric("sglang:num_queue_reqs", Gauge(Waiting)),
    metric("sglang:token_usage", Gauge(KvCacheUsage)).joined(Joined::Max),
    metric("sglang:num_retracted_requests_total", Counter(Preemptions)),
    metric("sglang:prompt_tokens_total", Counter(PromptTokens)),
    metric("sglang:prompt_tokens_total", Counter(PrefixQueries)),
    metric("sglang:cached_tokens_total", Counter(PrefixHits)),
    metric("sglang:generation_tokens_total", Counter(GeneratedTokens)),
    metric("sglang:num_requests_total", Counter(RequestsFinished)),
    metric("sglang:queue_time_seconds", Histogram(QueueTime)),
    metric("sglang:per_stage_req_latency_seconds", Histogram(PrefillTime)).with("stage", "prefill_forward"),
    metric("sglang:time_to_first_token_seconds", Histogram(TimeToFirstToken)),
    metric("sglang:inter_token_latency_seconds", Histogram(InterTokenLatency)),
    metric("sglang:e2e_request_latency_seconds", Histogram(EndToEnd)),
];

const TENSORRT_LLM: &[MetricName] = &[
    metric("trtllm_num_requests_running", Gauge(Running)),
    metric("trtllm_num_requests_waiting", Gauge(Waiting)),
    metric("trtllm_max_num_active_requests", Gauge(RunningLimit)),
    metric("trtllm_kv_cache_utilization", Gauge(KvCacheUsage)).joined(Joined::Max),
    metric("trtllm_prompt_tokens_total", Counter(PromptTokens)),
    metric("trtllm_prompt_tokens_total", Counter(PrefixQueries)),
    metric("trtllm_prompt_cached_tokens_total", Counter(PrefixHits)),
    metric("trtllm_generation_tokens_total", Counter(GeneratedTokens)),
    metric("trtllm_spec_decode_num_draft_tokens_total", Counter(DraftTokens)),
    metric("trtllm_spec_decode_num_accepted_tokens_total", Counter(AcceptedTokens)),
    metric("trtllm_request_success_total", Counter(RequestsFinished)),
    metric("trtllm_request_queue_time_seconds", Histogram(QueueTime)),
    metric("trtllm_request_prefill_time_seconds", Histogram(PrefillTime)),
    metric("trtllm_request_decode_time_seconds", Histogram(DecodeTime)),
    metric("trtllm_time_to_first_token_seconds", Histogram(TimeToFirstToken)),
    metric("trtllm_time_per_output_token_seconds", Histogram(InterTokenLatency)),
    metric("trtllm_e2e_request_latency_seconds", Histogram(EndToEnd)),
];

const TGI: &[MetricName] = &[
    metric("tgi_batch_current_size", Gauge(Running)),
    metric("tgi_queue_size", Gauge(Waiting)),
    metric("tgi_request_input_length", HistogramSum(PromptTokens)),
    metric("tgi_request_generated_tokens", HistogramSum(GeneratedTokens)),
    metric("tgi_request_success", Counter(RequestsFinished)),
    metric("tgi_request_queue_duration", Histogram(QueueTime)),
    metric("tgi_request_mean_time_per_token_duration", Histogram(InterTokenLatency)),
    metric("tgi_request_duration", Histogram(EndToEnd)),
];

/// `tools/server/server-task.cpp`. Its prompt tokens are those that were computed.
const LLAMA_CPP: &[MetricName] = &[
    metric("llamacpp:requests_processing", Gauge(Running)),
    metric("llamacpp:requests_deferred", Gauge(Waiting)),
    metric("llamacpp:kv_cache_usage_ratio", Gauge(KvCacheUsage)),
    metric("llamacpp:prompt_tokens_total", Counter(PromptTokens)),
    metric("llamacpp:prompt_tokens_total", Counter(PrefixQueries)),
    metric("llamacpp:prompt_tokens_cached_total", Counter(PromptTokens)),
    metric("llamacpp:prompt_tokens_cached_total", Counter(PrefixQueries)),
    metric("llamacpp:prompt_tokens_cached_total", Counter(PrefixHits)),
    metric("llamacpp:tokens_predicted_total", Counter(GeneratedTokens)),
    metric("llamacpp:spec_decode_num_draft_tokens_total", Counter(DraftTokens)),
    metric("llamacpp:spec_decode_num_accepted_tokens_total", Counter(AcceptedTokens)),
    metric("llamacpp:prompt_seconds_total", SumOf(PrefillTime)),
    metric("llamacpp:tokens_predicted_seconds_total", SumOf(DecodeTime)),
];

/// `docs/user_guide/metrics.md` of the server, and the custom metrics of its TensorRT-LLM backend.
const TRITON: &[MetricName] = &[
    metric("nv_trt_llm_request_metrics", Gauge(Running)).with("request_type", "scheduled"),
    metric("nv_trt_llm_request_metrics", Gauge(Waiting)).with("request_type", "waiting"),
    metric("nv_trt_llm_request_metrics", Gauge(RunningLimit)).with("request_type", "max"),
    metric("nv_trt_llm_kv_cache_block_metrics", Gauge(KvCacheUsage))
        .with("kv_cache_block_type", "fraction")
        .joined(Joined::Max),
    metric("nv_inference_pending_request_count", Gauge(Waiting)).joined(Joined::Alone).old(),
    metric("nv_inference_request_success", Counter(RequestsFinished)).joined(Joined::Alone),
    metric("nv_inference_queue_duration_us", SumOf(QueueTime)).joined(Joined::Alone).scaled(1e-6),
    metric("nv_inference_request_success", CountOf(QueueTime)).joined(Joined::Alone),
    metric("nv_inference_request_duration_us", SumOf(EndToEnd)).joined(Joined::Alone).scaled(1e-6),
    metric("nv_inference_request_success", CountOf(EndToEnd)).joined(Joined::Alone),
    metric("nv_gpu_utilization", Gauge(GpuUtilization)).joined(Joined::Mean),
    metric("nv_energy_consumption", Counter(Energy)),
];

const DCGM: &[MetricName] = &[
    metric("DCGM_FI_DEV_GPU_UTIL", Gauge(GpuUtilization)).joined(Joined::Mean).scaled(1e-2),
    metric("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", Counter(Energy)).scaled(1e-3),
];

pub(super) fn metrics_of(kind: ServerKind) -> &'static [MetricName] {
    match kind {
        ServerKind::Vllm => VLLM,
        ServerKind::Sglang => SGLANG,
        ServerKind::TensorrtLlm => TENSORRT_LLM,
        ServerKind::Tgi => TGI,
        ServerKind::LlamaCpp => LLAMA_CPP,
        ServerKind::Triton => TRITON,
        ServerKind::Dcgm => DCGM,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_of_its_server_and_feeds_a_thing_once() {
        for kind in ServerKind::ALL {
            let names = metrics_of(kind);
            for (at, entry) in names.iter().enumerate() {
                assert_eq!(ServerKind::of_metric(entry.name), Some(kind), "{}", entry.name);
                let same = |other: &&MetricName| {
                    (other.name, other.label, other.feeds) == (entry.name, entry.label, entry.feeds)
                };
                assert!(!names[..at].iter().any(|other| same(&other)), "{}", entry.name);
            }
        }
    }

    #[test]
    fn names_tell_the_server() {
        for (name, kind) in [
            ("vllm:num_requests_running", Some(ServerKind::Vllm)),
            ("sglang:num_running_reqs", Some(ServerKind::Sglang)),
            ("trtllm_num_requests_running", Some(ServerKind::TensorrtLlm)),
            ("tgi_queue_size", Some(ServerKind::Tgi)),
            ("llamacpp:requests_processing", Some(ServerKind::LlamaCpp)),
            ("nv_inference_count", Some(ServerKind::Triton)),
            ("DCGM_FI_DEV_GPU_UTIL", Some(ServerKind::Dcgm)),
            ("process_cpu_seconds_total", None),
            ("my_vllm:x", None),
            ("", None),
        ] {
            assert_eq!(ServerKind::of_metric(name), kind, "{name}");
        }
        for kind in ServerKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
    }
}
