//! Runs one level: sends, records, reads the server's metrics.

use std::sync::Arc;
use std::time::Duration;

use hdrhistogram::Histogram;
use rooflens_load::engine;
use rooflens_load::plan::{LoadLimits, LoadPlan, LoadTarget, Pace};
use rooflens_load::record::LoadOutcome;
use rooflens_load::scrape::{HttpError, PlainClient, ScrapeSettings, Scraper, ServerSeries};
use rooflens_load::why::LoadEvidence;
use rooflens_load::workload::{
    self, TokenCounter, TokenCounts, TokenReconciliation, WorkloadSpec, reconcile,
};
use rooflens_schema::tables::{Requests, Tokens};
use rooflens_schema::{Opt, RunDir};

use super::document::{ErrorCount, ProfileFacts, RequestCounts, TokenTotals, WorkerFacts};
use super::levels::BenchLevel;
use super::profile::ServerProfiling;
use super::progress_file::ProgressFile;
use super::recorder::Recorder;
use super::request::BenchRequest;
use super::watch::{BreachWatch, Watching};
use crate::error::{BenchError, Error};
use crate::observer::{Event, SharedObserver};

/// Answers whose text is kept to count their tokens with the tokenizer.
const COUNTED_TEXTS: u64 = 64;
/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// What all levels at one server share.
pub(crate) struct LevelSession<'a> {
    /// What is asked.
    pub(crate) request: &'a BenchRequest,
    /// The server's address.
    pub(crate) url: String,
    /// What is sent.
    pub(crate) spec: WorkloadSpec,
    /// For everything but the load itself.
    pub(crate) client: PlainClient,
    /// Limits of single requests, for a profile at the first breach.
    pub(crate) breach: &'a (dyn Fn() -> BreachWatch + Sync),
    /// The most requests that the server runs at once, where whoever started it knows.
    pub(crate) running_limit: Option<f64>,
    /// Where a server that we started writes traces.
    pub(crate) traces: Option<std::path::PathBuf>,
}

/// What a level left.
pub(crate) struct LevelRun {
    /// The level.
    pub(crate) level: BenchLevel,
    /// The server's address.
    pub(crate) url: String,
    /// Where its tables are.
    pub(crate) folder: RunDir,
    /// Its requests.
    pub(crate) requests: Requests,
    /// What became of them.
    pub(crate) counts: RequestCounts,
    /// Failed ones by kind.
    pub(crate) errors: Vec<ErrorCount>,
    /// Tokens.
    pub(crate) tokens: TokenTotals,
    /// Rows of `tokens`.
    pub(crate) chunks: u64,
    /// A few chunks of each request.
    pub(crate) brief: Tokens,
    /// What tells why latency is what it is.
    pub(crate) evidence: LoadEvidence,
    /// When a profile kept the server from its work.
    pub(crate) profiled: Vec<(i64, i64)>,
    /// Gaps between tokens.
    pub(crate) gaps: Histogram<u64>,
    /// The engine's account.
    pub(crate) outcome: LoadOutcome,
    /// The server's metrics.
    pub(crate) series: Option<ServerSeries>,
    /// A profile that was taken.
    pub(crate) profile: Option<ProfileFacts>,
    /// What was sent, in words.
    pub(crate) workload: String,
    /// Who sent it, if not this process.
    pub(crate) workers: Vec<WorkerFacts>,
}

