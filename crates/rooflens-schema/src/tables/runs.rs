//! The run itself.

use crate::cell::Opt;
use crate::run_id::RunId;
use crate::table::table;

table! {
    /// The run: one row. What is not known, or does not apply to this kind of run, is null.
    Runs(RunRow) = "runs", per_rank: false {
        /// Id that no other run has, in the form of a UUID: from the content of files that were read (version 8), or from the time and randomness for something that ran (version 7).
        run_id: RunId => "id" Dictionary,
        /// What kind of run it is: `trace` (files of a profiler), `run` (`rooflens run`), `bench` (a load test), `cost` (an estimate).
        kind: String => "word" Dictionary,
        /// Where it was read from: file names, without folders.
        source: String => "text" Dictionary,
        /// Format of the source.
        format: String => "word" Dictionary,
        /// Wall-clock time of `ts_ns` 0, since 1970.
        base_unix_ns: Opt<i64> => "ns" Dictionary,
        /// From the first record to the end of the last.
        span_ns: i64 => "ns" Dictionary,
        /// Records in the sources.
        events: i64 => "count" Dictionary,
        /// Ranks read.
        ranks: i32 => "count" Dictionary,
        /// Ranks the job claims to have.
        world_size: Opt<i32> => "count" Dictionary,
        /// Device name.
        hardware: Option<String> => "text" Dictionary,
        /// `complete`, or `incomplete` if a note reports data loss.
        status: String => "word" Dictionary,
        /// When it began, since 1970: the first record of a trace, the start of a run.
        start_unix_ns: Opt<i64> => "ns" Dictionary,
        /// Model, as the run calls it.
        model: Option<String> => "text" Dictionary,
        /// Runtime or engine: `pytorch`, `vllm` …
        runtime: Option<String> => "word" Dictionary,
        /// Version of the runtime.
        runtime_version: Option<String> => "text" Dictionary,
        /// Build of the runtime, where that is more than its version: commit, wheel or image.
        runtime_build: Option<String> => "text" Dictionary,
        /// Version of Rooflens that wrote the tables.
        rooflens_version: Option<String> => "text" Dictionary,
        /// Version of the driver, as the source gives it.
        driver: Option<String> => "text" Dictionary,
        /// Data type of the weights, or of the activations where these are quantised: `bf16`, `fp8` …
        dtype: Option<String> => "word" Dictionary,
        /// Parallelism as a JSON object of degrees: `tp`, `pp`, `dp`, `ep`, `cp`. A degree that is not known is left out.
        parallelism: Option<String> => "json" Dictionary,
        /// What was run: name of the dataset or of the load, as the run calls it.
        workload: Option<String> => "text" Dictionary,
        /// Headline metrics as a JSON object: key with its unit, as `tpot_p50_ns`, to number. A metric that was not measured is left out.
        metrics: Option<String> => "json" Dictionary,
    }
}

impl RunRow {
    /// A run of which nothing is known yet but its kind.
    pub fn new(kind: &str) -> Self {
        RunRow {
            run_id: RunId::default(),
            kind: kind.to_owned(),
            source: String::new(),
            format: String::new(),
            base_unix_ns: Opt::NONE,
            span_ns: 0,
            events: 0,
            ranks: 0,
            world_size: Opt::NONE,
            hardware: None,
            status: String::new(),
            start_unix_ns: Opt::NONE,
            model: None,
            runtime: None,
            runtime_version: None,
            runtime_build: None,
            rooflens_version: None,
            driver: None,
            dtype: None,
            parallelism: None,
            workload: None,
            metrics: None,
        }
    }
}
