//! The codes of notes: what may be wrong with an input, and what it does to the numbers.

use super::entry::{GlossaryEntry, plain};

/// Code and meaning. `unread_*` stands for one code a category of events.
const CODES: &[(&str, &str)] = &[
    ("step_failed", "A step of `rooflens run` failed; its output is missing."),
    ("no_kernels", "The timeline of a run has no kernel, so Nsight Compute had nothing to profile."),
    ("not_an_event", "A workload wrote something to its events pipe that is not an event; it was skipped."),
    (
        "truncated",
        "The list of events is not closed: the trace was cut off while it was written, and its end is missing.",
    ),
    (
        "stream_error",
        "The file could not be read to its end, or its compression is damaged; the rest is missing.",
    ),
    ("stopped", "Reading was stopped by Ctrl-C; the rest is missing."),
    ("unreadable_rank", "A trace of the job has no records; its rank is missing from every number."),
    ("damaged_event", "Events that could not be read and were skipped."),
    ("damaged_line", "Lines of a workload's records that are truncated or damaged and were skipped."),
    (
        "workload_clock_unknown",
        "A step whose workload did not record how its clock relates to wall-clock time: its rows are not in \
         the tables requests, tokens and steps.",
    ),
    (
        "token_times_differ",
        "Requests whose number of token times differs from their number of tokens: the number of tokens at \
         each time is null.",
    ),
    (
        "times_out_of_order",
        "Requests whose records have a token before they were sent, or before an earlier token.",
    ),
    (
        "unknown_phase",
        "Steps whose record names a phase other than prefill, decode or mixed; they count as `step`.",
    ),
    ("damaged_header", "Header keys that could not be parsed, such as device properties."),
    ("event_without_time", "Events without a valid time or duration; they are in no table."),
    ("invalid_text", "Names that are not valid UTF-8; the bad bytes were replaced."),
    (
        "duplicate_rank",
        "Two traces claim the same rank; the later one got the next free number. Numbers by rank may belong \
         to another rank.",
    ),
    (
        "unaligned_clock",
        "The trace of a rank has no wall-clock time: its times cannot be compared with those of other ranks.",
    ),
    (
        "no_common_time",
        "The traces of two ranks were recorded at different times: they may not belong to the same job.",
    ),
    (
        "capture_unmatched",
        "No graph replay has the kernels of the given capture: the capture belongs to something else, so no \
         module is named.",
    ),
    (
        "step_names_disagree",
        "Several annotations of one step disagree, for example on its batch or tokens. The engine's own \
         annotation is used; of two such, the outer one.",
    ),
    (
        "joined_files",
        "Files of the same process or engine that were read along with the given one: rocprofv3 writes one \
         file per kind of record, trtexec one per export.",
    ),
    (
        "rounded_times",
        "Times have the precision that the tool printed: `trtexec --dumpProfile` prints totals to 0.01 ms \
         and averages to 0.0001 ms. `--exportProfile` has more digits.",
    ),
    ("no_median", "The version of trtexec prints no median over runs: `median_ns` is null."),
    (
        "total_disagrees",
        "The layers of a printed profile do not add up to its Total line: lines may be missing.",
    ),
    (
        "several_profiles",
        "A log holds several profiles of layers: those of the same layers are added up, those of different engines listed together.",
    ),
    (
        "unended_line",
        "The last line of the file has no newline: it may be truncated, and its last number with it.",
    ),
    (
        "events_missing",
        "The events of an allocator snapshot do not add up to its final state: some are missing, so no \
         totals are shown.",
    ),
    ("out_of_memory", "The allocator requested device memory and got none (out of memory)."),
    (
        "call_without_shape",
        "BLAS calls whose log does not record the shape: they are in no table. cuBLASLt logs shapes with \
         CUBLASLT_LOG_LEVEL=2.",
    ),
    (
        "unread_metric",
        "A metrics page has metrics of no known server, or buckets of histograms: they are in no table.",
    ),
    (
        "nested_calls",
        "The log has calls of cuBLAS and of cuBLASLt. cuBLAS calls cuBLASLt, so a GEMM may be counted twice.",
    ),
    ("damaged_report", "A Nsight Compute report is damaged or truncated; launches or metrics are missing."),
    (
        "unknown_unit",
        "The output of `ncu --csv` has an unknown unit; its values are kept as text and not used in \
         computations.",
    ),
    ("too_large", "A file is larger than any Nsight Compute report; it was not read."),
    ("file_passed_over", "Files in the folder that are in no format Rooflens reads."),
    (
        "exported",
        "The file is an export for the Perfetto UI of a trace in another format than Kineto's: NVTX ranges, processes \
         of calls and other rows that Kineto's format cannot represent are missing. Analyze the trace \
         itself.",
    ),
    ("header_not_kept", "Header keys that are not stored, since they may name people or machines."),
    ("unreadable_profile", "The report of Nsight Compute could not be read; there is no `report/kernels/`."),
    (
        "private",
        "Paths, addresses, accounts, keys and environment values were removed from names in the trace. \
         `--keep-private` keeps them.",
    ),
    ("unread_*", "Events of a category that has no table yet; they are counted and not read."),
    (
        "device_lost",
        "A device fell off the bus or needs a reset while it was sampled; its samples end there, those of others go on.",
    ),
    ("device_unanswered", "A device did not report a value that it may report later; the cell is null."),
    (
        "samples_missed",
        "Samples that were not taken because the machine was suspended or stalled for over a second.",
    ),
    (
        "samples_late",
        "Samples that were taken over half an interval late; late_ns of each row says how late.",
    ),
    ("sampler_failed", "Samples could not be taken or written; the run is complete without them."),
    (
        "device_recognised",
        "The trace does not name its device. It is the only one in the catalog with this architecture, \
         number of compute units and memory size; `--hardware` sets another.",
    ),
    (
        "clock_set",
        "The system's clock was set while samples were taken: against a trace they may be off by that much.",
    ),
    (
        "no_records",
        "An error, not a note: the file looks like a trace but has no events. The profiler was likely not \
         started, or not stopped before the trace was exported: in PyTorch, export after leaving `with \
         torch.profiler.profile(...) as prof:`, by prof.export_chrome_trace(\"trace.json.gz\").",
    ),
];

pub(crate) fn entries() -> Vec<GlossaryEntry> {
    CODES.iter().map(|(code, meaning)| plain(*code, *meaning)).collect()
}

/// Whether `name` is one of the codes that `pattern` (as `unread_*`) stands for.
pub(crate) fn is_variant(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').is_some_and(|start| name.starts_with(start))
}
