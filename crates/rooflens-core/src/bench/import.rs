//! Result files of other clients, as runs: so that old numbers stay comparable.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rooflens_analyze::compare::headline::{self, MEASURED};
use rooflens_analyze::compare::load::blocks::assign_blocks;
use rooflens_ingest::bench_results::{self, BenchResult};
use rooflens_ingest::formats::workload::WorkloadRecords;
use rooflens_schema::parquet_io::{edit_run_row, write_table};
use rooflens_schema::{ContentHash, Notes, RunDir, RunId, SchemaTag};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use crate::disk;
use crate::error::Error;
use crate::run::metrics;

/// `report/metrics.json` of a result that another client wrote.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ImportedBench {
    /// `rooflens.bench-import`.
    pub(crate) schema: SchemaTag,
    /// `complete`, or `incomplete` where the file has fewer requests than it says there were.
    pub(crate) status: String,
    /// The client that wrote it.
    pub client: String,
    /// Model that was asked for.
    pub(crate) model: Option<String>,
    /// Requests per second that were offered; null where they were sent as others ended, or all at once.
    pub(crate) rate: Option<f64>,
    /// Most requests in progress; null without a limit.
    pub(crate) max_concurrency: Option<i64>,
    /// Requests that the file has one by one.
    pub requests: usize,
    /// Metrics that the file states, by key.
    pub(crate) stated: BTreeMap<String, f64>,
    /// What to keep in mind when its numbers are read.
    pub caveats: Vec<ImportedCaveat>,
    /// The numbers in the form that every run has: computed from the requests where the file has all of them, else as
    /// stated.
    #[schemars(with = "BTreeMap<String, Json>")]
    pub(crate) measured: Json,
}

/// Something to keep in mind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportedCaveat {
    /// A stable word.
    pub(crate) code: String,
    /// A sentence.
    pub message: String,
}

/// Whether a file is a result of another client.
pub fn is_result(path: &Path) -> bool {
    path.is_file() && bench_results::read(path, &Notes::default()).is_ok_and(|found| !found.is_empty())
}

/// Writes the results of a file as runs, one per load test in it: the folder itself where there is one, else numbered
/// folders below it. Answers what each is.
pub fn import_results(path: &Path, folder: &Path) -> Result<Vec<(PathBuf, ImportedBench)>, Error> {
    let results = bench_results::read(path, &Notes::default()).map_err(Error::unreadable)?;
    let content = std::fs::read(path).unwrap_or_default();
    let is_one = results.len() == 1;
    if !is_one {
        disk::destination(folder)?;
    }
    let place = |number: usize| if is_one { folder.to_owned() } else { folder.join(format!("{number:02}")) };
    let import = |(number, result)| {
        let folder = place(number);
        Ok((folder.clone(), import(result, &folder, path, id_of(&content, number))?))
    };
    results.into_iter().enumerate().map(import).collect()
}

/// The same file gives the same run, whenever it is imported.
fn id_of(content: &[u8], number: usize) -> RunId {
    let mut hash = ContentHash::default();
    hash.bytes(content);
    hash.number(number as u64);
    RunId::from_content(hash.finish())
}

