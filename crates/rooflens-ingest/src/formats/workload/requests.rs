//! `requests.jsonl`: a request a line, with the time of each of its tokens.

use rooflens_schema::Opt;
use rooflens_schema::tables::{RequestRow, RequestStatus, TokenRow};
use serde::Deserialize;

use super::{Reader, WorkloadRecords};

pub(super) const FILE: &str = "requests.jsonl";

/// A line. Fields that are not named here may be there; those without a default must be.
#[derive(Deserialize)]
struct Line {
    round: i64,
    kind: String,
    #[serde(default)]
    batch_index: Option<i64>,
    #[serde(default)]
    sample: Option<String>,
    prompt_tokens: i64,
    output_tokens: i64,
    start_ns: i64,
    #[serde(default)]
    queued_ns: Option<i64>,
    token_ns: Vec<i64>,
    #[serde(default)]
    finish: Option<String>,
}

impl Line {
    fn parse(line: &str) -> Option<Self> {
        let line: Line = serde_json::from_str(line).ok()?;
        // Counts and clocks are never negative; whoever wrote such a number meant something else.
        let numbers = [line.round, line.prompt_tokens, line.output_tokens, line.start_ns];
        let all = numbers.iter().chain(&line.token_ns).chain(&line.batch_index);
        all.into_iter().all(|number| *number >= 0).then_some(line)
    }
}

impl Reader<'_> {
    pub(super) fn requests(&mut self) {
        let stage = self.stage.to_owned();
        let (mut uncounted, mut unordered) = (0, 0);
        self.each_line(FILE, |workload, line, _| {
            let Some(line) = Line::parse(line) else { return false };
            // A time for each token, or else nobody knows which tokens came together.
            let is_counted = line.token_ns.len() as i64 == line.output_tokens;
            uncounted += i64::from(!is_counted && !line.token_ns.is_empty());
            let times: Vec<i64> =
                std::iter::once(line.start_ns).chain(line.token_ns.iter().copied()).collect();
            unordered += i64::from(!times.is_sorted());
            push(workload, &stage, line, is_counted);
            true
        });
        let message = "requests have a different number of token times and tokens: the number of tokens at each time \
             is null";
        self.warn("token_times_differ", FILE, uncounted, message);
        let message = "requests have tokens before they were sent, or before an earlier token";
        self.warn("times_out_of_order", FILE, unordered, message);
    }
}

fn push(workload: &mut WorkloadRecords, stage: &str, line: Line, is_counted: bool) {
    let request_id = workload.requests.len() as i64;
    workload.requests.push(RequestRow {
        stage: Some(stage.to_owned()),
        round: Opt::some(line.round),
        round_kind: Some(line.kind),
        batch_index: line.batch_index.into(),
        sample: line.sample,
        sent_ts_ns: Opt::some(line.start_ns),
        first_token_ts_ns: line.token_ns.first().copied().into(),
        last_token_ts_ns: line.token_ns.last().copied().into(),
        queued_ns: line.queued_ns.filter(|ns| *ns >= 0).into(),
        prompt_tokens: Opt::some(line.prompt_tokens),
        output_tokens: Opt::some(line.output_tokens),
        finish: line.finish,
        // The workload writes a request once it is complete.
        ..RequestRow::new(request_id, RequestStatus::Completed)
    });
    for (index, ts_ns) in (0..).zip(line.token_ns) {
        let tokens = if is_counted { Opt::some(1) } else { Opt::NONE };
        workload.tokens.push(TokenRow { request_id, index, ts_ns, tokens, kind: None });
    }
}
