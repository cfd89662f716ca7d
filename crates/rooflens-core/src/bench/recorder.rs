//! Takes the records of a load test: rows of requests in memory, tokens to disk as they come, so that memory does not
//! grow with the tokens.

use std::collections::BTreeMap;
use std::path::Path;

use hdrhistogram::Histogram;
use rooflens_load::health::lag_histogram;
use rooflens_load::record::{ChunkKind, RecordSink, RequestRecord};
use rooflens_load::rows;
use rooflens_load::why::LoadEvidence;
use rooflens_schema::parquet_io::PartWriter;
use rooflens_schema::tables::{RequestStatus, Requests, TokenRow, Tokens};
use rooflens_schema::{Opt, SchemaError};

use super::document::{ErrorCount, RequestCounts, TokenTotals};
use super::watch::BreachWatch;

const ROW_GROUP_ROWS: usize = 200_000;
pub(crate) const MAX_EXACT_TOKENS: u64 = 5_000_000;

pub(crate) struct Recorder<'a> {
    pub(crate) requests: Requests,
    /// Whether they were scheduled: users of a closed loop have no schedule.
    is_scheduled: bool,
    writer: Option<PartWriter<Tokens>>,
    pending: Tokens,
    pub(crate) counts: RequestCounts,
    errors: BTreeMap<&'static str, (u64, String)>,
    pub(crate) tokens: TokenTotals,
    pub(crate) chunks: u64,
    /// First, first that is not reasoning, and last chunk of each request: all that most metrics need.
    pub(crate) brief: Tokens,
    /// Gaps between chunks / tokens of the later one, once per token, for load tests too long to keep them all.
    pub(crate) gaps: Histogram<u64>,
    pub(crate) evidence: LoadEvidence,
    /// Texts to count tokens of: request, what the server counted, the text.
    pub(crate) texts: Vec<(usize, Option<u64>, String)>,
    pub(crate) prompts: Vec<(u64, u64)>,
    breach: &'a BreachWatch,
    problem: Option<SchemaError>,
}

impl<'a> Recorder<'a> {
    pub(crate) fn new(
        tokens: &Path,
        is_scheduled: bool,
        breach: &'a BreachWatch,
    ) -> Result<Self, SchemaError> {
        Ok(Recorder {
            requests: Requests::default(),
            is_scheduled,
            writer: Some(PartWriter::create(tokens)?),
            pending: Tokens::default(),
            counts: RequestCounts::default(),
            errors: BTreeMap::new(),
            tokens: TokenTotals::default(),
            chunks: 0,
            brief: Tokens::default(),
            gaps: lag_histogram(),
            evidence: LoadEvidence::default(),
            texts: Vec::new(),
            prompts: Vec::new(),
            breach,
            problem: None,
        })
    }

    /// Ends the file of tokens.
    pub fn finish(&mut self) -> Result<(), SchemaError> {
        self.flush();
        if let Some(problem) = self.problem.take() {
            return Err(problem);
        }
        self.writer.take().map_or(Ok(()), PartWriter::close)
    }

    pub(crate) fn errors(&self) -> Vec<ErrorCount> {
        let count = |(kind, (requests, example)): (&&str, &(u64, String))| ErrorCount {
            kind: (*kind).to_owned(),
            requests: *requests,
            example: example.clone(),
        };
        let mut all: Vec<ErrorCount> = self.errors.iter().map(count).collect();
        all.sort_by(|a, b| b.requests.cmp(&a.requests).then_with(|| a.kind.cmp(&b.kind)));
        all
    }

    fn flush(&mut self) {
        if let (Some(writer), false) = (&mut self.writer, self.pending.is_empty())
            && let Err(problem) = writer.write(&self.pending)
        {
            // What is lost is lost once: the load test goes on, and its end tells.
            self.problem.get_or_insert(problem);
        }
        self.pending = Tokens::default();
    }

