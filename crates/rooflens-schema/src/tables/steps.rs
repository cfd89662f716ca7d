//! Forward passes, as the runtime itself records them.

use crate::cell::Opt;
use crate::table::table;
use crate::tables::PhaseKind;

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
        StepRow {
            step_id,
            stage: None,
            round: Opt::NONE,
            round_kind: None,
            batch_index: Opt::NONE,
            number: Opt::NONE,
            phase,
            ts_ns: Opt::NONE,
            dur_ns,
            batch_size: Opt::NONE,
            prefill_tokens: Opt::NONE,
            decode_tokens: Opt::NONE,
            computed_tokens: Opt::NONE,
            context_tokens: Opt::NONE,
            cache_length: Opt::NONE,
            prompts: None,
            pictures: None,
            kv_usage: None,
            waiting: Opt::NONE,
        }
    }
}
