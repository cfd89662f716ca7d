//! `report/metrics.json` of a run: what was run, how it ended, the measured numbers, and what the trace
//! tells.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use rooflens_analyze::Findings;
use rooflens_analyze::allocator::PassAllocator;
use rooflens_analyze::compare::headline;
use rooflens_analyze::sampled::Sampled;
use rooflens_collect::execute::{MANIFEST, StepEnd, StepOutcome};
use rooflens_collect::{RunSettings, RunStage};
use rooflens_cost::measured::{Efficiency, FlopsCheck, Matches, StaticVsMeasured};
use rooflens_ingest::formats::workload::WorkloadRecords;
use rooflens_report::run::{RunFacts, Times};
use rooflens_report::{Extras, Part};
use rooflens_schema::parquet_io::{edit_run_row, read_notes};
use rooflens_schema::tables::RunRow;
use rooflens_schema::{Note, RunDir, RunId, Severity};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value as Json, json};

use super::analysis;
use super::files;
use super::job::PLAN;
use super::join::{self, ModelJoin};
use super::metrics::{self, Measured, Spread};
use super::model::{self, format_of_torch};
use super::sampling::{self, SamplerRecord};
use super::workload::{self, Recorded};
use crate::document::{AnalysisDocument, SchemaTag, read_both};
use crate::error::Error;
use crate::model::ModelRecord;
use crate::saved;
use crate::text::{counted, printable};

/// The numbers of a run.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RunDocument {
    /// `rooflens.run`.
    pub(crate) schema: SchemaTag,
    /// `complete`, or `incomplete` where a step did not end well or data was lost.
    pub status: Cow<'static, str>,
    /// The folder's name.
    pub(crate) run: String,
    /// The model, as the workload found it.
    #[schemars(with = "Option<BTreeMap<String, Json>>")]
    pub(crate) model: Option<Json>,
    /// The runtime, as in `pytorch`.
    #[schemars(with = "Option<String>")]
    pub(crate) runtime: Option<Json>,
    /// Versions of what ran it.
    #[schemars(with = "Option<BTreeMap<String, Option<String>>>")]
    pub(crate) versions: Option<Json>,
    /// The dataset, as the workload found it.
    #[schemars(with = "Option<BTreeMap<String, Json>>")]
    pub(crate) dataset: Option<Json>,
    /// Memory at the end.
    #[schemars(with = "Option<BTreeMap<String, Json>>")]
    pub(crate) memory: Option<Json>,
    /// The CUDA allocator's account by step, from `memory_stats.json`; null if no step wrote one.
    pub(crate) allocator: Option<Vec<PassAllocator>>,
    /// The power limit that the devices enforced, where the config asks for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) power_limit_w: Option<f64>,
    /// How the steps ended.
    pub(crate) steps: Vec<StepFacts>,
    /// The numbers of the pass without profilers; null where none was run.
    pub measured: Option<Measured>,
    /// What devices and the host did meanwhile; null where nothing was sampled.
    pub(crate) sampled: Option<Sampled>,
    /// MFU and MBU of each phase of the measured rounds.
    pub efficiency: Option<Efficiency>,
    /// Operations of the profiled round by the static model and by torch.
    pub(crate) flops_check: Option<FlopsCheck>,
    /// Products of the profiled round, each matched with an operator of the static model.
    pub(crate) matches: Option<Matches>,
    /// Each part of the model in the profiled round.
    pub(crate) static_vs_measured: Option<StaticVsMeasured>,
    /// Why one of the last four is null; nothing in a document that was read.
    #[serde(skip)]
    pub(crate) reasons: BTreeMap<&'static str, String>,
    /// What is not there, and why.
    #[schemars(with = "BTreeMap<String, String>")]
    pub(crate) not_computed: Map<String, Json>,
}

/// How a step ended.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct StepFacts {
    /// The step.
    pub(crate) step: String,
    /// How it ended.
    pub(crate) end: String,
    /// Its exit code, where it ended by itself.
    pub(crate) exit_code: Option<i32>,
    /// The signal, where it ended by one.
    pub(crate) signal: Option<i32>,
    /// How long it took, with starting and loading.
    pub(crate) duration_ns: u64,
}

impl StepFacts {
    pub(crate) fn of(outcome: &StepOutcome) -> Self {
        StepFacts {
            step: outcome.step.clone(),
            end: end_word(outcome.end),
            exit_code: outcome.exit_code,
            signal: outcome.signal,
            duration_ns: outcome.duration_ns,
        }
    }
}

fn end_word(end: StepEnd) -> String {
    serde_json::to_value(end).ok().and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default()
}

