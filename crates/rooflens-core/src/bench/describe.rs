//! Numbers of levels as documents.

use std::collections::BTreeMap;

use rooflens_analyze::compare::headline::measured_requests;
use rooflens_analyze::compare::load::account::{LatencyParts, SlowBy, slow_requests, typical_gap};
use rooflens_analyze::compare::load::pareto::{OperatingPoint, pareto_front};
use rooflens_analyze::compare::load::search::RateSearch;
use rooflens_analyze::compare::load::slo::Slo;
use rooflens_analyze::compare::load::steady::SteadyVerdict;
use rooflens_load::scrape::ServerSummary;
use rooflens_load::why::{LoadContext, find_latency_cause};
use rooflens_report::bench::BenchFacts;
use rooflens_schema::SchemaTag;

use super::document::{BenchDocument, LevelDocument, PartMean, RequestCounts, SearchFacts, ServerFacts};
use super::efficiency::KnownModel;
use super::facts::{self, LevelRows};
use super::level::LevelRun;
use super::measure::LevelNumbers;
use super::request::{BenchRequest, BenchServer};
use crate::run::StepFacts;

pub(crate) struct Described {
    pub(crate) document: BenchDocument,
    pub(crate) facts: BenchFacts,
    /// Its folder from that of the run; `None` if nothing is kept.
    pub(crate) folder: Option<String>,
}

pub(crate) struct DescribedLevel<'a> {
    pub(crate) request: &'a BenchRequest,
    pub(crate) run: &'a LevelRun,
    pub(crate) numbers: &'a LevelNumbers,
    pub(crate) slo: Option<&'a Slo>,
    pub(crate) model: Option<&'a KnownModel>,
    pub(crate) model_name: &'a str,
    pub(crate) flags: &'a BTreeMap<String, String>,
    pub(crate) folder: Option<String>,
}

pub(crate) fn describe(level: DescribedLevel<'_>) -> Described {
    let DescribedLevel { request, run, numbers, slo, model, model_name, flags, folder } = level;
    let requests = measured_requests(&run.requests, &numbers.tokens);
    let gap = typical_gap(&requests);
    let parts: Vec<(usize, LatencyParts)> = requests
        .iter()
        .enumerate()
        .filter_map(|(place, request)| Some((place, LatencyParts::of(request, gap)?)))
        .collect();
    let of_all: Vec<LatencyParts> = parts.iter().map(|(_, parts)| *parts).collect();
    let summary = run.series.as_ref().map(ServerSummary::of).filter(|summary| summary.kind.is_some());
    let objectives = slo.map_or_else(Vec::new, |slo| slo.evaluate(&requests));
    let is_stopped = run.outcome.stopped || run.workers.iter().any(|worker| worker.lost.is_some());
    let mut document = BenchDocument {
        schema: SchemaTag::new("bench"),
        status: if is_stopped { "incomplete" } else { "complete" }.to_owned(),
        run: String::new(),
        server: ServerFacts {
            url: run_url(request, run),
            api: request.target.api.name().to_owned(),
            model: model_name.to_owned(),
            kind: summary.as_ref().and_then(|summary| summary.kind).map(|kind| kind.name().to_owned()),
            version: summary.as_ref().and_then(|summary| summary.version.clone()),
            flags: flags.clone(),
        },
        load: run.level.facts.clone(),
        workload: run.workload.clone(),
        headline: numbers.headline.clone(),
        intervals: numbers.intervals.clone(),
        client: run.outcome.client.clone(),
        requests: run.counts.clone(),
        errors: run.errors.clone(),
        tokens: run.tokens.clone(),
        slo_met: (!objectives.is_empty()).then(|| objectives.iter().all(|one| one.is_met)),
        objectives,
        goodput: slo.and_then(|slo| slo.goodput(&requests)),
        why: None,
        latency_parts: part_means(&of_all),
        slowest: slow_requests(&of_all, 0.99, SlowBy::Latency),
        warmup: numbers.warmup.clone(),
        steady: numbers.steady.clone(),
        client_wait_ns: numbers.client_wait_ns.clone(),
        ttft_at_pace_ns: numbers.ttft_at_pace_ns.clone(),
        energy_per_token_j: energy_per_token(summary.as_ref(), run),
        server_metrics: summary,
        efficiency: model.and_then(|model| model.decode(&run.requests, &numbers.tokens, run.outcome.span_ns)),
        profile: run.profile.clone(),
        levels: Vec::new(),
        search: None,
        workers: run.workers.clone(),
        steps: vec![step(run, is_stopped)],
        measured: Some(numbers.measured.clone()),
        not_computed: BTreeMap::new(),
    };
    document.not_computed = reasons(&document, request);
    document.why = find_latency_cause(&run.evidence, &context(run, overload(&document)));
    let rows = LevelRows { requests: &requests, parts: &parts, run };
    let facts = facts::of_level(&document, &rows, &numbers.notes);
    Described { document, facts, folder }
}

