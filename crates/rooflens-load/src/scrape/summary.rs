//! What a server's metrics come to.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::names::{ServerCounter, ServerDistribution, ServerGauge, ServerKind};
use super::series::{NoDifference, ServerSeries};

/// A server's own view of a load test. Counts and times are from the first page of its metrics to the last.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ServerSummary {
    /// The program.
    pub kind: Option<ServerKind>,
    /// Its version.
    pub version: Option<String>,
    /// Pages of metrics that were read.
    pub(crate) pages: u64,
    /// Pages that could not be had or read.
    pub(crate) failed_pages: u64,
    /// From the first page to the last.
    pub(crate) span_ns: Option<i64>,
    /// The most requests that may run at once.
    pub(crate) running_limit: Option<f64>,
    /// Running requests: mean over time.
    pub running_mean: Option<f64>,
    /// Most in any page.
    pub running_max: Option<f64>,
    /// Requests in the queue: mean over time.
    pub waiting_mean: Option<f64>,
    /// Most in any page.
    pub waiting_max: Option<f64>,
    /// Used share of the KV cache, 0 to 1: mean over time.
    pub(crate) kv_cache_usage_mean: Option<f64>,
    /// Most in any page.
    pub kv_cache_usage_max: Option<f64>,
    /// Requests taken out of the running batch for want of KV cache.
    pub preemptions: Option<f64>,
    /// Tokens of prompts, as the server counted them.
    pub(crate) prompt_tokens: Option<f64>,
    /// Tokens of output, as the server counted them.
    pub(crate) generated_tokens: Option<f64>,
    /// Requests that ended.
    pub(crate) requests_finished: Option<f64>,
    /// Share of prompt tokens that came from the prefix cache, 0 to 1.
    pub prefix_hit_rate: Option<f64>,
    /// Share of drafted tokens that were accepted, 0 to 1.
    pub acceptance_rate: Option<f64>,
    /// Mean time of a request in the server's queue.
    pub queue_time_mean_ns: Option<f64>,
    /// Mean time from being scheduled to the first token.
    pub prefill_time_mean_ns: Option<f64>,
    /// Mean time from the first token to the last.
    pub(crate) decode_time_mean_ns: Option<f64>,
    /// Mean time to the first token.
    pub(crate) ttft_mean_ns: Option<f64>,
    /// Mean time between tokens.
    pub(crate) itl_mean_ns: Option<f64>,
    /// Mean time of a whole request.
    pub(crate) e2e_mean_ns: Option<f64>,
    /// Mean tokens of an engine step.
    pub(crate) tokens_per_step: Option<f64>,
    /// Busy share of devices, 0 to 1: mean over time.
    pub(crate) gpu_utilization_mean: Option<f64>,
    /// Energy of all devices, in joules.
    pub energy_j: Option<f64>,
    /// What went wrong while reading.
    pub(crate) errors: Vec<String>,
    /// What is null, and why.
    pub(crate) not_computed: BTreeMap<Cow<'static, str>, Cow<'static, str>>,
}

impl ServerSummary {
    /// Sums a series up.
    pub fn of(series: &ServerSeries) -> Self {
        let mut summary = ServerSummary {
            kind: series.kind,
            version: series.version.clone(),
            pages: series.pages,
            failed_pages: series.failed_pages,
            span_ns: series.ends().map(|(first, last)| last.ts_ns - first.ts_ns),
            errors: series.errors.clone(),
            ..ServerSummary::default()
        };
        let mut told = Told { series, not_computed: BTreeMap::new() };
        if series.running_limit.is_none() {
            told.without("running_limit", "neither the server nor a setting tells");
        }
        summary.running_limit = series.running_limit;
        (summary.running_mean, summary.running_max) =
            told.gauge(ServerGauge::Running, "running_mean", Some("running_max"));
        (summary.waiting_mean, summary.waiting_max) =
            told.gauge(ServerGauge::Waiting, "waiting_mean", Some("waiting_max"));
        (summary.kv_cache_usage_mean, summary.kv_cache_usage_max) =
            told.gauge(ServerGauge::KvCacheUsage, "kv_cache_usage_mean", Some("kv_cache_usage_max"));
        summary.gpu_utilization_mean =
            told.gauge(ServerGauge::GpuUtilization, "gpu_utilization_mean", None).0;
        summary.preemptions = told.counter(ServerCounter::Preemptions, "preemptions");
        summary.prompt_tokens = told.counter(ServerCounter::PromptTokens, "prompt_tokens");
        summary.generated_tokens = told.counter(ServerCounter::GeneratedTokens, "generated_tokens");
        summary.requests_finished = told.counter(ServerCounter::RequestsFinished, "requests_finished");
        summary.energy_j = told.counter(ServerCounter::Energy, "energy_j");
        summary.prefix_hit_rate =
            told.share(ServerCounter::PrefixHits, ServerCounter::PrefixQueries, "prefix_hit_rate");
        summary.acceptance_rate =
            told.share(ServerCounter::AcceptedTokens, ServerCounter::DraftTokens, "acceptance_rate");
        let mut time = |one, name| told.mean(one, name).map(|seconds| seconds * 1e9);
        summary.queue_time_mean_ns = time(ServerDistribution::QueueTime, "queue_time_mean_ns");
        summary.prefill_time_mean_ns = time(ServerDistribution::PrefillTime, "prefill_time_mean_ns");
        summary.decode_time_mean_ns = time(ServerDistribution::DecodeTime, "decode_time_mean_ns");
        summary.ttft_mean_ns = time(ServerDistribution::TimeToFirstToken, "ttft_mean_ns");
        summary.itl_mean_ns = time(ServerDistribution::InterTokenLatency, "itl_mean_ns");
        summary.e2e_mean_ns = time(ServerDistribution::EndToEnd, "e2e_mean_ns");
        summary.tokens_per_step = told.mean(ServerDistribution::IterationTokens, "tokens_per_step");
        summary.not_computed = told.not_computed;
        summary
    }
}

