//! The requests that headline metrics are computed from.

use rooflens_schema::Opt;
use rooflens_schema::tables::{OutputKind, RequestStatus, Requests, Tokens};

/// The kind of rounds that count.
pub const MEASURED: &str = "measured";

/// A request that was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredRequest<'a> {
    /// Its round: a repetition, or a block of time of a load test.
    pub round: i64,
    /// Tokens of its prompt; 0 where nobody counted them.
    pub prompt_tokens: i64,
    /// Output tokens; 0 where there are none or nobody counted them.
    pub output_tokens: i64,
    /// Scheduled send time of an open-loop load test; none without a schedule.
    pub scheduled_ns: Option<i64>,
    /// When its prompt was sent, or given to the runtime.
    pub start_ns: i64,
    /// When each token, or chunk of tokens, was there.
    pub token_ns: &'a [i64],
    /// Tokens of each chunk, where they are known.
    pub chunk_tokens: &'a [Opt<i64>],
    /// What each chunk brings, where that is known.
    pub chunk_kinds: &'a [Option<OutputKind>],
    /// When the response ended.
    pub end_ns: Option<i64>,
    /// From the prompt given to its first step; none where the runtime has no queue.
    pub queued_ns: Option<i64>,
    /// Whether it is of a load test, not of the workload of `rooflens run`.
    pub is_load_test: bool,
    /// It failed or timed out: it counts for the error rate alone.
    pub is_failed: bool,
}

/// The requests of measured rounds. Tokens are by request, as the table has them. Requests of a load test that were
/// cancelled as it ended do not count.
#[must_use]
pub fn measured_requests<'a>(requests: &Requests, tokens: &'a Tokens) -> Vec<MeasuredRequest<'a>> {
    let rows = (0..requests.len()).filter(|row| requests.round_kind[*row].as_deref() == Some(MEASURED));
    rows.filter_map(|row| measured_request(requests, tokens, row)).collect()
}

fn measured_request<'a>(requests: &Requests, tokens: &'a Tokens, row: usize) -> Option<MeasuredRequest<'a>> {
    let is_load_test = requests.stage[row].is_none();
    let status = requests.status[row];
    if is_load_test && matches!(status, RequestStatus::Cancelled | RequestStatus::Unfinished) {
        return None;
    }
    let is_failed = is_load_test && status != RequestStatus::Completed;
    let id = requests.request_id[row];
    let from = tokens.request_id.partition_point(|of| *of < id);
    let to = tokens.request_id.partition_point(|of| *of <= id);
    // What the rows of `rooflens run` lack was lost; a server may not tell how many tokens there were.
    let count = |column: &[Opt<i64>]| column[row].get().or(is_load_test.then_some(0));
    let start_ns = requests.sent_ts_ns[row].get();
    let scheduled_ns = requests.scheduled_ts_ns[row].get();
    Some(MeasuredRequest {
        round: requests.round[row].get().or(is_load_test.then_some(0))?,
        prompt_tokens: count(&requests.prompt_tokens)?,
        output_tokens: count(&requests.output_tokens)?,
        scheduled_ns: scheduled_ns.filter(|_| is_load_test),
        // One that failed may never have been sent.
        start_ns: start_ns.or(scheduled_ns.filter(|_| is_failed)).or(is_failed.then_some(0))?,
        token_ns: &tokens.ts_ns[from..to],
        chunk_tokens: &tokens.tokens[from..to],
        chunk_kinds: &tokens.kind[from..to],
        end_ns: requests.end_ts_ns[row].get(),
        queued_ns: requests.queued_ns[row].get(),
        is_load_test,
        is_failed,
    })
}

impl MeasuredRequest<'_> {
    /// When latency begins: at the scheduled time, or else when it was sent.
    #[must_use]
    pub fn origin_ns(&self) -> i64 {
        self.scheduled_ns.unwrap_or(self.start_ns)
    }

    /// When its last token was there, or, where nothing was streamed, when the response ended.
    #[must_use]
    pub(crate) fn finish_ns(&self) -> Option<i64> {
        let unstreamed = || self.end_ns.filter(|_| self.is_load_test);
        self.token_ns.last().copied().or_else(unstreamed)
    }

    /// Whether it counts for times and rates: all of its output arrived, or a part that the runtime recorded.
    pub(super) fn is_done(&self) -> bool {
        !self.is_failed && self.finish_ns().is_some()
    }

    /// Tokens that were streamed; `None` where nobody counted them.
    fn streamed_tokens(&self) -> Option<i64> {
        let counted = || {
            let known = self.chunk_tokens.iter().map(|tokens| tokens.get());
            known
                .collect::<Option<Vec<i64>>>()
                .map(|all| all.iter().fold(0, |sum: i64, one| sum.saturating_add(*one)))
        };
        if self.output_tokens > 0 { Some(self.output_tokens) } else { counted().filter(|tokens| *tokens > 0) }
    }

    /// Whether its chunks brought tokens that nobody counted.
    pub(super) fn is_uncounted(&self) -> bool {
        !self.token_ns.is_empty() && self.streamed_tokens().is_none()
    }

    /// Output tokens, by the server's usage or else by those of its chunks.
    pub(super) fn output(&self) -> i64 {
        self.streamed_tokens().unwrap_or(0)
    }

    /// Time from the first to the last token / number of tokens after the first. One token has none.
    pub(super) fn tpot(&self) -> Option<f64> {
        let (first, last) = (self.token_ns.first()?, self.token_ns.last()?);
        // Tokens of one chunk have no time between them.
        let after = (self.token_ns.len() > 1).then(|| self.streamed_tokens())?? - 1;
        (after > 0).then(|| between(*first, *last) / after as f64)
    }

    /// Time from one chunk to the next / tokens of the latter, once per token.
    pub(super) fn token_gaps(&self) -> Vec<f64> {
        let Some(tokens) = self.streamed_tokens() else { return Vec::new() };
        let mean = (tokens as f64 / self.token_ns.len() as f64).max(1.0);
        let gaps = self.token_ns.windows(2).zip(self.chunk_tokens.iter().skip(1));
        let per_token = gaps.flat_map(|(pair, tokens)| {
            let gap = between(pair[0], pair[1]);
            match tokens.get().filter(|tokens| *tokens > 0) {
                Some(tokens) => std::iter::repeat_n(gap / tokens as f64, times(tokens as f64)),
                None => std::iter::repeat_n(gap / mean, times(mean)),
            }
        });
        per_token.collect()
    }

    /// When the first chunk that is not reasoning arrived; `None` where kinds are not known.
    pub(super) fn first_output_ns(&self) -> Option<i64> {
        let known = self.token_ns.iter().zip(self.chunk_kinds);
        let mut answers = known.filter(|(_, kind)| kind.is_some_and(|kind| kind != OutputKind::Reasoning));
        answers.next().map(|(ns, _)| *ns)
    }
}

/// How often a gap counts: once per token. More in one chunk than this is an error of the server.
fn times(tokens: f64) -> usize {
    tokens.round().clamp(1.0, 65_536.0) as usize
}

/// A clock that went backwards is taken as one that stood still.
pub(super) fn between(first_ns: i64, last_ns: i64) -> f64 {
    last_ns.saturating_sub(first_ns).max(0) as f64
}
