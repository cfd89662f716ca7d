//! Output tokens as they arrived.

use crate::cell::Opt;
use crate::table::{column_enum, table};

column_enum! {
    /// What a streamed chunk brings.
    OutputKind {
        /// Text of the answer.
        Text = "text",
        /// Reasoning, before the answer.
        Reasoning = "reasoning",
        /// A part of a tool call.
        ToolCall = "tool_call",
    }
}

table! {
    /// An output token of a request, or a chunk of a streamed response with several. By request, then in the order of arrival.
    Tokens(TokenRow) = "tokens", per_rank: false {
        /// Request it belongs to: joins `requests.request_id`.
        request_id: i64 => "id" Delta,
        /// Number of the chunk in its request, 0 upwards.
        index: i64 => "id" Delta,
        /// When it was there, since the run's clock base.
        ts_ns: i64 => "ns" Delta Time,
        /// Tokens in the chunk; null where the server does not say.
        tokens: Opt<i64> => "count" Dictionary,
        /// What the chunk brings: `text`, `reasoning` or `tool_call`; null where nothing tells them apart.
        kind: Option<OutputKind> => "word" Dictionary,
    }
}
