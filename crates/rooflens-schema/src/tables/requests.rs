//! Requests of a run or of a load test.

use crate::cell::Opt;
use crate::table::{column_enum, table};

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
        RequestRow {
            request_id,
            external_id: None,
            stage: None,
            round: Opt::NONE,
            round_kind: None,
            batch_index: Opt::NONE,
            sample: None,
            session: None,
            turn: Opt::NONE,
            model: None,
            lora: None,
            scheduled_ts_ns: Opt::NONE,
            sent_ts_ns: Opt::NONE,
            first_byte_ts_ns: Opt::NONE,
            first_token_ts_ns: Opt::NONE,
            last_token_ts_ns: Opt::NONE,
            end_ts_ns: Opt::NONE,
            queued_ns: Opt::NONE,
            prompt_tokens: Opt::NONE,
            cached_tokens: Opt::NONE,
            output_tokens: Opt::NONE,
            max_output_tokens: Opt::NONE,
            finish: None,
            status,
            http_status: Opt::NONE,
            error_kind: None,
            error: None,
        }
    }
}