impl RunDocument {
    pub(crate) fn new(
        run: &RunDir,
        steps: Vec<StepFacts>,
        workload: &WorkloadRecords,
        no_static: Option<String>,
        joined: ModelJoin,
        notes: &[Note],
    ) -> Self {
        let lost = notes.iter().any(|note| note.severity == Severity::DataLoss);
        let is_whole = !lost && steps.iter().all(|step| step.end == "done");
        let told = |event: &str| {
            let mut fields = workload.said.get(event)?.as_object()?.clone();
            fields.retain(|key, _| !["event", "t_ns", "path", "config_path", "pid"].contains(&key.as_str()));
            Some(Json::Object(fields))
        };
        let was_run = steps.iter().any(|step| step.step == RunStage::Measure.name());
        let mut not_computed = Map::new();
        if !was_run {
            not_computed.insert("measured".to_owned(), "no workload was run".into());
        }
        if let Some(reason) = no_static {
            not_computed.insert("static_compute".to_owned(), reason.into());
        }
        let sampled =
            if steps.is_empty() { Err("no workload was run".to_owned()) } else { sampling::of_run(run) };
        if let Err(reason) = &sampled {
            not_computed.insert("sampled".to_owned(), reason.clone().into());
        }
        let allocator = allocator(run, &steps);
        if allocator.is_none() {
            not_computed.insert("allocator".to_owned(), "no step wrote memory_stats.json".into());
        }
        let ModelJoin { efficiency, flops_check, matches, static_vs_measured, reasons } = joined;
        for (name, reason) in &reasons {
            not_computed.insert((*name).to_owned(), reason.as_str().into());
        }
        RunDocument {
            schema: SchemaTag::new("run"),
            status: if is_whole { "complete" } else { "incomplete" }.into(),
            run: run.root().file_name().unwrap_or_default().to_string_lossy().into_owned(),
            model: told("model"),
            runtime: workload.fact("hello", "runtime").cloned(),
            versions: workload.fact("hello", "versions").cloned(),
            dataset: told("dataset"),
            memory: told("memory"),
            allocator,
            power_limit_w: files::settings(run).and_then(|settings| settings.hardware.power_limit_w),
            steps,
            measured: was_run.then(|| metrics::measured(workload)),
            sampled: sampled.ok(),
            efficiency,
            flops_check,
            matches,
            static_vs_measured,
            reasons,
            not_computed,
        }
    }

    fn take_over(&mut self, run: &RunDir, kept: RunDocument) {
        if SamplerRecord::read(run).is_none() {
            self.sampled = kept.sampled;
            match kept.not_computed.get("sampled") {
                Some(reason) => self.not_computed.insert("sampled".to_owned(), reason.clone()),
                None => self.not_computed.remove("sampled"),
            };
        }
        if self.allocator.is_none() && kept.allocator.is_some() {
            self.allocator = kept.allocator;
            self.not_computed.remove("allocator");
        }
        let has_events = run.raw(RunStage::Measure.name()).join("events.jsonl").is_file();
        if let (Some(measured), Some(kept), false) = (&mut self.measured, &kept.measured, has_events) {
            measured.take_warmup(kept);
        }
    }

    pub(crate) fn parts(&self) -> Vec<Part> {
        let parts = self.sampled.iter().map(rooflens_report::sampled::part);
        parts.filter(|part| !part.blocks.is_empty()).collect()
    }

    pub(crate) fn extras<'a>(&'a self, more: &'a [Part]) -> Extras<'a> {
        Extras { more, sampled: self.sampled.as_ref(), ..Extras::default() }
    }
}

fn allocator(run: &RunDir, steps: &[StepFacts]) -> Option<Vec<PassAllocator>> {
    let read = |step: &StepFacts| {
        let bytes = std::fs::read(run.raw(&step.step).join("memory_stats.json")).ok()?;
        Some(PassAllocator::read(&step.step, &bytes))
    };
    let passes: Vec<PassAllocator> = steps.iter().filter_map(read).collect();
    (!passes.is_empty()).then_some(passes)
}

/// `report/metrics.json` of a run: its numbers and the findings of its trace.
pub(crate) struct RunMetrics {
    pub(crate) run: RunDocument,
    pub(crate) analysis: Option<Findings>,
}

/// How [`RunMetrics`] is written. The numbers of a run and the findings of its trace.
#[derive(Serialize, JsonSchema)]
struct WrittenMetrics<'a> {
    #[serde(flatten)]
    run: &'a RunDocument,
    /// Findings of the trace; null if none was recorded.
    analysis: Option<AnalysisDocument<'a>>,
}

