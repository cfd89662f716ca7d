//! Requests of a run or of a load test, with their output tokens and the steps that served them.

use crate::cell::Opt;
use crate::table::{column_enum, table};
use crate::tables::PhaseKind;

column_enum! {
    /// What became of a request.
    RequestStatus {
        /// All of its output arrived.
        Completed = "completed",
        /// The server or the runtime answered with an error, or the connection broke.
        Failed = "failed",
        /// The client gave up waiting.
        TimedOut = "timed_out",
        /// The client ended it, as at the end of a load test.
        Cancelled = "cancelled",
        /// It was under way when the run ended or was killed.
        Unfinished = "unfinished",
    }
}

table! {
    /// A request to a runtime or a server: one sequence of a run, or one call of a load test. What was not measured is null. Times are since the run's clock base.
    Requests(RequestRow) = "requests", per_rank: false {
        /// Row id within the run, 0 upwards; `tokens.request_id` joins it.
        request_id: i64 => "id" Delta,
        /// Id that the server or the client gave it.
        external_id: Option<String> => "id" Dictionary,
        /// Step of the run that sent it, as `measure` or `torch_profiler`; null in a load test.
        stage: Option<String> => "word" Dictionary,
        /// Round of the step, or repetition of the load test, 0 upwards.
        round: Opt<i64> => "id" Dictionary,
        /// What its round is for: `warmup`, `measured`, `profiled`, `predicted`. Only `measured` counts for metrics.
        round_kind: Option<String> => "word" Dictionary,
        /// Batch of the round it was sent in; null if the engine forms batches itself.
        batch_index: Opt<i64> => "id" Dictionary,
        /// Sample of the dataset, as the workload names it.
        sample: Option<String> => "text" Dictionary,
        /// Conversation it belongs to; null for a request on its own.
        session: Option<String> => "id" Dictionary,
        /// Turn of the conversation, 0 upwards.
        turn: Opt<i32> => "count" Dictionary,
        /// Requested model.
        model: Option<String> => "text" Dictionary,
        /// Requested LoRA adapter.
        lora: Option<String> => "text" Dictionary,
        /// Scheduled send time; null without a schedule. Latency from here on includes the delay of a client
        /// that falls behind.
        scheduled_ts_ns: Opt<i64> => "ns" Delta Time,
        /// When it was sent, or submitted to the runtime.
        sent_ts_ns: Opt<i64> => "ns" Delta Time,
        /// When the first byte of the response arrived.
        first_byte_ts_ns: Opt<i64> => "ns" Delta Time,
        /// When its first output token arrived.
        first_token_ts_ns: Opt<i64> => "ns" Delta Time,
        /// When its last output token arrived.
        last_token_ts_ns: Opt<i64> => "ns" Delta Time,
        /// When the response ended, with its last byte or an error.
        end_ts_ns: Opt<i64> => "ns" Delta Time,
        /// Time in the queue, from being sent to its first step; null where nothing queues or the runtime does not say.
        queued_ns: Opt<i64> => "ns" Delta,
        /// Tokens of the prompt.
        prompt_tokens: Opt<i64> => "count" Dictionary,
        /// Prompt tokens that were in the prefix cache.
        cached_tokens: Opt<i64> => "count" Dictionary,
        /// Output tokens.
        output_tokens: Opt<i64> => "count" Dictionary,
        /// Maximum output tokens, as requested.
        max_output_tokens: Opt<i64> => "count" Dictionary,
        /// Why the output ended: `length`, `stop`, or another word of the server.
        finish: Option<String> => "word" Dictionary,
        /// Outcome.
        status: RequestStatus => "word" Dictionary,
        /// Status code of HTTP.
        http_status: Opt<i32> => "count" Dictionary,
        /// Kind of error, as `connection_refused`; null where it did not fail.
        error_kind: Option<String> => "word" Dictionary,
        /// Message of the error.
        error: Option<String> => "text" Dictionary,
    }
}

impl RequestRow {
    /// A request of which nothing is known but its id and what became of it.
    pub fn new(request_id: i64, status: RequestStatus) -> Self {
        RequestRow { request_id, status, ..RequestRow::default() }
    }
}

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

table! {
    /// A step of an engine: one forward pass over a batch. Recorded by the runtime, without a profiler; `phases` has the steps of a trace. In the order of the file.
    Steps(StepRow) = "steps", per_rank: false {
        /// Row id within the run, 0 upwards.
        step_id: i64 => "id" Delta,
        /// Step of the run that ran it, as `measure` or `torch_profiler`; null for a server's own record.
        stage: Option<String> => "word" Dictionary,
        /// Round of that step, 0 upwards.
        round: Opt<i64> => "id" Dictionary,
        /// What its round is for: `warmup`, `measured`, `profiled`, `predicted`. Only `measured` counts for metrics.
        round_kind: Option<String> => "word" Dictionary,
        /// Batch of the round; null if the engine forms batches itself.
        batch_index: Opt<i64> => "id" Dictionary,
        /// Number of the token it generates for its batch (prefill 0), or of the engine's step in its round.
        number: Opt<i64> => "id" Delta,
        /// Prefill, decode or both.
        phase: PhaseKind => "word" Dictionary,
        /// Start, since the run's clock base.
        ts_ns: Opt<i64> => "ns" Delta Time,
        /// Duration.
        dur_ns: i64 => "ns" Delta,
        /// Sequences in the batch.
        batch_size: Opt<i64> => "count" Dictionary,
        /// New prompt tokens, padding not counted.
        prefill_tokens: Opt<i64> => "count" Dictionary,
        /// Sequences that continue by one token.
        decode_tokens: Opt<i64> => "count" Dictionary,
        /// Tokens that went through the model, padding counted.
        computed_tokens: Opt<i64> => "count" Dictionary,
        /// Tokens attended to, over all sequences, those of this step included, padding not counted.
        context_tokens: Opt<i64> => "count" Dictionary,
        /// Positions in the KV cache after it, per sequence, padding counted.
        cache_length: Opt<i64> => "count" Dictionary,
        /// Prompts that are prefilled: tokens of each and, after the @, those of it already in the KV cache, as `17@0 24@512`.
        prompts: Option<String> => "text" Dictionary,
        /// Patches of each image, rows and columns, as `4x6 6x6`; `none` where there is none.
        pictures: Option<String> => "text" Dictionary,
        /// Part of the KV cache in use, 0 to 1.
        kv_usage: Option<f64> => "share" Dictionary,
        /// Requests in the queue.
        waiting: Opt<i64> => "count" Dictionary,
    }
}

impl StepRow {
    /// A step of which nothing is known but its phase and how long it took.
    pub fn new(step_id: i64, phase: PhaseKind, dur_ns: i64) -> Self {
        StepRow { step_id, phase, dur_ns, ..StepRow::default() }
    }
}
