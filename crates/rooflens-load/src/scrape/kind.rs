//! Which program a page of metrics is of.

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
    pub const ALL: [ServerKind; 7] = [
        ServerKind::Vllm,
        ServerKind::Sglang,
        ServerKind::TensorrtLlm,
        ServerKind::Tgi,
        ServerKind::LlamaCpp,
        ServerKind::Triton,
        ServerKind::Dcgm,
    ];

    /// Its name in documents.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ServerKind::Vllm => "vllm",
            ServerKind::Sglang => "sglang",
            ServerKind::TensorrtLlm => "tensorrt_llm",
            ServerKind::Tgi => "tgi",
            ServerKind::LlamaCpp => "llama_cpp",
            ServerKind::Triton => "triton",
            ServerKind::Dcgm => "dcgm",
        }
    }

    /// Its name in text.
    #[must_use]
    pub(crate) fn title(self) -> &'static str {
        match self {
            ServerKind::Vllm => "vLLM",
            ServerKind::Sglang => "SGLang",
            ServerKind::TensorrtLlm => "TensorRT-LLM",
            ServerKind::Tgi => "TGI",
            ServerKind::LlamaCpp => "llama.cpp",
            ServerKind::Triton => "Triton",
            ServerKind::Dcgm => "the DCGM exporter",
        }
    }

    /// Paths that its metrics may have, the usual one first.
    #[must_use]
    pub(crate) fn metrics_path(self) -> &'static str {
        match self {
            // Its /metrics is JSON about iterations.
            ServerKind::TensorrtLlm => "/prometheus/metrics",
            _ => "/metrics",
        }
    }

    /// What its names begin with.
    fn prefixes(self) -> &'static [&'static str] {
        match self {
            ServerKind::Vllm => &["vllm:"],
            ServerKind::Sglang => &["sglang:"],
            ServerKind::TensorrtLlm => &["trtllm_"],
            ServerKind::Tgi => &["tgi_"],
            ServerKind::LlamaCpp => &["llamacpp:"],
            ServerKind::Triton => &["nv_"],
            ServerKind::Dcgm => &["DCGM_FI_"],
        }
    }

    /// The program that a metric of this name is of.
    #[must_use]
    pub(crate) fn of_metric(name: &str) -> Option<ServerKind> {
        Self::ALL.into_iter().find(|kind| kind.prefixes().iter().any(|prefix| name.starts_with(prefix)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
