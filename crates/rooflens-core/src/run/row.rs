//! The row of a run in the table `runs`: what only the run itself knows, beyond its trace.

use rooflens_analyze::compare::headline;
use rooflens_collect::RunSettings;
use rooflens_ingest::formats::workload::WorkloadRecords;
use rooflens_schema::parquet_io::edit_run_row;
use rooflens_schema::tables::RunRow;
use rooflens_schema::{RunDir, RunId};
use serde_json::{Map, Value as Json, json};

use super::document::RunDocument;
use super::files;
use super::model::format_of_torch;
use super::tables::Recorded;
use super::workload;
use crate::error::Error;

/// What this kind of run is called in the table.
const KIND: &str = "run";

/// Completes it for a run that was just made; one without a trace has no row before that.
pub(crate) fn complete(
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
    edited.map_err(Error::UnwritableTables)
}

/// Renews it after the numbers of the run were computed once more.
pub(crate) fn renew(run: &RunDir, document: &RunDocument) -> Result<(), Error> {
    let Some(settings) = files::settings(run) else { return Ok(()) };
    let workload = workload::measured(run);
    edit_run_row(run, KIND, |row| fill(row, &settings, document, &workload)).map_err(Error::UnwritableTables)
}

/// What the numbers of the run and its workload tell.
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

/// Those that were measured, by key.
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
        let known = |name: &str| rooflens_collect::runtimes::ALL.iter().any(|runtime| runtime.name() == name);
        for name in ["pytorch", "vllm", "tensorrt_llm"] {
            assert!(known(name), "{name}");
        }
    }
}
