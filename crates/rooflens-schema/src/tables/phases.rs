//! Steps, annotations and phases: the parts of a run that people have names for; and ranges as recorded.

use crate::cell::Opt;
use crate::names::NameId;
use crate::table::{column_enum, table};

column_enum! {
    /// What the part of the run does.
    PhaseKind {
        /// Prompt tokens only.
        Prefill = "prefill",
        /// One new token for each sequence.
        Decode = "decode",
        /// Prompt and new tokens in one batch.
        Mixed = "mixed",
        /// Image or audio encoder.
        Vision = "vision",
        /// A diffusion step.
        Diffusion = "diffusion",
        /// A step of unknown content.
        Step = "step",
        /// Any other annotated range.
        Range = "range",
    }
}

column_enum! {
    /// Source of the phase.
    PhaseSource {
        /// `ProfilerStep#n` of the profiler's schedule.
        ProfilerStep = "profiler_step",
        /// An engine's own step annotation (vLLM, SGLang, xDiT).
        Engine = "engine",
        /// A range named by the user or the framework on the host.
        Annotation = "annotation",
        /// The same on the device's timeline.
        DeviceAnnotation = "device_annotation",
        /// Found by Rooflens from the repeating pattern of kernels.
        Pattern = "pattern",
    }
}

table! {
    /// A step, an annotated range or a phase. Sorted by start, longest first.
    Phases(PhaseRow) = "phases", per_rank: true {
        /// Row id within the rank, 0 upwards.
        phase_id: i32 => "id" Delta,
        /// The step that the row is of: joins `phase_id`. Its own id where the row counts as the step; another
        /// row's where it is a further name of that step, or its extent on the device; null for a plain range, and
        /// for a range that holds several steps.
        step_id: Opt<i32> => "id" Delta,
        /// What it does.
        kind: PhaseKind => "word" Dictionary,
        /// Source of the phase.
        source: PhaseSource => "word" Dictionary,
        /// Name: joins `name_dim.name_id`.
        name_id: NameId => "id" Dictionary,
        /// Thread of a host range.
        tid: Opt<i64> => "id" Dictionary,
        /// Device of a device range.
        device: Opt<i32> => "id" Dictionary,
        /// Start, since the run's clock base.
        ts_ns: i64 => "ns" Delta Time,
        /// Duration.
        dur_ns: i64 => "ns" Delta,
        /// Number of the step.
        step: Opt<i64> => "index" Delta,
        /// Sequences in the batch.
        batch: Opt<i64> => "count" Dictionary,
        /// Prompt tokens processed.
        prefill_tokens: Opt<i64> => "tokens" Dictionary,
        /// New tokens produced.
        decode_tokens: Opt<i64> => "tokens" Dictionary,
        /// Tokens in the KV cache that were attended to.
        kv_tokens: Opt<i64> => "tokens" Dictionary,
        /// Device time inside: union of the activities that belong to it.
        device_busy_ns: Opt<i64> => "ns" Delta,
        /// Start of its first activity on the device.
        device_first_ns: Opt<i64> => "ns" Delta Time,
        /// End of its last activity on the device.
        device_last_ns: Opt<i64> => "ns" Delta Time,
        /// Device activities that belong to it.
        activities: Opt<i64> => "count" Dictionary,
        /// Launching calls made inside.
        launches: Opt<i64> => "count" Dictionary,
        /// How sure Rooflens is of a phase it found itself, 0 to 1; null for recorded ones.
        confidence: Option<f64> => "ratio" Dictionary,
        /// Why the step is left out of statistics of steps, as `profiler`; null where it is not.
        excluded: Option<String> => "text" Dictionary,
    }
}

impl Phases {
    /// For each row, whether it counts as a step, on the host or on a device. If no row has a step yet, every row
    /// counts that says what it does on the host.
    pub fn are_steps(&self) -> Vec<bool> {
        let has_steps = self.step_id.iter().any(|id| id.is_some());
        let rows = 0..self.len();
        rows.map(|row| match has_steps {
            true => self.step_id[row].get() == Some(row as i32),
            false => self.kind[row] != PhaseKind::Range && self.source[row] != PhaseSource::DeviceAnnotation,
        })
        .collect()
    }
}

impl PhaseRow {
    /// A row with only what every trace gives; the rest absent or not yet derived.
    pub fn new(source: PhaseSource, ts_ns: i64, dur_ns: i64, name_id: NameId) -> Self {
        PhaseRow { kind: PhaseKind::Range, source, ts_ns, dur_ns, name_id, ..PhaseRow::default() }
    }
}

column_enum! {
    /// How a range was opened and closed.
    RangeStyle {
        /// Pushed and popped: ranges of a thread nest.
        PushPop = "push_pop",
        /// Started and ended on one thread: such ranges may overlap.
        StartEnd = "start_end",
        /// Started on one thread and ended on another: it belongs to neither alone.
        Across = "across_threads",
    }
}

table! {
    /// An NVTX range as recorded, with its original text; `ops` and `phases` have its interpretation. Sorted
    /// by thread, start, longest first.
    Ranges(RangeRow) = "ranges", per_rank: true {
        /// Process.
        pid: i64 => "id" Dictionary,
        /// Thread that opened it.
        tid: i64 => "id" Dictionary,
        /// Start, since the run's clock base.
        ts_ns: i64 => "ns" Delta Time,
        /// Duration; until the end of the recording where it was never closed.
        dur_ns: i64 => "ns" Delta,
        /// Text, with its domain and a colon before it if it has one: joins `name_dim.name_id`.
        name_id: NameId => "id" Dictionary,
        /// How it was opened and closed.
        style: RangeStyle => "word" Dictionary,
        /// Payload, a number or JSON, as text: joins `name_dim.name_id`.
        payload_id: Opt<NameId> => "id" Dictionary,
    }
}
