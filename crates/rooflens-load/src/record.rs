//! What came back. Times are nanoseconds since the begin of the load test ([`LoadOutcome::base_unix_ns`] on the wall
//! clock).

use std::sync::Arc;

use rooflens_schema::tables::RequestStatus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What became of a request.
#[derive(Debug, Clone)]
pub struct RequestRecord {
    /// Its number in the whole load test, in the order of the schedule, 0 upwards.
    pub(crate) number: u64,
    pub(crate) session: Option<Arc<str>>,
    pub(crate) turn: u32,
    pub(crate) lora: Option<Arc<str>>,
    pub(crate) sample: Option<Arc<str>>,
    /// Scheduled send time. In a closed loop: when its user was free.
    pub scheduled_ns: i64,
    /// When its first byte was given to the socket; none if there was no connection.
    pub sent_ns: Option<i64>,
    pub(crate) first_byte_ns: Option<i64>,
    /// When the response ended, or failed.
    pub end_ns: i64,
    /// Parts of the answer with output, in the order of arrival.
    pub chunks: Vec<Chunk>,
    /// What the server counted.
    pub usage: Option<Usage>,
    /// Tokens of the prompt by the tokenizer.
    pub prompt_tokens: Option<u32>,
    pub(crate) max_output_tokens: Option<u32>,
    pub(crate) finish: Option<Box<str>>,
    /// Outcome.
    pub status: RequestStatus,
    pub(crate) http_status: Option<u16>,
    /// Kind of error.
    pub error: Option<RequestError>,
    pub(crate) external_id: Option<Box<str>>,
    /// All text of the answer, where it was to be kept.
    pub text: Option<String>,
    pub(crate) is_new_connection: bool,
}

#[cfg(test)]
impl RequestRecord {
    pub(crate) fn of_test(number: u64) -> Self {
        RequestRecord {
            number,
            session: None,
            turn: 0,
            lora: None,
            sample: None,
            scheduled_ns: number as i64,
            sent_ns: None,
            first_byte_ns: None,
            end_ns: number as i64 + 1,
            chunks: Vec::new(),
            usage: None,
            prompt_tokens: None,
            max_output_tokens: None,
            finish: None,
            status: RequestStatus::Completed,
            http_status: Some(200),
            error: None,
            external_id: None,
            text: None,
            is_new_connection: false,
        }
    }
}

/// A part of an answer that brought output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    /// When it arrived: the kernel's receive time where it is known, else when the buffer was read.
    pub ts_ns: i64,
    /// Tokens in it, where the server says so (`continuous_usage_stats`, `token_ids`); 0 where it does not.
    pub tokens: u32,
    /// What it is.
    pub kind: ChunkKind,
}

/// What a chunk brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChunkKind {
    /// Text of the answer.
    Text,
    /// Reasoning, before the answer.
    Reasoning,
    /// A part of a tool call.
    ToolCall,
}

/// Tokens as the server counted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Of the prompt.
    pub prompt: Option<u64>,
    /// Of the output, with reasoning.
    pub output: Option<u64>,
    /// Of the prompt, from the prefix cache.
    pub cached: Option<u64>,
    pub(crate) reasoning: Option<u64>,
}

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestError {
    /// One of a short list, as `connection_refused`, `connection_reset`, `http_429`, `http_5xx`, `timeout`, `tls`,
    /// `wrong_content_type`, `incomplete_stream`, `server_error` (an error event within the stream), `protocol`.
    pub kind: &'static str,
    /// What exactly happened.
    pub message: String,
}

/// Whether the client kept up.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ClientHealth {
    /// Whether the measurements can be trusted: the client was not the bottleneck.
    pub valid: bool,
    /// Why not; empty where they can.
    pub reasons: Vec<String>,
    /// From the scheduled time to the first byte given to the socket, without waiting for a free slot or a connection: median.
    pub(crate) send_lag_p50_ns: Option<i64>,
    /// 99th percentile.
    pub send_lag_p99_ns: Option<i64>,
    /// How late timers of the event loop fired: 99th percentile.
    pub loop_lag_p99_ns: Option<i64>,
    /// From the kernel's receive time to the buffer being read: median; null where the kernel does not tell.
    pub(crate) receive_delay_p50_ns: Option<i64>,
    /// 99th percentile.
    pub receive_delay_p99_ns: Option<i64>,
    /// Processor time of the client.
    pub(crate) cpu_ns: i64,
    /// Its share of the busiest of its threads' time, 0 to 1.
    pub(crate) busiest_thread: Option<f64>,
    /// Processor time per received chunk.
    pub cpu_per_chunk_ns: Option<f64>,
    /// Peak resident memory.
    pub(crate) peak_rss_bytes: Option<i64>,
    /// Threads that sent and received.
    pub(crate) threads: usize,
    /// Whether times are the kernel's receive timestamps (`SO_TIMESTAMPNS`).
    pub(crate) kernel_timestamps: bool,
}

/// A load test as a whole.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LoadOutcome {
    /// Wall-clock time of 0, since 1970.
    pub base_unix_ns: i64,
    /// From the begin to the end of the last request.
    pub span_ns: i64,
    pub(crate) requests: u64,
    /// Requests that were due but never sent, as the load test ended before.
    pub not_sent: u64,
    /// Client health.
    pub client: ClientHealth,
    /// Whether it was stopped before its end.
    pub stopped: bool,
}

/// Takes records, on a thread of its own.
pub trait RecordSink: Send {
    /// One more, in the order of their ends.
    fn record(&mut self, record: RequestRecord);
}

impl<F: FnMut(RequestRecord) + Send> RecordSink for F {
    fn record(&mut self, record: RequestRecord) {
        self(record);
    }
}
