//! `report/metrics.json` of a load test, and what `rooflens bench --format json` prints.

use std::collections::BTreeMap;

use rooflens_analyze::compare::load::account::SlowRequests;
use rooflens_analyze::compare::load::slo::{Goodput, ObjectiveResult};
use rooflens_analyze::compare::load::steady::Steadiness;
use rooflens_load::record::ClientHealth;
use rooflens_load::scrape::ServerSummary;
use rooflens_load::why::LatencyFinding;
use rooflens_load::workload::TokenReconciliation;
use rooflens_report::bench::LevelRow;
use rooflens_schema::SchemaTag;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::efficiency::DecodeEfficiency;
use crate::run::StepFacts;
use crate::run::metrics::{Measured, Spread};

/// The numbers of a load test. Of several levels, those of the level that the headline is of, and a line for each.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct BenchDocument {
    /// `rooflens.bench`.
    pub(crate) schema: SchemaTag,
    /// `complete`, or `incomplete` if it was stopped or a worker was lost.
    pub(crate) status: String,
    /// The folder's name; empty if nothing was saved.
    pub(crate) run: String,
    /// The server.
    pub server: ServerFacts,
    /// What was offered.
    pub load: LoadFacts,
    /// What was sent, in words.
    pub workload: String,
    /// Headline metrics by key, over measured requests; null where one was not measured.
    pub headline: BTreeMap<String, Option<f64>>,
    /// 95 % confidence intervals of headline metrics, where there are enough requests.
    pub intervals: BTreeMap<String, [f64; 2]>,
    /// Whether the client kept up.
    pub client: ClientHealth,
    /// What became of the requests.
    pub requests: RequestCounts,
    /// Failed requests by kind, the most frequent first.
    pub errors: Vec<ErrorCount>,
    /// Tokens of completed requests.
    pub(crate) tokens: TokenTotals,
    /// Objectives of `--slo`.
    pub(crate) objectives: Vec<ObjectiveResult>,
    /// Whether all are met; null without any, or where one could not be decided.
    pub slo_met: Option<bool>,
    /// Requests that meet the objectives that apply to a single request; null without any.
    pub(crate) goodput: Option<Goodput>,
    /// Where latency goes, and why, in a sentence; null where nothing stands out.
    pub why: Option<LatencyFinding>,
    /// Mean time of a measured request, by part; they add up to the mean latency.
    pub(crate) latency_parts: Vec<PartMean>,
    /// Which part makes the slowest hundredth of the requests slow; null where they are like the others.
    pub(crate) slowest: Option<SlowRequests>,
    /// Requests at the beginning that do not count.
    pub(crate) warmup: WarmupFacts,
    /// Whether load and latency were steady.
    pub(crate) steady: Steadiness,
    /// From the schedule to being sent; null in a closed loop.
    pub(crate) client_wait_ns: Option<Spread>,
    /// TTFT that arrivals at the closed loop's own median pace would have seen (coordinated omission corrected); null
    /// in an open loop.
    pub(crate) ttft_at_pace_ns: Option<Spread>,
    /// What the server's own metrics say; null where it gives none.
    pub(crate) server_metrics: Option<ServerSummary>,
    /// Decoding against the lower bound of the model; null without `--model-config`.
    pub(crate) efficiency: Option<DecodeEfficiency>,
    /// Device energy per output token, in joules; null where no device was sampled.
    pub(crate) energy_per_token_j: Option<f64>,
    /// A profile that was taken meanwhile.
    pub(crate) profile: Option<ProfileFacts>,
    /// Levels of a sweep or search, in the order in which they were run; empty for one level.
    pub(crate) levels: Vec<LevelDocument>,
    /// What a search for the highest rate found.
    pub(crate) search: Option<SearchFacts>,
    /// Workers, if others sent the load.
    pub(crate) workers: Vec<WorkerFacts>,
    /// How the load test ended, as the steps of a run.
    pub(crate) steps: Vec<StepFacts>,
    /// The measured numbers in the form that every run has.
    pub(crate) measured: Option<Measured>,
    /// What is null, and why.
    pub not_computed: BTreeMap<String, String>,
}

impl BenchDocument {
    /// Its levels, as rows of a table and points of a chart.
    pub fn level_rows(&self) -> Vec<LevelRow> {
        let row = |level: &LevelDocument| {
            let of = |key: &str| level.headline.get(key).copied().flatten();
            LevelRow {
                offered: level.offered.clone(),
                requests_per_s: of("requests_per_s"),
                output_tokens_per_s: of("output_tokens_per_s"),
                per_user: of("output_tokens_per_s_per_user"),
                ttft_ns: of("ttft_p50_ns").zip(of("ttft_p99_ns")),
                tpot_ns: of("tpot_p50_ns").zip(of("tpot_p99_ns")),
                failed: level.error_rate,
                is_met: level.slo_met,
                is_valid: level.valid,
                is_front: level.pareto,
                is_headline: level.is_headline,
                report: level.folder.as_ref().map(|folder| format!("../{folder}/report/index.html")),
            }
        };
        self.levels.iter().map(row).collect()
    }
}