struct Told<'a> {
    series: &'a ServerSeries,
    not_computed: BTreeMap<Cow<'static, str>, Cow<'static, str>>,
}

impl Told<'_> {
    fn without(&mut self, name: &'static str, why: impl Into<Cow<'static, str>>) {
        self.not_computed.insert(name.into(), why.into());
    }

    fn reason(&self, why: NoDifference) -> String {
        match (why, self.series.kind) {
            (NoDifference::NotGiven, Some(kind)) => format!("{} does not give it", kind.title()),
            (why, _) => why.to_string(),
        }
    }

    fn difference<T>(&mut self, name: &'static str, value: Result<T, NoDifference>) -> Option<T> {
        match value {
            Ok(value) => Some(value),
            Err(why) => {
                let reason = self.reason(why);
                self.without(name, reason);
                None
            }
        }
    }

    fn counter(&mut self, counter: ServerCounter, name: &'static str) -> Option<f64> {
        let grown = self.series.grown(counter);
        self.difference(name, grown)
    }

    fn share(&mut self, part: ServerCounter, whole: ServerCounter, name: &'static str) -> Option<f64> {
        let both = self.series.grown(part).and_then(|part| Ok((part, self.series.grown(whole)?)));
        let (part, whole) = self.difference(name, both)?;
        if whole <= 0.0 {
            self.without(name, "there were none in this time");
            return None;
        }
        Some(part / whole)
    }

    fn mean(&mut self, one: ServerDistribution, name: &'static str) -> Option<f64> {
        let added = self.series.added(one);
        let (sum, count) = self.difference(name, added)?;
        if count <= 0.0 {
            self.without(name, "no request ended in this time");
            return None;
        }
        Some(sum / count)
    }

    fn gauge(
        &mut self,
        gauge: ServerGauge,
        mean: &'static str,
        max: Option<&'static str>,
    ) -> (Option<f64>, Option<f64>) {
        let values: Vec<(i64, f64)> = self
            .series
            .samples
            .iter()
            .filter_map(|sample| Some((sample.ts_ns, sample.gauge(gauge)?)))
            .collect();
        let most = values.iter().map(|(_, value)| *value).reduce(f64::max);
        let is_busy =
            |(ts_ns, _): &&(i64, f64)| self.series.busy.is_none_or(|(from, to)| (from..=to).contains(ts_ns));
        let busy: Vec<(i64, f64)> = values.iter().filter(is_busy).copied().collect();
        // A load test that is shorter than two pages are apart has only its surroundings.
        let values = if busy.len() >= 2 { busy } else { values };
        let span: i64 = values.windows(2).map(|two| two[1].0 - two[0].0).sum();
        let area: f64 =
            values.windows(2).map(|two| (two[1].0 - two[0].0) as f64 * (two[0].1 + two[1].1) / 2.0).sum();
        let over_time = (span > 0).then(|| area / span as f64);
        let why = if most.is_some() { NoDifference::TooFewPages } else { NoDifference::NotGiven };
        let reason = if self.series.kind.is_none() { NoDifference::TooFewPages } else { why };
        let reason = self.reason(reason);
        if over_time.is_none() {
            self.without(mean, reason.clone());
        }
        if let Some(max) = max.filter(|_| most.is_none()) {
            self.without(max, reason);
        }
        (over_time, most)
    }
}
