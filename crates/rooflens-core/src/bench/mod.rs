//! Load tests: what load a server holds, and where latency goes.
//!
//! * `request`: what is asked; `levels`: how hard.
//! * `server`: a server that runs or is started; `level`: one level at it; `recorder`, `watch`, `profile`,
//!   `workers`: what happens meanwhile.
//! * `measure`: rows → numbers; `efficiency`: against the static model; `describe`: numbers → document;
//!   `facts`: document → report; `gates`: whether it fails; `store`: where it is kept.
//! * `against`: two servers in turns; `import`: results of other clients.

mod against;
mod describe;
mod document;
mod efficiency;
mod facts;
mod gates;
mod import;
mod level;
mod levels;
mod measure;
mod profile;
mod recorder;
mod request;
mod server;
mod store;
mod watch;
mod workers;

use std::path::PathBuf;

use rooflens_analyze::compare::load::search::{RateSearch, SearchOptions};
use rooflens_analyze::compare::load::slo::Slo;
use rooflens_load::scrape::PlainClient;
use rooflens_report::bench::BenchFacts;

pub use rooflens_load::cluster::ClusterTls as WorkerTls;
pub use rooflens_load::engine::LoadProgress;
pub use rooflens_load::plan::{Api, ArrivalGaps, LoadLimits, LoadTarget};
pub use rooflens_load::workload::{
    ConversationSpec, LengthSpec, PromptSource, SharedPrefixSpec, WorkloadSpec,
};

pub use self::against::{AgainstOutcome, OtherServer, bench_against};
use self::describe::Described;
pub use self::document::{BenchDocument, LevelDocument};
use self::efficiency::KnownModel;
pub use self::efficiency::ModelOnDevice;
use self::gates::BenchGate;
pub use self::import::{ImportedBench, import_results, is_result};
use self::level::LevelSession;
use self::levels::BenchLevel;
pub use self::request::{
    BenchRequest, BenchServer, LoadLevels, RateLevel, ScrapeOptions, ServerProfileRequest, Warmup,
    WorkerOptions,
};
use self::server::RunningServer;
use self::store::BenchFolder;
pub use self::watch::PROGRESS_FILE;
pub use self::workers::{WorkerRequest, serve as serve_worker};
use crate::error::{BenchError, Error};
use crate::observer::SharedObserver;

const FEWEST_OF_SEARCH: f64 = 5.0;

/// A load test that was made.
pub struct BenchOutcome {
    described: Described,
    /// Gates that failed, and why.
    pub failed_gates: Vec<String>,
    /// The report's page, where the run is kept.
    pub page: Option<PathBuf>,
}

impl BenchOutcome {
    /// The JSON document.
    pub fn document(&self) -> &BenchDocument {
        &self.described.document
    }

    /// For people.
    pub fn facts(&self) -> BenchFacts {
        self.described.facts.clone()
    }

    /// Why the numbers cannot be used, and what helps.
    pub fn failure(&self) -> Option<(String, Option<String>)> {
        let document = self.document();
        if document.requests.sent > 0 && document.requests.completed == 0 {
            let most = document.errors.first();
            let what = most.map_or_else(String::new, |most| {
                format!(": {} × {} ({})", most.requests, most.kind, most.example)
            });
            return Some((
                format!("no request was completed{what}"),
                most.and_then(|most| describe::help(&most.kind)),
            ));
        }
        let reasons = document.client.reasons.join("; ");
        let hint = "use a machine of its own for the client, or several: --workers".to_owned();
        (!document.client.valid).then(|| (format!("the client was the bottleneck: {reasons}"), Some(hint)))
    }
}

struct Asked<'a> {
    request: &'a BenchRequest,
    slo: Option<Slo>,
    gates: Vec<BenchGate>,
    model: Option<KnownModel>,
    store: BenchFolder,
}

/// Makes a load test.
pub fn bench(request: &BenchRequest, observer: &SharedObserver) -> Result<BenchOutcome, Error> {
    let objective = |error: &dyn std::fmt::Display| BenchError::Objective(error.to_string());
    let slo = request.slo.as_deref().map(Slo::parse).transpose().map_err(|error| objective(&error))?;
    let gates = request.fail_on.iter().map(|text| BenchGate::parse(text)).collect::<Result<Vec<_>, _>>()?;
    if slo.is_none() && gates.iter().any(BenchGate::needs_slo) {
        return Err(BenchError::Objective("--fail-on slo needs --slo".to_owned()).into());
    }
    let combinations = server::combinations(&request.server);
    let levels = levels::known(&request.load, &request.limits, request.ramp, request.workload.seed);
    let is_single = combinations.len() == 1 && levels.len() == 1;
    let mut asked = Asked {
        request,
        slo,
        gates,
        model: request.efficiency.as_ref().map(ModelOnDevice::open).transpose()?,
        store: BenchFolder::open(request.output.as_deref(), is_single)?,
    };
    let mut points: Vec<Described> = Vec::new();
    let mut search = None;
    for flags in &combinations {
        if observer.is_stopped() && !points.is_empty() {
            break;
        }
        let folder = asked.store.server_folder(points.len());
        let mut running =
            RunningServer::start(&request.server, flags, &folder, request.profile.is_some(), observer)?;
        let done = asked.load(&mut running, levels.clone(), &mut points, observer);
        running.stop(observer);
        search = done?.or(search);
    }
    asked.finish(points, search)
}

