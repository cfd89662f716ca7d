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

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use rooflens_schema::tables::{Requests, Tokens};
use rooflens_schema::{Notes, Severity, Stage};
use serde_json::Value as Json;

use crate::artefact::{Artefact, InputSource, no_progress};
use crate::error::IngestError;

pub(crate) use caveats::Caveat;

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

/// The program that wrote a result file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BenchClient {
    /// `vllm bench serve`, in Python.
    VllmPython,
    /// `vllm-rs bench serve`.
    VllmRust,
    /// SGLang's `bench_serving`, in Python or Rust.
    Sglang,
    /// AIPerf.
    Aiperf,
    /// guidellm.
    Guidellm,
}

impl BenchClient {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            BenchClient::VllmPython => "vllm bench serve (Python)",
            BenchClient::VllmRust => "vllm bench serve (Rust)",
            BenchClient::Sglang => "SGLang bench_serving",
            BenchClient::Aiperf => "AIPerf",
            BenchClient::Guidellm => "guidellm",
        }
    }
}

/// The load that a file says was offered.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct StatedLoad {
    /// Requests per second; `None` where they were sent as fast as others ended, or all at once.
    pub rate: Option<f64>,
    /// Most requests in progress; `None` without a limit.
    pub max_concurrency: Option<i64>,
}

/// One load test of a result file.
#[derive(Debug)]
pub struct BenchResult {
    /// Who wrote it.
    pub client: BenchClient,
    /// Model that was asked for.
    pub model: Option<String>,
    /// The load.
    pub load: StatedLoad,
    /// Its requests, in the order of sending; empty where the file is a summary.
    pub requests: Requests,
    /// Their chunks, where the file has the time of each.
    pub tokens: Tokens,
    /// Whether requests are on one clock. SGLang does not say when a request was sent: each begins at 0, so that rates
    /// and changes over time cannot be computed from rows.
    pub has_send_times: bool,
    /// Whether the file has the time of each chunk. Where it has not, rows of `tokens` are the first and the last of a
    /// request, and ITL of them is a mean.
    pub has_token_times: bool,
    /// Requests that the file says were completed or failed; more than there are rows where it was trimmed.
    pub(crate) stated_requests: Option<i64>,
    /// Metrics that the file states, by their key, as `ttft_p50_ns`, in the unit of the key.
    pub stated: BTreeMap<&'static str, f64>,
    /// Wall-clock time of `ts_ns` 0, where the file says; to the second where it has a date alone.
    pub base_unix_ns: Option<i64>,
    /// How long the load test took, where the file says.
    pub duration_ns: Option<i64>,
    /// What to keep in mind when its numbers are read.
    pub caveats: Vec<Caveat>,
}

impl BenchResult {
    fn new(client: BenchClient) -> Self {
        BenchResult {
            client,
            model: None,
            load: StatedLoad::default(),
            requests: Requests::default(),
            tokens: Tokens::default(),
            has_send_times: true,
            has_token_times: true,
            stated_requests: None,
            stated: BTreeMap::new(),
            base_unix_ns: None,
            duration_ns: None,
            caveats: Vec::new(),
        }
    }

    /// Whether rows are all requests of the load test, so that metrics of them are those of the whole.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        !self.requests.is_empty()
            && self.stated_requests.is_none_or(|stated| stated <= self.requests.len() as i64)
    }

    /// Keeps a number that the file states, times a factor.
    fn state(&mut self, key: &'static str, value: Option<f64>, factor: f64) {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            self.stated.insert(key, value * factor);
        }
    }
}

/// Reads a result file, compressed or not. Empty where no known client wrote it.
pub fn read(path: &Path, notes: &Notes) -> Result<Vec<BenchResult>, IngestError> {
    let from = Artefact::open(&InputSource::File(path.to_owned()), no_progress())?;
    read_artefact(from, notes)
}

/// The same of an input that is open.
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