/// The server.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ServerFacts {
    /// Its address.
    pub(crate) url: String,
    /// The endpoint, as `completions`.
    pub(crate) api: String,
    /// Model name in the requests.
    pub model: String,
    /// What it is, by its metrics or as it was started: `vllm`, `sglang` …; null where that is not known.
    pub kind: Option<String>,
    /// Its version.
    pub(crate) version: Option<String>,
    /// Flags that it was started with.
    pub(crate) flags: BTreeMap<String, String>,
}

/// What was offered.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct LoadFacts {
    /// In words: `16 users`, `4 requests/s`.
    pub offered: String,
    /// `closed`, `open` or `replay`.
    pub(crate) mode: String,
    /// Users of a closed loop.
    pub(crate) concurrency: Option<usize>,
    /// Requests per second of an open loop, at its end.
    pub(crate) rate: Option<f64>,
    /// Limit of requests in progress.
    pub(crate) max_concurrency: Option<usize>,
    /// Arrivals: `poisson`, `constant`, `gamma:0.5`.
    pub(crate) arrivals: Option<String>,
    /// Seed of prompts and arrivals.
    pub(crate) seed: u64,
}

/// What became of the requests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequestCounts {
    /// Sent, or tried to.
    pub sent: u64,
    /// With a whole answer.
    pub completed: u64,
    /// Refused, broken or answered with an error.
    pub failed: u64,
    /// Longer than `--timeout`.
    pub(crate) timed_out: u64,
    /// Ended by the client, at the end of the test.
    pub(crate) cancelled: u64,
    /// Due but not sent, as the test ended before.
    pub(crate) not_sent: u64,
}

/// Failed requests of a kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorCount {
    /// The kind, as `http_429`.
    pub kind: String,
    /// How many.
    pub requests: u64,
    /// The message of the first.
    pub example: String,
}

/// Tokens of all completed requests, with the warm-up.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct TokenTotals {
    /// Of the prompts.
    pub(crate) prompt: u64,
    /// Of the prompts, from the prefix cache; null where the server does not say.
    pub(crate) cached: Option<u64>,
    /// Of the outputs.
    pub(crate) output: u64,
    /// Requests whose output tokens the server counted (`usage`).
    pub(crate) counted_by_server: u64,
    /// Requests whose output tokens were counted with the tokenizer.
    pub(crate) counted_by_tokenizer: u64,
    /// Requests whose output tokens are taken to be their chunks, as nobody counted them.
    pub(crate) counted_by_chunks: u64,
    /// The server's counts beside those of the tokenizer; null without a tokenizer.
    pub(crate) reconciliation: Option<TokenReconciliation>,
}

/// A part of latency.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct PartMean {
    /// Which.
    pub(crate) part: String,
    /// Mean over measured requests.
    pub(crate) mean_ns: f64,
    /// Mean over the slowest hundredth.
    pub(crate) slowest_ns: f64,
    /// Share of the mean latency.
    pub(crate) share: f64,
}

/// Requests at the beginning that do not count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct WarmupFacts {
    /// How many.
    pub(crate) requests: u64,
    /// How they were chosen.
    pub(crate) rule: String,
}

/// A profile of the server.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ProfileFacts {
    /// What started it.
    pub(crate) trigger: String,
    /// When it began, since the begin of the load test.
    pub(crate) from_ns: i64,
    /// When it ended.
    pub(crate) to_ns: i64,
    /// When the server had written its traces.
    pub(crate) written_ns: i64,
    /// Traces that it left, in the run directory or where the server wrote them.
    pub(crate) traces: Vec<String>,
    /// What the analysis of the traces says first.
    pub(crate) verdict: Option<String>,
    /// What went wrong.
    pub(crate) problem: Option<String>,
}

/// A level of a sweep or a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LevelDocument {
    /// What was offered, in words.
    pub(crate) offered: String,
    /// Its folder, from that of the run; null if nothing was saved.
    pub(crate) folder: Option<String>,
    /// Headline metrics.
    pub(crate) headline: BTreeMap<String, Option<f64>>,
    /// Share of requests that did not complete.
    pub(crate) error_rate: Option<f64>,
    /// Whether the client kept up.
    pub(crate) valid: bool,
    /// Whether the objectives are met.
    pub(crate) slo_met: Option<bool>,
    /// Requests that meet the objectives, per second.
    pub(crate) goodput_requests_per_s: Option<f64>,
    /// Whether no other level has both more output tokens per second and more per user.
    pub(crate) pareto: bool,
    /// Whether the headline of the document is of this level.
    pub(crate) is_headline: bool,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SearchFacts {
    /// The highest rate that met the objectives; null where none did.
    pub(crate) highest_met: Option<f64>,
    /// The lowest rate that did not; null where all did.
    pub(crate) lowest_missed: Option<f64>,
    /// How it ended.
    pub(crate) finding: String,
}

/// A worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct WorkerFacts {
    /// Its address.
    pub(crate) address: String,
    /// Requests that it reported.
    pub(crate) requests: u64,
    /// How its clock differs from ours.
    pub(crate) clock_offset_ns: Option<i64>,
    /// Uncertainty of that.
    pub(crate) clock_error_ns: Option<i64>,
    /// Why it was lost; null if it was not.
    pub(crate) lost: Option<String>,
}

impl WorkerFacts {
    pub(crate) fn lost_words(&self) -> Option<String> {
        let why = self.lost.as_ref()?;
        Some(format!("worker {} was lost after {} requests: {why}", self.address, self.requests))
    }
}
