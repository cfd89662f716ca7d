//! Where the time of requests goes: one cause, by rules over what the client saw and what the server said of itself.
//! Where nothing is clear, nothing is said.
//!
//! * `evidence`: times of requests and chunks, and the stalls in them; `parts`: how the latency divides;
//! * `rules`: which cause it is; `words`: how that is said.

mod evidence;
mod parts;
mod rules;
#[cfg(test)]
mod tests;
mod words;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use evidence::LoadEvidence;
pub(crate) use parts::MeanLatency;
pub use rules::{LoadContext, find_latency_cause};

/// Why latency is what it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyFinding {
    /// The cause.
    pub cause: LatencyCause,
    /// How the mean latency divides.
    pub(crate) parts: MeanLatency,
    /// The same as a sentence.
    pub sentence: String,
}

/// A cause of latency.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum LatencyCause {
    /// The client was the bottleneck: nothing can be said of the server.
    Client {
        /// Why the client says so.
        reasons: Vec<String>,
    },
    /// Requests wait in the client, as only so many may be in progress.
    ConcurrencyCap {
        /// Mean time from the schedule to being sent.
        wait_ns: f64,
    },
    /// No stream got a token for some time, though streams were in the midst of their output.
    Stalls {
        /// How many times.
        count: usize,
        /// The longest.
        longest_ns: i64,
        /// All together.
        total_ns: i64,
        /// Mean time of a request within them.
        per_request_ns: f64,
        /// Those that end with the first token of a request that was sent before.
        with_prefill: usize,
    },
    /// The KV cache is full: requests wait, or are preempted and computed again.
    KvCacheFull {
        /// Preemptions.
        preemptions: Option<f64>,
        /// Most used share.
        usage_max: Option<f64>,
    },
    /// As many requests run as may.
    RunningLimit {
        /// The limit.
        limit: f64,
        /// The flag that sets it.
        flag: Option<String>,
        /// Most used share of the KV cache.
        kv_cache_usage_max: Option<f64>,
    },
    /// Requests wait in the queue, and neither the KV cache nor a limit of running requests says why.
    Queue {
        /// Mean running requests.
        running_mean: Option<f64>,
        /// Most used share of the KV cache.
        kv_cache_usage_max: Option<f64>,
    },
    /// From being scheduled to the first token.
    Prefill {
        /// Mean tokens of a prompt.
        prompt_tokens: Option<f64>,
        /// Share of them from the prefix cache.
        prefix_hit_rate: Option<f64>,
    },
    /// From the first token to the last.
    Decode {
        /// Mean running requests.
        running_mean: Option<f64>,
    },
    /// Before and after the engine: the HTTP front end, tokenisation, the network.
    FrontEnd,
}
