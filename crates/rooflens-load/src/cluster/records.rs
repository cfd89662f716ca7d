//! Records on their way from a worker to the coordinator.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use rooflens_schema::tables::RequestStatus;
use serde::{Deserialize, Serialize};

use crate::record::{Chunk, ChunkKind, RequestError, RequestRecord, Usage};

/// There are few kinds of errors: `http_000` to `http_999` and some more.
const MAX_KINDS: usize = 2_000;

/// A [`RequestRecord`]. Names are short, what is not known is left out, and times of chunks are differences.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct WireRecord {
    n: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(default, skip_serializing_if = "is_zero")]
    turn: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lora: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sample: Option<String>,
    scheduled: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sent: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    first: Option<i64>,
    end: i64,
    /// Nanoseconds since the chunk before (since the scheduled time for the first), tokens, kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    chunks: Vec<(i64, u32, u8)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    usage: Option<[Option<u64>; 4]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prompt: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    finish: Option<Box<str>>,
    status: RequestStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    http: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<(String, String)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    new: bool,
}

fn is_zero(turn: &u32) -> bool {
    *turn == 0
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
    /// How much it holds, roughly.
    pub(super) fn weight(&self) -> usize {
        100 + self.chunks.len() * 16 + self.text.as_ref().map_or(0, String::len)
    }

    /// The record, with its times moved onto another clock.
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
