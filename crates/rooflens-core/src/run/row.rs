//! The row of a run in the table `runs`: what only the run itself knows, beyond its trace.

use rooflens_collect::Settings;
use rooflens_compare::headline;
use rooflens_schema::parquet_io::edit_run_row;
use rooflens_schema::{RunDir, RunId};
use serde_json::{Map, Value as Json};

use super::document::RunDocument;
use super::files::read_json;
use super::metrics::Rows;
use crate::error::Error;

/// Completes it, once `metrics.json` is there. A run without a trace has no tables, and no row.
pub fn complete(run: &RunDir, settings: &Settings, document: &RunDocument, rows: &Rows) -> Result<(), Error> {
    let metrics = headline_metrics(&read_json(&run.report().join("metrics.json")));
    let word = |value: Option<&Json>| value.and_then(Json::as_str).map(str::to_owned);
    let of = |object: &Option<Json>, key: &str| word(object.as_ref().and_then(|object| object.get(key)));
    let runtime = word(document.runtime.as_ref());
    let begun = rows.fact("hello", "clock").and_then(|clock| clock["unix_ns"].as_i64());
    let edited = edit_run_row(run, |row| {
        row.run_id = RunId::new();
        row.kind = "run".to_owned();
        row.status = document.status.to_string();
        row.start_unix_ns = begun.or(row.start_unix_ns.get()).into();
        row.model = Some(settings.label());
        row.runtime_version =
            runtime.as_deref().and_then(package).and_then(|package| of(&document.versions, package));
        row.runtime = runtime;
        row.dtype = of(&document.model, "dtype");
        row.workload = of(&document.dataset, "name");
        row.metrics = (!metrics.is_empty()).then(|| Json::Object(metrics).to_string());
    });
    edited.map(|_| ()).map_err(Error::UnwritableTables)
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
fn headline_metrics(metrics: &Json) -> Map<String, Json> {
    let value = |metric: &headline::Metric| metrics.pointer(metric.path).filter(|value| value.is_number());
    let measured = |metric: &headline::Metric| Some((metric.key.to_owned(), value(metric)?.clone()));
    headline::ALL.iter().filter_map(measured).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn metrics_that_were_not_measured_are_left_out() {
        let metrics =
            json!({"measured": {"tpot_ns": {"p50": 12.5, "p99": null}, "output_tokens_per_s": 80.0}});
        let found = Json::Object(headline_metrics(&metrics));
        assert_eq!(found, json!({"tpot_p50_ns": 12.5, "output_tokens_per_s": 80.0}));
        assert!(headline_metrics(&Json::Null).is_empty());
    }

    #[test]
    fn runtimes_are_those_that_can_be_chosen() {
        let known = |name: &str| rooflens_collect::runtimes::ALL.iter().any(|runtime| runtime.name() == name);
        for name in ["pytorch", "vllm", "tensorrt_llm"] {
            assert!(known(name), "{name}");
        }
    }
}
