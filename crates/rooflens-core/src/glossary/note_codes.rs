//! The codes of notes: what may be wrong with an input, and what it does to the numbers.

use crate::glossary::{Entry, plain};

/// Code and meaning. `unread_*` stands for one code a category of events.
const CODES: &[(&str, &str)] = &[
    ("step_failed", "A step of `rooflens run` did not end well; what it would have left is missing."),
    ("no_kernels", "The timeline of a run has no kernel, so Nsight Compute was given none to profile."),
    ("not_an_event", "A workload wrote something to its events pipe that is no event; it was passed over."),
    (
        "truncated",
        "The list of events is not closed: the trace was cut off while it was written, and its end is missing.",
    ),
    (
        "stream_error",
        "The file could not be read to its end, or its compression is damaged; what follows is missing.",
    ),
    ("stopped", "Reading was stopped by Ctrl-C; the rest is missing."),
    ("unreadable_rank", "A trace of the job gave no record at all; its rank is missing from every number."),
    ("damaged_event", "Events that could not be read and were passed over."),
    ("damaged_line", "Lines of a workload's records that are cut or damaged and were passed over."),
    (
        "workload_clock_unknown",
        "A step whose workload did not say how its clock relates to the time of day: its rows are not in the tables \
         requests, tokens and steps.",
    ),
    (
        "token_times_differ",
        "Requests whose records have another number of token times than of tokens: how many tokens came at each time is null.",
    ),
    (
        "times_out_of_order",
        "Requests whose records have a token before they were sent, or before an earlier token.",
    ),
    (
        "unknown_phase",
        "Steps whose record names a phase other than prefill, decode or mixed; they count as `step`.",
    ),
    ("damaged_header", "Keys around the events that could not be understood, such as device properties."),
    ("event_without_time", "Events without a usable time or duration; they are in no table."),
    ("invalid_text", "Names that are not valid UTF-8; the bad bytes were replaced."),
    (
        "duplicate_rank",
        "Two traces say they are the same rank; the later got the next free number. Numbers by rank may be of another rank.",
    ),
    (
        "unaligned_clock",
        "The trace of a rank does not tell the time of day: its times cannot be compared with those of other ranks.",
    ),
    (
        "no_common_time",
        "The traces of two ranks were recorded at different times: they may not belong to the same job.",
    ),
    (
        "capture_unmatched",
        "No graph replay has the kernels of the capture that was given with it: it is the capture of something else, and names no module.",
    ),
    (
        "step_names_disagree",
        "Several annotations name one step and say different things of it, as its batch or its tokens. The engine's own annotation is taken, and of two the outer one.",
    ),
    (
        "joined_files",
        "Files of the same process or engine that were read with the one that was named: rocprofv3 writes one for each kind of record, trtexec one for each export.",
    ),
    (
        "rounded_times",
        "Times are as exact as the tool printed them: `trtexec --dumpProfile` prints totals to 0.01 ms and averages to 0.0001 ms. `--exportProfile` has more digits.",
    ),
    ("no_median", "The version of trtexec prints no median over runs: `median_ns` is null."),
    (
        "total_disagrees",
        "The layers of a printed profile do not add up to its line Total: lines may be missing.",
    ),
    (
        "several_profiles",
        "A log holds several profiles of layers: those of the same layers are added up, those of different engines listed together.",
    ),
    (
        "unended_line",
        "The last line of the file has no end: it may have been cut off, and the last number with it.",
    ),
    (
        "events_missing",
        "The events of an allocator snapshot do not lead to what it holds at the end: some are missing, and no totals are shown.",
    ),
    ("out_of_memory", "The allocator asked the device for memory and got none."),
    (
        "call_without_shape",
        "Calls of a matrix library whose log does not tell the shape: they are in no table. cuBLASLt tells it with CUBLASLT_LOG_LEVEL=2.",
    ),
    ("unread_metric", "A page of metrics has some of neither Triton nor DCGM: they are in no table."),
    (
        "nested_calls",
        "The log has calls of cuBLAS and of cuBLASLt. The first calls the second, so that a product may be counted twice.",
    ),
    ("damaged_report", "A report of Nsight Compute is damaged or cut off; launches or metrics are missing."),
    (
        "unknown_unit",
        "A page that `ncu --csv` printed has a unit that is not known; its values are kept as text and enter no number.",
    ),
    ("too_large", "A file is larger than any report of Nsight Compute; it was not read."),
    ("file_passed_over", "Files in the folder that are in no format Rooflens reads."),
    (
        "exported",
        "The file is an export for the Perfetto UI of a trace in another format than Kineto's: NVTX ranges, processes \
         of calls and other rows that Kineto's format has no place for are missing. Analyze the trace itself.",
    ),
    (
        "header_not_kept",
        "Keys around the events that are not stored, since they may name people or machines.",
    ),
    (
        "unreadable_profile",
        "The report that Nsight Compute left could not be read; there is no `report/kernels/`.",
    ),
    (
        "private",
        "Paths, addresses, accounts, keys and values of the environment were taken out of the names in the \
         trace. `--keep-private` keeps them.",
    ),
    ("unread_*", "Events of a category that has no table yet; they are counted and not read."),
    (
        "device_lost",
        "A device fell off the bus or needs a reset while it was sampled; its samples end there, those of others go on.",
    ),
    ("device_unanswered", "A device did not answer a question that it may answer later; the cell is null."),
    (
        "samples_missed",
        "Samples that were not taken since the machine slept or stood still for over a second.",
    ),
    (
        "samples_late",
        "Samples that were taken over half an interval late; each row tells how late in late_ns.",
    ),
    (
        "sampler_failed",
        "Samples could not be taken or written; those of a run are missing, and the run is whole without them.",
    ),
    (
        "device_recognised",
        "The trace does not name its device. It is the only one in the catalog with this architecture, number of compute units and size of memory; `--hardware` names another.",
    ),
    (
        "clock_set",
        "The system's clock was set while samples were taken: against a trace they may be off by that much.",
    ),
    (
        "no_records",
        "Not a note but an error: the file looks like a trace but holds no event. The profiler was likely not started, or not stopped before the trace was exported: in PyTorch, export after leaving `with torch.profiler.profile(...) as prof:`, by prof.export_chrome_trace(\"trace.json.gz\").",
    ),
];

/// All codes.
pub fn entries() -> Vec<Entry> {
    CODES.iter().map(|(code, meaning)| plain(*code, *meaning)).collect()
}

/// Whether `name` is one of the codes that `pattern` (as `unread_*`) stands for.
pub fn is_variant(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').is_some_and(|start| name.starts_with(start))
}