impl Serialize for RunMetrics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let analysis = self.analysis.as_ref().map(AnalysisDocument);
        WrittenMetrics { run: &self.run, analysis }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RunMetrics {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Beside {
            analysis: Option<Box<RawValue>>,
        }
        let (run, beside): (_, Beside) = read_both(deserializer)?;
        let findings = |json: Box<RawValue>| Findings::from_document(json.get()).map_err(D::Error::custom);
        Ok(RunMetrics { run, analysis: beside.analysis.map(findings).transpose()? })
    }
}

impl JsonSchema for RunMetrics {
    fn schema_name() -> Cow<'static, str> {
        "RunMetrics".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = WrittenMetrics::json_schema(generator);
        // `rooflens run --format json` prints the numbers alone.
        if let Some(Json::Array(required)) = schema.get_mut("required") {
            required.retain(|key| key != "analysis");
        }
        schema
    }
}

/// Writes the numbers of a run.
pub(crate) fn write(folder: &Path, document: &RunDocument, findings: Option<&Findings>) -> Result<(), Error> {
    saved::make(folder)?;
    let metrics = WrittenMetrics { run: document, analysis: findings.map(AnalysisDocument) };
    saved::write_json(folder.join(saved::METRICS), &metrics)
}

/// A run that is compared with another model or device than when it was made.
pub(crate) struct Renewed<'a> {
    record: &'a ModelRecord,
    no_static: Option<String>,
}

impl<'a> Renewed<'a> {
    /// Saves the model in the run, and what it must cost.
    pub(crate) fn save(run: &RunDir, record: &'a ModelRecord) -> Result<Self, Error> {
        record.save(run)?;
        let no_static = if super::is_own(run) { model::renew_cost(run, record)? } else { None };
        Ok(Renewed { record, no_static })
    }
}

/// The document of a run that was made by `rooflens run`, from what it left; nothing for any other. What only `raw/`
/// tells is taken from the numbers that are there, where somebody has removed it.
fn read(
    run: &RunDir,
    notes: &[Note],
    findings: Option<&Findings>,
    renewed: Option<&Renewed<'_>>,
) -> Option<RunDocument> {
    run.root().join(PLAN).is_file().then_some(())?;
    let kept = std::fs::read(run.report().join(saved::METRICS)).ok();
    let kept: Option<RunDocument> = kept.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let workload = workload::measured(run);
    let no_static = !model::COST_FILES.iter().any(|name| run.report().join(name).is_file());
    let why = kept.as_ref().and_then(|kept| kept.not_computed.get("static_compute")?.as_str());
    let why = renewed.and_then(|renewed| renewed.no_static.as_deref()).or(why);
    let reason = no_static.then(|| why.unwrap_or("it was not computed when the run was made").to_owned());
    let ended = kept.as_ref().map_or(&[][..], |kept| &kept.steps);
    let joined = match renewed {
        Some(renewed) => join::join(run, Ok(renewed.record), &workload, findings),
        None => kept.as_ref().map(ModelJoin::kept).unwrap_or_default(),
    };
    let mut document = RunDocument::new(run, manifests(run, ended), &workload, reason, joined, notes);
    if let Some(mut kept) = kept {
        // An older run whose workload's files are gone has its rounds nowhere else.
        if workload.requests.is_empty() && kept.measured.is_some() {
            document.measured = kept.measured.take();
            document.not_computed.remove("measured");
        }
        document.take_over(run, kept);
    }
    Some(document)
}

/// Adds what the report of a run opens with to its findings, where it was made by `rooflens run`. Before
/// anything is written: what was joined is kept in the numbers that are there.
pub(crate) fn describe(
    run: &RunDir,
    findings: &mut Findings,
    renewed: Option<&Renewed<'_>>,
) -> Option<RunDocument> {
    let document = read(run, &findings.notes, Some(findings), renewed)?;
    findings.insert("run", Box::new(facts(&document)));
    Some(document)
}

/// Renews tables and row after a new analysis, where the run was made by `rooflens run`.
pub(crate) fn rewrite(
    run: &RunDir,
    document: Option<&RunDocument>,
    findings: &Findings,
) -> Result<(), Error> {
    let Some(document) = document else { return Ok(()) };
    if let Some(settings) = files::settings(run) {
        analysis::csv_tables(run, &settings.output, Some(findings))?;
    }
    renew_row(run, document)
}

