//! The messages of a coordinator and a worker, and records on their way.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use rooflens_schema::tables::RequestStatus;
use serde::{Deserialize, Serialize};

use super::job::LoadJob;
use crate::record::{Chunk, ChunkKind, LoadOutcome, RequestError, RequestRecord, Usage};

/// Both sides must have the same.
pub(super) const VERSION: u32 = 2;

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Message {
    Hello { version: u32, nonce: Vec<u8> },
    Refused { reason: String },
    // The first that is sealed: who sends it knows the token.
    Authenticate,
    Authenticated,
    Ping,
    Pong { received_unix_ns: i64, answered_unix_ns: i64 },
    Job { job: Box<LoadJob> },
    Ready,
    Start { at_unix_ns: i64 },
    // It began, at this time by the worker's clock: 0 of the times of records.
    Begun { base_unix_ns: i64 },
    Records { records: Vec<WireRecord> },
    // The worker is alive; the same as an answer: so is the coordinator.
    Heartbeat,
    Stop,
    // It ended; all records were sent.
    Done { outcome: LoadOutcome },
    Failed { reason: String },
    Bye,
}

/// There are few kinds of errors: `http_000` to `http_999` and some more.
const MAX_KINDS: usize = 2_000;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct WireRecord {
    n: u64,
    session: Option<String>,
    turn: u32,
    lora: Option<String>,
    sample: Option<String>,
    scheduled: i64,
    sent: Option<i64>,
    first: Option<i64>,
    end: i64,
    /// Nanoseconds since the chunk before (since the scheduled time for the first), tokens, kind.
    chunks: Vec<(i64, u32, u8)>,
    usage: Option<[Option<u64>; 4]>,
    prompt: Option<u32>,
    max: Option<u32>,
    finish: Option<Box<str>>,
    status: RequestStatus,
    http: Option<u16>,
    error: Option<(String, String)>,
    id: Option<Box<str>>,
    text: Option<String>,
    new: bool,
}

impl From<RequestRecord> for WireRecord {
    fn from(record: RequestRecord) -> Self {
        let mut before = record.scheduled_ns;
        let chunk = |chunk: &Chunk| {
            let since = chunk.ts_ns.wrapping_sub(std::mem::replace(&mut before, chunk.ts_ns));
            let kind = match chunk.kind {
                ChunkKind::Text => 0,
                ChunkKind::Reasoning => 1,
                ChunkKind::ToolCall => 2,
            };
            (since, chunk.tokens, kind)
        };
        WireRecord {
            chunks: record.chunks.iter().map(chunk).collect(),
            n: record.number,
            session: record.session.as_deref().map(str::to_owned),
            turn: record.turn,
            lora: record.lora.as_deref().map(str::to_owned),
            sample: record.sample.as_deref().map(str::to_owned),
            scheduled: record.scheduled_ns,
            sent: record.sent_ns,
            first: record.first_byte_ns,
            end: record.end_ns,
            usage: record.usage.map(|usage| [usage.prompt, usage.output, usage.cached, usage.reasoning]),
            prompt: record.prompt_tokens,
            max: record.max_output_tokens,
            finish: record.finish,
            status: record.status,
            http: record.http_status,
            error: record.error.map(|error| (error.kind.to_owned(), error.message)),
            id: record.external_id,
            text: record.text,
            new: record.is_new_connection,
        }
    }
}

impl WireRecord {
    pub(super) fn weight(&self) -> usize {
        100 + self.chunks.len() * 16 + self.text.as_ref().map_or(0, String::len)
    }

    pub(super) fn into_record(self, shift_ns: i64) -> RequestRecord {
        let shifted = |time: i64| time.saturating_add(shift_ns);
        let mut time = self.scheduled;
        let chunk = |(since, tokens, kind): (i64, u32, u8)| {
            time = time.wrapping_add(since);
            let kind = match kind {
                1 => ChunkKind::Reasoning,
                2 => ChunkKind::ToolCall,
                _ => ChunkKind::Text,
            };
            Chunk { ts_ns: shifted(time), tokens, kind }
        };
        let chunks = self.chunks.into_iter().map(chunk).collect();
        RequestRecord {
            number: self.n,
            session: self.session.map(Arc::from),
            turn: self.turn,
            lora: self.lora.map(Arc::from),
            sample: self.sample.map(Arc::from),
            scheduled_ns: shifted(self.scheduled),
            sent_ns: self.sent.map(shifted),
            first_byte_ns: self.first.map(shifted),
            end_ns: shifted(self.end),
            chunks,
            usage: self.usage.map(|[prompt, output, cached, reasoning]| Usage {
                prompt,
                output,
                cached,
                reasoning,
            }),
            prompt_tokens: self.prompt,
            max_output_tokens: self.max,
            finish: self.finish,
            status: self.status,
            http_status: self.http,
            error: self.error.map(|(kind, message)| RequestError { kind: kept(&kind), message }),
            external_id: self.id,
            text: self.text,
            is_new_connection: self.new,
        }
    }
}

/// The kind of an error as text that stays for ever; there are few.
fn kept(kind: &str) -> &'static str {
    static KINDS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut kinds = KINDS.lock().unwrap_or_else(PoisonError::into_inner);
    match kinds.get(kind) {
        Some(kind) => kind,
        None if kinds.len() >= MAX_KINDS => "other",
        None => {
            let kind: &'static str = Box::leak(kind.into());
            kinds.insert(kind);
            kind
        }
    }
}
