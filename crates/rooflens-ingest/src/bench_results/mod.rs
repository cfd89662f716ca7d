//! Result files of other serving benchmarks: `vllm bench serve`, SGLang's `bench_serving`, AIPerf and guidellm.
//!
//! Requests become rows of `requests` and `tokens` where the file has them; what the file states itself is kept beside
//! them, by the keys of the headline metrics. Where a client is known to distort a number, a caveat says so. These
//! files are no traces of ranks, so they are not among [`formats::ALL`](crate::formats::ALL).

mod aiperf;
mod caveats;
mod guidellm;
mod json;
mod rows;
#[cfg(test)]
mod tests;
mod vllm;

use std::io::Read;
use std::path::Path;

use rooflens_schema::{Notes, Severity, Stage};
use serde_json::Value as Json;

use crate::artefact::{Artefact, InputSource, no_progress};
use crate::error::IngestError;

pub use rows::{BenchClient, BenchResult, Caveat, StatedLoad};

/// No result file is larger.
const LARGEST: u64 = 4 << 30;

/// One of these is at the begin of every result file: a trace of a gigabyte is not read to see that it is none.
const MARKS: &[&[u8]] = &[
    b"\"endpoint_type\"",
    b"\"dataset_name\"",
    b"\"request_rate\"",
    b"\"aiperf_version\"",
    b"\"x_request_id\"",
    b"\"guidellm_version\"",
];

/// Reads a result file, compressed or not. Empty where no known client wrote it.
pub fn read(path: &Path, notes: &Notes) -> Result<Vec<BenchResult>, IngestError> {
    let from = Artefact::open(&InputSource::File(path.to_owned()), no_progress())?;
    read_artefact(from, notes)
}

pub(crate) fn read_artefact(from: Artefact, notes: &Notes) -> Result<Vec<BenchResult>, IngestError> {
    let name = from.name().to_owned();
    let head = &from.probe().head;
    if !json::begins_an_object(head) || !MARKS.iter().any(|mark| memchr::memmem::find(head, mark).is_some()) {
        return Ok(Vec::new());
    }
    let mut bytes = Vec::new();
    let end = from.into_reader().take(LARGEST).read_to_end(&mut bytes);
    let (documents, damaged) = json::documents(&bytes);
    let mut results = results_of(&documents);
    if results.is_empty() {
        return Ok(results);
    }
    let message = "truncated or damaged lines were skipped".to_owned();
    notes.add_many(Stage::Ingest, Severity::DataLoss, "damaged_line", &name, damaged, message);
    if let Err(error) = end {
        let message = format!("it cannot be read to its end: {error}");
        notes.add(Stage::Ingest, Severity::DataLoss, "stream_error", &name, message);
    }
    results.iter_mut().for_each(caveats::add);
    Ok(results)
}

fn results_of(documents: &[Json]) -> Vec<BenchResult> {
    let records: Vec<&Json> = documents.iter().filter(|one| aiperf::is_record(one)).collect();
    let of_document = |document: &Json| -> Vec<BenchResult> {
        if aiperf::is_summary(document) {
            vec![aiperf::summary(document)]
        } else if guidellm::is_report(document) {
            guidellm::report(document)
        } else {
            vllm::client_of(document).map(|client| vllm::result(document, client)).into_iter().collect()
        }
    };
    let mut results: Vec<BenchResult> = documents.iter().flat_map(of_document).collect();
    if !records.is_empty() {
        results.push(aiperf::records(&records));
    }
    results
}
