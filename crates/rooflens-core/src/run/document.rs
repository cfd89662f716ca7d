//! `report/metrics.json` of a run: what was run, how it ended, the measured numbers, and what the trace
//! tells.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use rooflens_analyze::Findings;
use rooflens_analyze::allocator::PassAllocator;
use rooflens_analyze::compare::headline;
use rooflens_analyze::sampled::Sampled;
use rooflens_collect::RunStage;
use rooflens_collect::execute::{StepEnd, StepOutcome};
use rooflens_cost::measured::{Efficiency, FlopsCheck, Matches, StaticVsMeasured};
use rooflens_ingest::formats::workload::WorkloadRecords;
use rooflens_report::run::{RunFacts, Times};
use rooflens_report::{Extras, Part};
use rooflens_schema::{Note, RunDir, Severity};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value as Json};

use super::config;
use super::join::ModelJoin;
use super::metrics::{self, Measured, Spread};
use super::sampling::{self, SamplerRecord};
use crate::disk;
use crate::document::{AnalysisDocument, SchemaTag, read_both};
use crate::error::Error;
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
            power_limit_w: config::settings(run).and_then(|settings| settings.hardware.power_limit_w),
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

    pub(crate) fn take_over(&mut self, run: &RunDir, kept: RunDocument) {
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
    disk::make(folder)?;
    let metrics = WrittenMetrics { run: document, analysis: findings.map(AnalysisDocument) };
    disk::write_json(folder.join(disk::METRICS), &metrics)
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
