//! A load test of a result file, with its requests as rows of the tables.

use std::collections::BTreeMap;

use rooflens_schema::Opt;
use rooflens_schema::tables::{RequestRow, RequestStatus, Requests, TokenRow, Tokens};

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
    pub(super) fn new(client: BenchClient) -> Self {
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
    pub fn is_whole(&self) -> bool {
        !self.requests.is_empty()
            && self.stated_requests.is_none_or(|stated| stated <= self.requests.len() as i64)
    }

    /// Keeps a number that the file states, times a factor.
    pub(super) fn state(&mut self, key: &'static str, value: Option<f64>, factor: f64) {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            self.stated.insert(key, value * factor);
        }
    }
}

/// What to keep in mind when the numbers of a file are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caveat {
    /// Name for programs.
    pub code: &'static str,
    /// In words.
    pub words: String,
}

impl Caveat {
    pub(super) fn new(code: &'static str, words: impl Into<String>) -> Self {
        Caveat { code, words: words.into() }
    }
}

/// A request as a client recorded it. Times are on the clock of the file.
#[derive(Debug, Clone, Default)]
pub(super) struct ClientRequest {
    pub(crate) external_id: Option<String>,
    pub(crate) session: Option<String>,
    pub(crate) turn: Option<i64>,
    pub(crate) is_warmup: bool,
    pub(crate) scheduled_ns: Option<i64>,
    pub(crate) sent_ns: i64,
    pub(crate) first_byte_ns: Option<i64>,
    /// From being sent.
    pub(crate) ttft_ns: Option<i64>,
    /// From one chunk to the next.
    pub(crate) gaps_ns: Vec<i64>,
    /// From being sent to the last token.
    pub(crate) latency_ns: Option<i64>,
    pub(crate) end_ns: Option<i64>,
    pub(crate) prompt_tokens: Option<i64>,
    pub(crate) output_tokens: Option<i64>,
    pub(crate) is_cancelled: bool,
    pub(crate) error: Option<String>,
    pub(crate) error_kind: Option<String>,
}

impl BenchResult {
    /// Makes rows of requests, in the order of sending, on a clock whose 0 is when the first was due.
    pub(super) fn take(&mut self, mut requests: Vec<ClientRequest>) {
        requests.sort_by_key(|request| request.sent_ns);
        let due =
            |request: &ClientRequest| request.scheduled_ns.unwrap_or(request.sent_ns).min(request.sent_ns);
        let base = requests.iter().map(due).min().unwrap_or(0);
        for (id, request) in (0..).zip(requests) {
            self.push(id, request, base);
        }
    }

    fn push(&mut self, request_id: i64, request: ClientRequest, base: i64) {
        let on_clock = |ns: Option<i64>| Opt::from(ns.map(|ns| ns.saturating_sub(base)));
        let status = match (&request.error, request.is_cancelled) {
            (_, true) => RequestStatus::Cancelled,
            (Some(_), false) => RequestStatus::Failed,
            (None, false) => RequestStatus::Completed,
        };
        let is_done = status == RequestStatus::Completed;
        let since_sent =
            |ns: Option<i64>| ns.filter(|_| is_done).map(|ns| request.sent_ns.saturating_add(ns));
        let first = since_sent(request.ttft_ns);
        let chunks = chunk_times(first, &request.gaps_ns);
        let last = since_sent(request.latency_ns).or(chunks.last().copied());
        self.requests.push(RequestRow {
            external_id: request.external_id,
            session: request.session,
            turn: request.turn.and_then(|turn| i32::try_from(turn).ok()).into(),
            round: Opt::some(0),
            round_kind: Some(if request.is_warmup { "warmup" } else { "measured" }.to_owned()),
            model: self.model.clone(),
            scheduled_ts_ns: on_clock(request.scheduled_ns),
            sent_ts_ns: on_clock(Some(request.sent_ns)),
            first_byte_ts_ns: on_clock(request.first_byte_ns),
            first_token_ts_ns: on_clock(first),
            last_token_ts_ns: on_clock(last),
            end_ts_ns: on_clock(request.end_ns.or(last)),
            prompt_tokens: request.prompt_tokens.into(),
            output_tokens: request.output_tokens.into(),
            error_kind: request.error_kind,
            error: request.error,
            ..RequestRow::new(request_id, status)
        });
        // A chunk for each token, or else nobody knows which tokens came together.
        let is_counted = request.output_tokens == Some(chunks.len() as i64);
        for (index, ns) in (0..).zip(&chunks) {
            let tokens = if is_counted { Opt::some(1) } else { Opt::NONE };
            let ts_ns = ns.saturating_sub(base);
            self.tokens.push(TokenRow { request_id, index, ts_ns, tokens, kind: None });
        }
        self.add_last_token(request_id, last.map(|ns| ns.saturating_sub(base)), &chunks, is_counted);
    }

    /// Where the gaps of a request are not in the file, or not all, its last token is.
    fn add_last_token(&mut self, request_id: i64, last: Option<i64>, chunks: &[i64], is_counted: bool) {
        let is_later = |last: &i64| self.tokens.ts_ns.last().is_some_and(|known| last > known);
        if let Some(ts_ns) = last.filter(is_later).filter(|_| !is_counted && !chunks.is_empty()) {
            self.has_token_times = false;
            let index = chunks.len() as i64;
            self.tokens.push(TokenRow { request_id, index, ts_ns, tokens: Opt::NONE, kind: None });
        }
    }
}

fn chunk_times(first: Option<i64>, gaps: &[i64]) -> Vec<i64> {
    let Some(first) = first else { return Vec::new() };
    let later = gaps.iter().scan(first, |at, gap| {
        *at = at.saturating_add((*gap).max(0));
        Some(*at)
    });
    std::iter::once(first).chain(later).collect()
}