/// The offered rate, where the server does not keep up with it: else fewer arrivals are chance.
fn overload(document: &BenchDocument) -> Option<f64> {
    document.load.rate.filter(|_| document.steady.verdict == SteadyVerdict::Overloaded)
}

/// What the cause of latency is looked for with. While a profile is written, the server does nothing else.
fn context<'a>(run: &'a LevelRun, offered_per_s: Option<f64>) -> LoadContext<'a> {
    LoadContext {
        server: run.series.as_ref().filter(|series| series.kind.is_some()),
        client: &run.outcome.client,
        offered_per_s,
        excluded: &run.profiled,
    }
}

fn run_url(request: &BenchRequest, run: &LevelRun) -> String {
    match &request.server {
        BenchServer::Url(url) => url.clone(),
        BenchServer::Start { kind, .. } => format!("runtime={kind}, {}", run.url),
    }
}

fn step(run: &LevelRun, is_stopped: bool) -> StepFacts {
    StepFacts {
        step: "measure".to_owned(),
        end: if is_stopped { "stopped" } else { "done" }.to_owned(),
        exit_code: None,
        signal: None,
        duration_ns: run.outcome.span_ns.unsigned_abs(),
    }
}

fn energy_per_token(summary: Option<&ServerSummary>, run: &LevelRun) -> Option<f64> {
    let joules = summary?.energy_j?;
    (run.tokens.output > 0).then(|| joules / run.tokens.output as f64)
}

