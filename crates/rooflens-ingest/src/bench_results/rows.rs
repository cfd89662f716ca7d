//! Requests of a result file as rows of the tables.

use rooflens_schema::Opt;
use rooflens_schema::tables::{RequestRow, RequestStatus, TokenRow};

use super::BenchResult;

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