impl Asked<'_> {
    fn load(
        &mut self,
        running: &mut RunningServer,
        levels: Vec<BenchLevel>,
        points: &mut Vec<Described>,
        observer: &SharedObserver,
    ) -> Result<Option<RateSearch>, Error> {
        let client = PlainClient { headers: self.request.target.headers.clone(), ..PlainClient::default() };
        let named = running.served_name.clone().or_else(|| self.request.model.clone());
        let model = named.map_or_else(|| server::first_model(&running.url, &client), Ok)?;
        let session = LevelSession {
            request: self.request,
            url: running.url.clone(),
            spec: WorkloadSpec { model, ..self.request.workload.clone() },
            client,
            slo: self.slo.clone(),
            running_limit: running.running_limit,
            traces: running.traces.clone(),
        };
        let LoadLevels::Search { from, gaps, resolution, most } = &self.request.load else {
            for level in levels {
                if observer.is_stopped() && !points.is_empty() {
                    break;
                }
                let point = self.point(&session, level, running, points.len(), observer)?;
                points.push(point);
            }
            return Ok(None);
        };
        let mut options = SearchOptions { resolution: *resolution, ..SearchOptions::default() };
        options.start = from.unwrap_or(options.start);
        options.most = most.unwrap_or(options.most);
        let mut search = RateSearch::new(options);
        while let Some(rate) = search.next_rate() {
            let level = RateLevel { from: rate, to: rate };
            let level = levels::open(level, *gaps, None, &self.request.limits, self.request.workload.seed);
            let expected =
                self.request.limits.duration.map_or(f64::INFINITY, |time| time.as_secs_f64() * rate);
            if expected < FEWEST_OF_SEARCH {
                let fact = format!(
                    "at {rate:.3} requests/s, {expected:.1} requests are expected within --duration: too few to judge; \
                     give a longer --duration, or --requests instead"
                );
                return Err(BenchError::Objective(fact).into());
            }
            let point = self.point(&session, level, running, points.len(), observer)?;
            // What could not be decided was not met: a rate at which nothing completes is too high.
            let (is_met, is_valid) = (point.document.slo_met == Some(true), point.document.client.valid);
            search.observe(rate, is_met, !is_valid);
            points.push(point);
            if observer.is_stopped() {
                break;
            }
        }
        Ok(Some(search))
    }

    fn point(
        &mut self,
        session: &LevelSession<'_>,
        mut level: BenchLevel,
        running: &mut RunningServer,
        number: usize,
        observer: &SharedObserver,
    ) -> Result<Described, Error> {
        for (flag, value) in &running.swept {
            level.facts.offered = format!("{} · {flag}={value}", level.facts.offered);
        }
        let folder = self.store.level_folder(number, &level);
        let mut run = session.run(level, folder, observer)?;
        running.check(run.folder.root())?;
        let numbers = measure::measure(&mut run, self.request.warmup)?;
        if let (Some(profile), true) = (&mut run.profile, self.request.output.is_some()) {
            profile::analyze_traces(profile, &run.folder, observer);
        }
        let described = describe::describe(describe::DescribedLevel {
            request: self.request,
            run: &run,
            numbers: &numbers,
            slo: self.slo.as_ref(),
            model: self.model.as_ref(),
            model_name: &session.spec.model,
            flags: &running.flags,
            folder: self.store.relative(run.folder.root()),
        });
        self.store.save_level(&run, &described)?;
        Ok(described)
    }

    fn finish(self, points: Vec<Described>, search: Option<RateSearch>) -> Result<BenchOutcome, Error> {
        let described = describe::all(points, search.as_ref()).ok_or_else(|| {
            BenchError::Load("the load test was stopped before its first request".to_owned())
        })?;
        let failed_gates = self.gates.iter().filter_map(|gate| gate.failure(&described.document)).collect();
        let page = self.store.save(&described)?;
        Ok(BenchOutcome { described, failed_gates, page })
    }
}
