//! Makes and renews the numbers of a run and its row in the table `runs`.

use rooflens_analyze::Findings;
use rooflens_analyze::compare::headline;
use rooflens_collect::execute::MANIFEST;
use rooflens_collect::{RunSettings, RunStage};
use rooflens_ingest::formats::workload::WorkloadRecords;
use rooflens_schema::parquet_io::{edit_run_row, read_notes};
use rooflens_schema::tables::RunRow;
use rooflens_schema::{Note, RunDir, RunId};
use serde_json::{Map, Value as Json, json};

use super::config::{self, PLAN};
use super::document::{RunDocument, StepFacts, facts, write};
use super::join::{self, ModelJoin};
use super::model::{self, format_of_torch};
use super::workload::{self, Recorded};
use super::{analysis, files};
use crate::disk::METRICS;
use crate::error::Error;
use crate::model::ModelRecord;

/// A run that is compared with another model or device than when it was made.
pub(crate) struct Renewed<'a> {
    record: &'a ModelRecord,
    no_static: Option<String>,
}

impl<'a> Renewed<'a> {
    /// Saves the model in the run, and what it must cost.
    pub(crate) fn save(run: &RunDir, record: &'a ModelRecord) -> Result<Self, Error> {
        record.save(run)?;
        let no_static = if config::is_own(run) { model::renew_cost(run, record)? } else { None };
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
    let kept = std::fs::read(run.report().join(METRICS)).ok();
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
    if let Some(settings) = config::settings(run) {
        analysis::csv_tables(run, &settings.output, Some(findings))?;
    }
    renew_row(run, document)
}

/// Writes the numbers, the page and the row of a run without a trace once more, where it was made by `rooflens run`;
/// answers whether it was.
pub(crate) fn rewrite_untraced(run: &RunDir) -> Result<bool, Error> {
    let Some(settings) = config::settings(run) else { return Ok(false) };
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
    let Some(settings) = config::settings(run) else { return Ok(()) };
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
