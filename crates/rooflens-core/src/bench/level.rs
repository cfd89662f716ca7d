//! Runs one level: sends, records, reads the server's metrics.

use std::sync::Arc;

use hdrhistogram::Histogram;
use rooflens_analyze::compare::load::slo::Slo;
use rooflens_load::engine;
use rooflens_load::plan::{LoadPlan, LoadTarget, Pace};
use rooflens_load::record::LoadOutcome;
use rooflens_load::scrape::{HttpError, PlainClient, Scraper, ServerSeries};
use rooflens_load::why::LoadEvidence;
use rooflens_load::workload::{
    self, TokenCounter, TokenCounts, TokenReconciliation, WorkloadSpec, reconcile,
};
use rooflens_schema::tables::{Requests, Tokens};
use rooflens_schema::{Opt, RunDir};

use super::document::{ErrorCount, ProfileFacts, RequestCounts, TokenTotals, WorkerFacts};
use super::levels::BenchLevel;
use super::profile::ServerProfiling;
use super::recorder::Recorder;
use super::request::BenchRequest;
use super::watch::{BreachWatch, ProgressFile, Watching};
use crate::error::{BenchError, Error};
use crate::observer::{Event, SharedObserver};

const COUNTED_TEXTS: u64 = 64;

pub(crate) struct LevelSession<'a> {
    pub(crate) request: &'a BenchRequest,
    pub(crate) url: String,
    pub(crate) spec: WorkloadSpec,
    pub(crate) client: PlainClient,
    pub(crate) slo: Option<Slo>,
    pub(crate) running_limit: Option<f64>,
    pub(crate) traces: Option<std::path::PathBuf>,
}

pub(crate) struct LevelRun {
    pub(crate) level: BenchLevel,
    pub(crate) url: String,
    pub(crate) folder: RunDir,
    pub(crate) requests: Requests,
    pub(crate) counts: RequestCounts,
    pub(crate) errors: Vec<ErrorCount>,
    pub(crate) tokens: TokenTotals,
    pub(crate) chunks: u64,
    pub(crate) brief: Tokens,
    pub(crate) evidence: LoadEvidence,
    pub(crate) profiled: Vec<(i64, i64)>,
    pub(crate) gaps: Histogram<u64>,
    pub(crate) outcome: LoadOutcome,
    pub(crate) series: Option<ServerSeries>,
    pub(crate) profile: Option<ProfileFacts>,
    pub(crate) workload: String,
    pub(crate) workers: Vec<WorkerFacts>,
}

impl LevelSession<'_> {
    pub(crate) fn run(
        &self,
        level: BenchLevel,
        folder: RunDir,
        observer: &SharedObserver,
    ) -> Result<LevelRun, Error> {
        folder.create().map_err(Error::unwritable_tables)?;
        let opened = workload::open(&self.spec).map_err(BenchError::from)?;
        if matches!(level.pace, Pace::Replay { .. }) && opened.arrival_span_s.is_none() {
            let fact = "--replay needs a dataset with arrival times: a Mooncake or BurstGPT trace; for others use --rate";
            return Err(BenchError::Workload(fact.to_owned()).into());
        }
        let breach = Arc::new(BreachWatch::new(self.slo.clone()));
        let mut recorder = Recorder::new(&folder.table("tokens"), level.is_scheduled(), &breach)
            .map_err(Error::unwritable_tables)?;
        let plan = self.plan(&level, opened.tokens.is_some());
        let scraper = self.scraper(observer);
        let profiling = self.request.profile.as_ref().map(|wanted| {
            let headers = &self.client.headers;
            ServerProfiling::start(wanted, &self.url, headers, self.traces.as_ref(), &breach)
        });
        let file = ProgressFile::begin(&folder);
        let watching = Watching { observer, what: &level.facts.offered, of: plan.limits.requests, file };
        let sent = match &self.request.workers {
            None => engine::run(&plan, opened.source, &mut recorder, &watching)
                .map(|outcome| (outcome, Vec::new()))
                .map_err(|error| BenchError::Load(error.to_string()).into()),
            Some(workers) => super::workers::run(workers, &plan, &self.spec, &mut recorder, &watching),
        };
        observer.event(&Event::Loaded);
        let profile = profiling.map(ServerProfiling::finish);
        let series = scraper.map(Scraper::stop);
        let (outcome, workers) = sent?;
        recorder.finish().map_err(Error::unwritable_tables)?;
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
        LoadPlan {
            target: LoadTarget { url: self.url.clone(), ..self.request.target.clone() },
            pace: level.pace.clone(),
            limits: self.request.limits,
            threads: self.request.threads,
            seed: self.request.workload.seed,
            share: (0, 1),
            keep_texts: if has_tokenizer { COUNTED_TEXTS } else { 0 },
        }
    }

    fn scraper(&self, observer: &SharedObserver) -> Option<Scraper> {
        let wanted = &self.request.scrape;
        if !wanted.is_on {
            return None;
        }
        let urls =
            wanted.url.clone().map_or_else(|| Scraper::candidates(&self.url).to_vec(), |url| vec![url]);
        let tell = |url: &str, error: &HttpError| observer.detail(&format!("{url}: {error}"));
        let found = Scraper::start_at_first(&urls, &self.client, wanted.interval, tell);
        if let (None, Some(url)) = (&found, &wanted.url) {
            observer.warn(&format!("{url} gives no metrics that are known"));
        }
        found
    }
}

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