type NamedPart = (&'static str, fn(&LatencyParts) -> i64);

fn part_means(parts: &[LatencyParts]) -> Vec<PartMean> {
    let mut order: Vec<&LatencyParts> = parts.iter().collect();
    order.sort_by_key(|parts| std::cmp::Reverse(parts.latency_ns()));
    let slowest = &order[..order.len().min(order.len().div_ceil(100))];
    let mean = |of: &[&LatencyParts], pick: fn(&LatencyParts) -> i64| {
        of.iter().map(|parts| pick(parts) as f64).sum::<f64>() / of.len().max(1) as f64
    };
    let whole = mean(&order, LatencyParts::latency_ns);
    let part = |(part, pick): NamedPart| {
        let mean_ns = mean(&order, pick);
        let share = if whole > 0.0 { mean_ns / whole } else { 0.0 };
        PartMean { part: part.to_owned(), mean_ns, slowest_ns: mean(slowest, pick), share }
    };
    let named: [NamedPart; 4] = [
        ("client_wait", |parts| parts.client_wait_ns),
        ("to_first_token", |parts| parts.queue_ns.unwrap_or(0) + parts.prefill_ns),
        ("decode", |parts| parts.decode_ns),
        ("stalls", |parts| parts.stalls_ns),
    ];
    if order.is_empty() { Vec::new() } else { named.into_iter().map(part).collect() }
}

fn reasons(document: &BenchDocument, request: &BenchRequest) -> BTreeMap<String, String> {
    let mut reasons = BTreeMap::new();
    let mut because = |name: &str, is_missing: bool, why: &str| {
        if is_missing {
            reasons.insert(name.to_owned(), why.to_owned());
        }
    };
    let metrics = match request.scrape.is_on {
        true => "the server has no /metrics page that is known",
        false => "--no-metrics",
    };
    because("server_metrics", document.server_metrics.is_none(), metrics);
    because("efficiency", document.efficiency.is_none(), "no --model-config, or too few streamed tokens");
    because(
        "energy_per_token_j",
        document.energy_per_token_j.is_none(),
        "no energy counter in the metrics (DCGM)",
    );
    because("profile", document.profile.is_none(), "no --profile");
    because("slo_met", document.slo_met.is_none(), "no --slo");
    because("ttft_at_pace_ns", document.ttft_at_pace_ns.is_none(), "an open loop, or too few requests");
    let nothing = "no request was measured that has it";
    for (key, value) in &document.headline {
        because(key, value.is_none(), nothing);
    }
    reasons
}

pub(crate) fn help(kind: &str) -> Option<String> {
    let text = match kind {
        "http_404" => "the server may not have this endpoint or model: try --api chat, or --model NAME",
        "http_400" | "http_422" => "the server refuses the request: see the message; --extra-body changes it",
        "http_401" | "http_403" => "set OPENAI_API_KEY, or the variable that --api-key-env names",
        "http_429" => "the server limits the rate: lower --rate or --concurrency",
        "connection_refused" => "nothing listens at this address: is the server up?",
        "timeout" => "raise --timeout, or lower the load",
        "tls" => "--ca-file trusts a certificate, --insecure any",
        _ => return None,
    };
    Some(text.to_owned())
}

pub(crate) fn all(mut points: Vec<Described>, search: Option<&RateSearch>) -> Option<Described> {
    if points.len() < 2 {
        let mut only = points.pop()?;
        only.document.search = search.map(found);
        return Some(only);
    }
    let chosen = chosen(&points, search);
    let front = front(&points);
    let levels: Vec<LevelDocument> = points
        .iter()
        .enumerate()
        .map(|(place, point)| level(point, front.contains(&place), place == chosen))
        .collect();
    let mut described = points.swap_remove(chosen);
    described.document.levels = levels;
    described.document.search = search.map(found);
    described.facts.levels = described.document.level_rows();
    let document = &described.document;
    let first = match &document.search {
        Some(search) => format!("Highest rate within the SLO: {}.", search.finding),
        None => {
            format!("{} levels; the numbers below are of {}.", document.levels.len(), document.load.offered)
        }
    };
    // Where latency goes stays the first sentence, unless a rate was asked for.
    let place = usize::from(document.why.is_some() && document.search.is_none());
    described.facts.lead.insert(place.min(described.facts.lead.len()), first);
    Some(described)
}

fn level(point: &Described, pareto: bool, is_headline: bool) -> LevelDocument {
    let document = &point.document;
    let RequestCounts { sent, completed, .. } = document.requests;
    LevelDocument {
        offered: document.load.offered.clone(),
        folder: point.folder.clone(),
        headline: document.headline.clone(),
        error_rate: (sent > 0).then(|| 1.0 - completed as f64 / sent as f64),
        valid: document.client.valid,
        slo_met: document.slo_met,
        goodput_requests_per_s: document.goodput.as_ref().and_then(|goodput| goodput.per_s),
        pareto,
        is_headline,
    }
}

fn value(point: &Described, key: &str) -> Option<f64> {
    point.document.headline.get(key).copied().flatten()
}

/// The level that the headline is of: the rate that a search found; else, of those within the objectives if any is, the
/// one with the highest throughput.
fn chosen(points: &[Described], search: Option<&RateSearch>) -> usize {
    let met = search.and_then(RateSearch::result).and_then(|result| result.highest_met);
    if let Some(rate) = met
        && let Some(place) = points.iter().rposition(|point| point.document.load.rate == Some(rate))
    {
        return place;
    }
    let throughput =
        |point: &Described| value(point, "output_tokens_per_s").or(value(point, "requests_per_s"));
    let rank = |point: &Described| {
        let document = &point.document;
        (document.slo_met == Some(true), document.client.valid, throughput(point).unwrap_or(-1.0))
    };
    let order = |a: &(usize, &Described), b: &(usize, &Described)| {
        let (a, b) = (rank(a.1), rank(b.1));
        (a.0, a.1).cmp(&(b.0, b.1)).then(a.2.total_cmp(&b.2))
    };
    points.iter().enumerate().max_by(order).map_or(0, |(place, _)| place)
}

fn front(points: &[Described]) -> Vec<usize> {
    let point = |point: &Described| OperatingPoint {
        tokens_per_s_per_device: value(point, "output_tokens_per_s").unwrap_or(f64::NAN),
        tokens_per_s_per_user: value(point, "output_tokens_per_s_per_user").unwrap_or(f64::NAN),
    };
    pareto_front(&points.iter().map(point).collect::<Vec<_>>())
}

fn found(search: &RateSearch) -> SearchFacts {
    match search.result() {
        Some(result) => SearchFacts {
            highest_met: result.highest_met,
            lowest_missed: result.lowest_not_met,
            finding: result.words(),
        },
        None => SearchFacts {
            highest_met: None,
            lowest_missed: None,
            finding: "the search was stopped before its end".to_owned(),
        },
    }
}
