//! The run itself, its ranks, their devices, and problems.

use crate::cell::Opt;
use crate::note::{Severity, Stage};
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
        RunRow { kind: kind.to_owned(), ..RunRow::default() }
    }
}

table! {
    /// A rank of the job: what its source says about itself.
    Ranks(RankRow) = "ranks", per_rank: true {
        /// File name, without its folder.
        source: String => "text" Dictionary,
        /// Format of the source.
        format: String => "word" Dictionary,
        /// Records in the source, read or not.
        events: i64 => "count" Dictionary,
        /// Ranks the job claims to have.
        world_size: Opt<i32> => "count" Dictionary,
        /// Communication backend.
        backend: Option<String> => "word" Dictionary,
        /// Wall-clock time of `ts_ns` 0, since 1970.
        base_unix_ns: Opt<i64> => "ns" Dictionary,
        /// Start of the earliest record.
        first_ns: i64 => "ns" Dictionary Time,
        /// End of the latest record.
        last_ns: i64 => "ns" Dictionary Time,
        /// Whether times were recorded in whole microseconds.
        microsecond_clock: bool => "bool" Dictionary,
        /// Versions and switches of the source, as a JSON array of `[name, value]`.
        properties: String => "json" Dictionary,
    }
}

table! {
    /// A device that the trace describes.
    Devices(DeviceRow) = "devices", per_rank: true {
        /// Device index.
        device: i32 => "id" Dictionary,
        /// Name as the driver gives it; may be empty.
        name: String => "text" Dictionary,
        /// Memory size.
        memory_bytes: Opt<i64> => "bytes" Dictionary,
        /// Streaming multiprocessors or compute units.
        units: Opt<i32> => "count" Dictionary,
        /// Compute capability or architecture, as `9.0` or `gfx942`.
        architecture: Option<String> => "text" Dictionary,
    }
}

table! {
    /// A problem found on the way, with its count.
    NotesTable(NoteRow) = "notes", per_rank: false {
        /// Stage that met it.
        stage: Stage => "word" Dictionary,
        /// How bad it is.
        severity: Severity => "word" Dictionary,
        /// Stable word for programs.
        code: String => "word" Dictionary,
        /// File it was met in; empty where it concerns the whole run.
        source: String => "text" Dictionary,
        /// How often.
        count: i64 => "count" Dictionary,
        /// A sentence for people.
        message: String => "text" Dictionary,
    }
}