/// Writes the numbers, the page and the row of a run without a trace once more, where it was made by `rooflens run`;
/// answers whether it was.
pub(crate) fn rewrite_untraced(run: &RunDir) -> Result<bool, Error> {
    let Some(settings) = files::settings(run) else { return Ok(false) };
    // Without its notes nobody knows whether something was lost: then its numbers stay as they are.
    let notes = run.table("notes").is_file().then(|| read_notes(run)).transpose();
    let notes = notes.map_err(Error::unreadable_run)?;
    if let Some(document) = notes.and_then(|notes| read(run, &notes, None, None)) {
        write(&run.report(), &document, None)?;
        renew_row(run, &document)?;
        if document.measured.is_some() {
            let mut shown = Findings::default();
            shown.insert("run", Box::new(facts(&document)));
            analysis::report(&run.report(), &settings.output, &shown, document.extras(&document.parts()))?;
        }
    }
    files::rewrite(run)
}

/// How the steps ended, by their manifests or else by the numbers that are there, in the order they were run in.
fn manifests(run: &RunDir, kept: &[StepFacts]) -> Vec<StepFacts> {
    let read = |stage: &RunStage| {
        let path = run.raw(stage.name()).join(MANIFEST);
        let manifest = std::fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        manifest.or_else(|| kept.iter().find(|step| step.step == stage.name()).cloned())
    };
    RunStage::ALL.iter().filter_map(read).collect()
}

pub(crate) fn facts(document: &RunDocument) -> RunFacts {
    let measured = document.measured.as_ref();
    let times = |of: &headline::RequestTimes, pick: fn(&Measured) -> Option<&Spread>| Times {
        title: of.title.into(),
        p50_ns: measured.and_then(pick).map(|spread| spread.p50),
        p90_ns: measured.and_then(pick).map(|spread| spread.p90),
        p99_ns: measured.and_then(pick).map(|spread| spread.p99),
        mean_ns: measured.and_then(pick).map(|spread| spread.mean),
        reason: measured.and_then(|measured| measured.not_computed.get(of.key)).cloned(),
    };
    let model = document.model.as_ref().and_then(|model| model.get("name")?.as_str());
    RunFacts {
        title: model.into_iter().chain([document.run.as_str()]).collect::<Vec<_>>().join(" · "),
        what: words(document).join(" · "),
        is_whole: document.status == "complete",
        times: vec![
            times(&headline::TTFT, |of| of.ttft_ns.as_ref()),
            times(&headline::TPOT, |of| of.tpot_ns.as_ref()),
            times(&headline::ITL, |of| of.itl_ns.as_ref()),
            times(&headline::LATENCY, |of| of.latency_ns.as_ref()),
            times(&headline::QUEUE, |of| of.queued_ns.as_ref()),
        ],
        load_ns: measured.and_then(|of| of.load_ns),
        warmup: measured.and_then(|of| Some((of.warmup_rounds, of.warmup_ns?))),
        allocator: document.allocator.clone().unwrap_or_default(),
        requests: measured.map(|of| of.requests),
        output_tokens_per_s: measured.and_then(|of| of.output_tokens_per_s),
        decode_tokens_per_s: measured.and_then(|of| of.decode_tokens_per_s),
        efficiency: document.efficiency.clone(),
        flops_check: document.flops_check.clone(),
        matches: document.matches.clone(),
        static_vs_measured: document.static_vs_measured.clone(),
        reasons: document.reasons.iter().map(|(name, why)| ((*name).to_owned(), why.clone())).collect(),
    }
}

/// By what and on what it was run, and how much.
pub fn words(document: &RunDocument) -> Vec<String> {
    let word = |of: &Option<Json>, key: &str| {
        of.as_ref().and_then(|of| of.get(key)).and_then(Json::as_str).map(printable)
    };
    let mut words = Vec::new();
    words.extend(word(&document.model, "weights").map(|source| format!("{source} weights")));
    let runtime = document.runtime.as_ref().and_then(Json::as_str);
    // The package of the runtime's name, or the one beneath it: vLLM may be there and not be used.
    for package in runtime.into_iter().chain(["torch"]) {
        if let Some(version) = word(&document.versions, package) {
            words.push(format!("{package} {version}"));
            break;
        }
    }
    words.extend(word(&document.model, "device_name").or_else(|| word(&document.model, "device")));
    words.extend(word(&document.model, "dtype"));
    if let Some(measured) = document.measured.as_ref().filter(|measured| measured.requests > 0) {
        words.push(format!(
            "{} in {}",
            counted(measured.requests, "prompt"),
            counted(measured.rounds, "round")
        ));
    }
    if document.status != "complete" {
        words.push("incomplete".to_owned());
    }
    words
}