fn import(
    mut result: BenchResult,
    folder: &Path,
    source: &Path,
    run_id: RunId,
) -> Result<ImportedBench, Error> {
    let run = disk::destination(folder)?;
    run.create().map_err(Error::unwritable_tables)?;
    let is_whole = result.is_whole();
    let mut measured = Map::new();
    if is_whole {
        result.requests.round_kind.iter_mut().for_each(|kind| *kind = Some(MEASURED.to_owned()));
        assign_blocks(&mut result.requests);
        // Rows that cannot tell a rate, or a gap, must not be asked for one by a later comparison.
        if result.has_send_times && result.has_token_times {
            write_table(&run, &result.requests).map_err(Error::unwritable_tables)?;
            write_table(&run, &result.tokens).map_err(Error::unwritable_tables)?;
        }
        let records = WorkloadRecords {
            requests: result.requests.clone(),
            tokens: result.tokens.clone(),
            ..WorkloadRecords::default()
        };
        if let Ok(Json::Object(computed)) = serde_json::to_value(metrics::measured(&records)) {
            measured = computed;
        }
        if !result.has_send_times {
            measured.retain(|key, _| !key.ends_with("_per_s"));
        }
        if !result.has_token_times {
            measured.remove("itl_ns");
        }
    }
    for (key, value) in &result.stated {
        state(&mut measured, key, *value);
    }
    let document = ImportedBench {
        schema: SchemaTag::new("bench-import"),
        status: if is_whole { "complete" } else { "incomplete" }.to_owned(),
        client: result.client.name().to_owned(),
        model: result.model.clone(),
        rate: result.load.rate,
        max_concurrency: result.load.max_concurrency,
        requests: result.requests.len(),
        stated: result.stated.iter().map(|(key, value)| ((*key).to_owned(), *value)).collect(),
        caveats: result
            .caveats
            .iter()
            .map(|caveat| ImportedCaveat { code: caveat.code.to_owned(), message: caveat.words.clone() })
            .collect(),
        measured: Json::Object(measured),
    };
    save(&run, &result, &document, source, run_id)?;
    Ok(document)
}

/// Puts a stated number where a run has it, unless it was computed.
fn state(measured: &mut Map<String, Json>, key: &str, value: f64) {
    let Some(path) = headline::find(key).and_then(|metric| metric.path.strip_prefix("/measured/")) else {
        return;
    };
    match path.split_once('/') {
        None => {
            let place = measured.entry(path).or_insert(Json::Null);
            if place.is_null() {
                *place = json!(value);
            }
        }
        Some((times, share)) => {
            let place = measured.entry(times).or_insert(Json::Null);
            if place.is_null() {
                *place = json!({});
            }
            if let Some(spread) = place.as_object_mut().filter(|spread| !spread.contains_key(share)) {
                spread.insert(share.to_owned(), json!(value));
            }
        }
    }
}

fn save(
    run: &RunDir,
    result: &BenchResult,
    document: &ImportedBench,
    source: &Path,
    run_id: RunId,
) -> Result<(), Error> {
    let last = result.requests.end_ts_ns.iter().filter_map(|end| end.get()).max();
    let edited = edit_run_row(run, "bench", |row| {
        row.run_id = run_id;
        row.span_ns = result.duration_ns.or(last).unwrap_or_default();
        row.kind = "bench".to_owned();
        row.source = source.file_name().unwrap_or_default().to_string_lossy().into_owned();
        row.format.clone_from(&document.client);
        row.status.clone_from(&document.status);
        row.base_unix_ns = result.base_unix_ns.into();
        row.start_unix_ns = result.base_unix_ns.into();
        row.model.clone_from(&document.model);
        row.rooflens_version = Some(env!("CARGO_PKG_VERSION").to_owned());
        row.events = result.requests.len() as i64;
        row.metrics = serde_json::to_string(&document.stated).ok().filter(|_| !document.stated.is_empty());
    });
    edited.map_err(Error::unwritable_tables)?;
    disk::make(&run.report())?;
    disk::write_json(run.report().join(disk::METRICS), document)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stated_numbers_stand_where_a_run_has_them() {
        let mut measured = Map::new();
        measured.insert("ttft_ns".to_owned(), json!({"p50": 1.0}));
        state(&mut measured, "ttft_p50_ns", 2.0);
        state(&mut measured, "ttft_p99_ns", 3.0);
        state(&mut measured, "output_tokens_per_s", 4.0);
        state(&mut measured, "no_such_metric", 5.0);
        // What was computed from the requests counts.
        assert_eq!(
            Json::Object(measured),
            json!({"ttft_ns": {"p50": 1.0, "p99": 3.0}, "output_tokens_per_s": 4.0})
        );
    }
}