    fn keep_brief(&mut self, record: &RequestRecord, rows: &[TokenRow]) {
        let output = record.chunks.iter().position(|chunk| chunk.kind != ChunkKind::Reasoning);
        let mut kept: Vec<usize> =
            [Some(0), output, rows.len().checked_sub(1)].into_iter().flatten().collect();
        kept.dedup();
        kept.retain(|at| *at < rows.len());
        kept.into_iter().for_each(|at| self.brief.push(rows[at].clone()));
        if record.status != RequestStatus::Completed {
            return;
        }
        let counted = rows::output_tokens(record).unwrap_or(rows.len() as u64) as f64;
        let mean = (counted / rows.len().max(1) as f64).max(1.0);
        for pair in rows.windows(2) {
            let tokens = pair[1].tokens.get().map_or(mean, |tokens| tokens.max(1) as f64);
            let gap = (pair[1].ts_ns - pair[0].ts_ns).max(0) as f64 / tokens;
            self.gaps.saturating_record_n(gap as u64, tokens.round() as u64);
        }
    }

    fn count(&mut self, record: &RequestRecord) {
        self.counts.sent += 1;
        match record.status {
            RequestStatus::Completed => self.counts.completed += 1,
            RequestStatus::Failed => self.counts.failed += 1,
            RequestStatus::TimedOut => self.counts.timed_out += 1,
            RequestStatus::Cancelled | RequestStatus::Unfinished => self.counts.cancelled += 1,
        }
        if let Some(error) = &record.error {
            let entry = self.errors.entry(error.kind).or_insert_with(|| (0, error.message.clone()));
            entry.0 += 1;
        }
        if record.status != RequestStatus::Completed {
            return;
        }
        let usage = record.usage.unwrap_or_default();
        let prompt = usage.prompt.or(record.prompt_tokens.map(u64::from));
        self.tokens.prompt += prompt.unwrap_or(0);
        if let Some(cached) = usage.cached {
            *self.tokens.cached.get_or_insert(0) += cached;
        }
        if let (Some(own), Some(served)) = (record.prompt_tokens, usage.prompt) {
            self.prompts.push((u64::from(own), served));
        }
        match usage.output {
            Some(output) => {
                self.tokens.output += output;
                self.tokens.counted_by_server += 1;
            }
            None if !record.chunks.is_empty() => {
                self.tokens.output += counted(record);
                self.tokens.counted_by_chunks += 1;
            }
            None => {}
        }
    }
}

impl RecordSink for Recorder<'_> {
    fn record(&mut self, mut record: RequestRecord) {
        self.count(&record);
        self.evidence.add_record(&record);
        self.breach.observe(&record, self.is_scheduled);
        let id = self.requests.len();
        // In the order of their ends, as tokens are written.
        let mut row = rows::request_row(&record);
        row.request_id = id as i64;
        if row.output_tokens.get().is_none() && !record.chunks.is_empty() {
            row.output_tokens = Opt::some(i64::try_from(counted(&record)).unwrap_or(i64::MAX));
        }
        if !self.is_scheduled {
            row.scheduled_ts_ns = Opt::NONE;
        }
        if let Some(text) = record.text.take() {
            self.texts.push((id, record.usage.and_then(|usage| usage.output), text));
        }
        self.chunks += record.chunks.len() as u64;
        self.requests.push(row);
        let rows: Vec<TokenRow> =
            rows::token_rows(&record).map(|token| TokenRow { request_id: id as i64, ..token }).collect();
        self.keep_brief(&record, &rows);
        rows.into_iter().for_each(|token| self.pending.push(token));
        if self.pending.len() >= ROW_GROUP_ROWS {
            self.flush();
        }
    }
}

/// Output tokens of a request whose server does not count them: those of its chunks, one for each that does not say.
fn counted(record: &RequestRecord) -> u64 {
    record.chunks.iter().map(|chunk| u64::from(chunk.tokens.max(1))).sum()
}