const KIND: &str = "run";

/// Completes it for a run that was just made; one without a trace has no row before that.
pub(crate) fn complete_row(
    run: &RunDir,
    settings: &RunSettings,
    document: &RunDocument,
    workload: &WorkloadRecords,
    recorded: Option<&Recorded>,
) -> Result<(), Error> {
    let edited = edit_run_row(run, KIND, |row| {
        if row.ranks == 0 {
            // Without a trace, the rows of the workload tell when it was.
            row.base_unix_ns = recorded.map(|recorded| recorded.base_unix_ns).into();
            row.span_ns = recorded.map_or(0, |recorded| recorded.span_ns);
        }
        row.run_id = RunId::new();
        row.runtime_build = None;
        fill(row, settings, document, workload);
    });
    edited.map_err(Error::unwritable_tables)
}

/// Renews it after the numbers of the run were computed once more.
fn renew_row(run: &RunDir, document: &RunDocument) -> Result<(), Error> {
    let Some(settings) = files::settings(run) else { return Ok(()) };
    let workload = workload::measured(run);
    edit_run_row(run, KIND, |row| fill(row, &settings, document, &workload)).map_err(Error::unwritable_tables)
}

fn fill(row: &mut RunRow, settings: &RunSettings, document: &RunDocument, workload: &WorkloadRecords) {
    let metrics = headline_metrics(document);
    let word = |value: Option<&Json>| value.and_then(Json::as_str).map(str::to_owned);
    let of = |object: &Option<Json>, key: &str| word(object.as_ref().and_then(|object| object.get(key)));
    let runtime = word(document.runtime.as_ref());
    let begun = workload.clock.map(|clock| clock.unix_ns);
    let package = runtime.as_deref().and_then(package);
    let builds = workload.fact("hello", "builds").cloned();
    row.kind = KIND.to_owned();
    row.status = document.status.to_string();
    row.start_unix_ns = begun.or(row.start_unix_ns.get()).into();
    row.model = Some(settings.label());
    row.runtime_version = package.and_then(|package| of(&document.versions, package));
    // Only the files of the workload tell it, which may be gone by now.
    row.runtime_build = package.and_then(|package| of(&builds, package)).or_else(|| row.runtime_build.take());
    row.runtime = runtime;
    row.rooflens_version = Some(env!("CARGO_PKG_VERSION").to_owned());
    let device = || of(&document.model, "device_name");
    row.hardware = row.hardware.take().or_else(device);
    // What a program of the user's own does with its devices is not known.
    let degrees = json!({"tp": settings.runtime.options.tensor_parallel});
    row.parallelism = package.map(|_| degrees.to_string());
    let dtype = of(&document.model, "dtype");
    row.dtype = dtype.map(|name| format_of_torch(&name).map_or(name, str::to_owned));
    row.workload = of(&document.dataset, "name");
    row.metrics = (!metrics.is_empty()).then(|| Json::Object(metrics).to_string());
}

/// The Python package whose version is that of a runtime. A program of the user's own has none.
fn package(runtime: &str) -> Option<&'static str> {
    match runtime {
        "pytorch" => Some("torch"),
        "vllm" => Some("vllm"),
        "tensorrt_llm" => Some("tensorrt-llm"),
        _ => None,
    }
}

fn headline_metrics(document: &RunDocument) -> Map<String, Json> {
    measured_metrics(&serde_json::to_value(document).unwrap_or_default())
}

fn measured_metrics(numbers: &Json) -> Map<String, Json> {
    let value =
        |metric: &headline::HeadlineMetric| numbers.pointer(metric.path).filter(|value| value.is_number());
    let measured = |metric: &headline::HeadlineMetric| Some((metric.key.to_owned(), value(metric)?.clone()));
    headline::ALL.iter().filter_map(measured).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_that_were_not_measured_are_left_out() {
        let metrics =
            json!({"measured": {"tpot_ns": {"p50": 12.5, "p99": null}, "output_tokens_per_s": 80.0}});
        let found = Json::Object(measured_metrics(&metrics));
        assert_eq!(found, json!({"tpot_p50_ns": 12.5, "output_tokens_per_s": 80.0}));
        assert!(measured_metrics(&Json::Null).is_empty());
    }

    #[test]
    fn runtimes_are_those_that_can_be_chosen() {
        let known = |name: &str| rooflens_collect::runtimes::ALL.iter().any(|runtime| runtime.name == name);
        for name in ["pytorch", "vllm", "tensorrt_llm"] {
            assert!(known(name), "{name}");
        }
    }
}
