//! The messages of a coordinator and a worker.

use serde::{Deserialize, Serialize};

use super::job::LoadJob;
use super::records::WireRecord;
use crate::record::{ClientHealth, LoadOutcome};

/// Both sides must have the same.
pub(super) const VERSION: u32 = 1;

/// What is said.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Message {
    /// The first of each side, the worker's before the coordinator's.
    Hello { version: u32, nonce: Vec<u8> },
    /// The worker will not serve this connection.
    Refused { reason: String },
    /// The first that is sealed: who sends it knows the token.
    Authenticate,
    /// As [`Message::Authenticate`], by the worker.
    Authenticated,
    /// What time is it?
    Ping,
    /// The answer.
    Pong { received_unix_ns: i64, answered_unix_ns: i64 },
    /// Prepare this.
    Job { job: Box<LoadJob> },
    /// It is prepared.
    Ready,
    /// Begin it, at this time by the worker's clock.
    Start { at_unix_ns: i64 },
    /// It began, at this time by the worker's clock: 0 of the times of records.
    Begun { base_unix_ns: i64 },
    /// Some records.
    Records { records: Vec<WireRecord> },
    /// The worker is alive; the same as an answer: so is the coordinator.
    Heartbeat,
    /// End it now.
    Stop,
    /// It ended; all records were sent.
    Done { outcome: WireOutcome },
    /// It cannot be done.
    Failed { reason: String },
    /// The connection is no longer needed.
    Bye,
}

/// A [`LoadOutcome`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct WireOutcome {
    base_unix_ns: i64,
    span_ns: i64,
    requests: u64,
    not_sent: u64,
    client: ClientHealth,
    stopped: bool,
}

impl From<LoadOutcome> for WireOutcome {
    fn from(outcome: LoadOutcome) -> Self {
        let LoadOutcome { base_unix_ns, span_ns, requests, not_sent, client, stopped } = outcome;
        WireOutcome { base_unix_ns, span_ns, requests, not_sent, client, stopped }
    }
}

impl From<WireOutcome> for LoadOutcome {
    fn from(outcome: WireOutcome) -> Self {
        let WireOutcome { base_unix_ns, span_ns, requests, not_sent, client, stopped } = outcome;
        LoadOutcome { base_unix_ns, span_ns, requests, not_sent, client, stopped }
    }
}