impl LevelSession<'_> {
    /// Runs a level; its tables go to a folder.
    pub(crate) fn run(
        &self,
        level: BenchLevel,
        folder: RunDir,
        observer: &SharedObserver,
    ) -> Result<LevelRun, Error> {
        let load = |error: &dyn std::fmt::Display| Error::from(BenchError::Load(error.to_string()));
        folder.create().map_err(Error::UnwritableTables)?;
        let opened = workload::open(&self.spec).map_err(BenchError::from)?;
        if matches!(level.pace, Pace::Replay { .. }) && opened.facts.arrival_span_s.is_none() {
            let fact = "--replay needs a dataset with arrival times: a Mooncake or BurstGPT trace; for others use --rate";
            return Err(BenchError::Workload(fact.to_owned()).into());
        }
        let breach = Arc::new((self.breach)());
        let mut recorder = Recorder::new(&folder.table("tokens"), level.is_scheduled(), Some(&breach))
            .map_err(Error::UnwritableTables)?;
        let plan = self.plan(&level, opened.tokens.is_some());
        let scraper = self.scraper(observer);
        let profiling = ServerProfiling::start(self, &breach);
        let file = ProgressFile::begin(&folder);
        let watching = Watching { observer, what: &level.facts.offered, of: plan.limits.requests, file };
        let sent = match &self.request.workers {
            None => engine::run(&plan, opened.source, &mut recorder, &watching)
                .map(|outcome| (outcome, Vec::new()))
                .map_err(|error| load(&error)),
            Some(workers) => super::workers::run(workers, &plan, &self.spec, &mut recorder, &watching),
        };
        observer.event(&Event::Loaded);
        let profile = profiling.map(ServerProfiling::finish);
        let series = scraper.map(Scraper::stop);
        let (outcome, workers) = sent?;
        recorder.finish().map_err(Error::UnwritableTables)?;
        let reconciliation = opened.tokens.as_ref().map(|tokens| count_texts(&mut recorder, tokens));
        let mut run = LevelRun {
            errors: recorder.errors(),
            requests: std::mem::take(&mut recorder.requests),
            counts: RequestCounts { not_sent: outcome.not_sent, ..recorder.counts.clone() },
            tokens: TokenTotals { reconciliation, ..recorder.tokens.clone() },
            chunks: recorder.chunks,
            brief: std::mem::take(&mut recorder.brief),
            gaps: recorder.gaps.clone(),
            evidence: std::mem::take(&mut recorder.evidence),
            profiled: profile
                .iter()
                .map(|profile: &ProfileFacts| (profile.from_ns, profile.written_ns))
                .collect(),
            series: series.map(|series| series.on_clock(outcome.base_unix_ns)),
            outcome,
            profile,
            workload: opened.description,
            workers,
            url: self.url.clone(),
            level,
            folder,
        };
        if let Some(series) = &mut run.series {
            series.busy = Some((0, run.outcome.span_ns));
            series.running_limit = self.running_limit.or(series.running_limit);
        }
        Ok(run)
    }

    fn plan(&self, level: &BenchLevel, has_tokenizer: bool) -> LoadPlan {
        let (http, extent) = (&self.request.http, &self.request.extent);
        LoadPlan {
            target: LoadTarget {
                url: self.url.clone(),
                api: self.request.api,
                headers: http.headers.clone(),
                http2: http.http2,
                insecure: http.insecure,
                ca_file: http.ca_file.clone(),
                gzip: http.gzip,
                connect_timeout: CONNECT_TIMEOUT.min(http.timeout),
                timeout: http.timeout,
            },
            pace: level.pace.clone(),
            limits: LoadLimits { requests: extent.requests, duration: extent.duration, drain: extent.drain },
            threads: extent.threads,
            seed: self.request.workload.seed,
            share: (0, 1),
            keep_texts: if has_tokenizer { COUNTED_TEXTS } else { 0 },
        }
    }

    /// Reads the server's metrics, if it has any.
    fn scraper(&self, observer: &SharedObserver) -> Option<Scraper> {
        let wanted = &self.request.scrape;
        if !wanted.is_on {
            return None;
        }
        let urls = wanted
            .url
            .clone()
            .map_or_else(|| ScrapeSettings::candidates(&self.url).to_vec(), |url| vec![url]);
        let tell = |url: &str, error: &HttpError| observer.detail(&format!("{url}: {error}"));
        let found = Scraper::start_at_first(&urls, &self.client, wanted.interval, tell);
        if let (None, Some(url)) = (&found, &wanted.url) {
            observer.warn(&format!("{url} gives no metrics that are known"));
        }
        found
    }
}

/// Counts the tokens of kept texts: where the server does not say, they are what counts; where it does, both are
/// compared.
fn count_texts(recorder: &mut Recorder<'_>, tokens: &TokenCounter) -> TokenReconciliation {
    let mut counted: Vec<TokenCounts> = Vec::new();
    for (request, server, text) in std::mem::take(&mut recorder.texts) {
        let own = tokens.count(&text).map(u64::from);
        match (server, own) {
            (None, Some(own)) => {
                // Its chunks were taken for tokens until now.
                let chunks = recorder.requests.output_tokens[request].get().unwrap_or(0);
                recorder.tokens.output = recorder.tokens.output.saturating_sub(chunks.unsigned_abs());
                recorder.requests.output_tokens[request] = Opt::some(i64::try_from(own).unwrap_or(i64::MAX));
                recorder.tokens.output += own;
                recorder.tokens.counted_by_tokenizer += 1;
                recorder.tokens.counted_by_chunks = recorder.tokens.counted_by_chunks.saturating_sub(1);
            }
            _ => {
                counted.push(TokenCounts { server_output: server, own_output: own, ..TokenCounts::default() })
            }
        }
    }
    counted.extend(recorder.prompts.drain(..).map(|(own, server)| TokenCounts {
        server_prompt: Some(server),
        own_prompt: Some(own),
        ..TokenCounts::default()
    }));
    reconcile(counted)
}
