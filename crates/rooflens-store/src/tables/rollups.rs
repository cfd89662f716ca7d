//! The roll-ups: small tables that are computed when a run is added. Questions about a fleet read these.

use super::events::PHASE;
use super::{ColumnValue, StoreColumn, StoreTable};
use crate::layout::StoreArea;

/// A column: name, type, whether it may be null, unit, meaning.
type Declared = (&'static str, ColumnValue, bool, &'static str, &'static str);

use ColumnValue::{BigInt, Double, Int, Text};

const RUN_ID: Declared = ("run_id", Text, false, "id", "Run that the row is of: joins `runs.run_id`.");
const RANK: Declared = ("rank", Int, false, "id", "Rank of the job that the row is of.");
const KERNEL_ID: Declared =
    ("kernel_id", BigInt, false, "id", "Kernel, copy or fill: joins `kernel_dim.kernel_id`.");
const PHASE_WORD: Declared = ("phase", Text, false, "word", PHASE);
const COUNT: Declared = ("count", BigInt, false, "count", "How often it ran.");
const TOTAL: Declared = ("total_ns", BigInt, false, "ns", "Sum of its durations.");
const MIN: Declared = ("min_ns", BigInt, false, "ns", "Shortest duration.");
const MAX: Declared = ("max_ns", BigInt, false, "ns", "Longest duration.");

#[rustfmt::skip] // One column per line.
const RUNS: &[Declared] = &[
    ("run_id", Text, false, "id", "Id that no other run has."),
    ("kind", Text, false, "word", "What kind of run it is: `trace`, `run`, `bench` or `cost`."),
    ("format", Text, false, "word", "Format of the source."),
    ("start_unix_ns", BigInt, true, "ns", "When it began, since 1970."),
    ("span_ns", BigInt, false, "ns", "From the first record to the end of the last."),
    ("events", BigInt, false, "count", "Records in the sources."),
    ("ranks", Int, false, "count", "Ranks read."),
    ("world_size", Int, true, "count", "Ranks the job claims to have."),
    ("devices", Int, true, "count", "Devices that ran something."),
    ("hardware", Text, true, "text", "Device name."),
    ("status", Text, false, "word", "`complete`, or `incomplete` if a note reports data loss."),
    ("model", Text, true, "text", "Model, as the run calls it; of a path the last part."),
    ("runtime", Text, true, "word", "Runtime or engine: `pytorch`, `vllm` …"),
    ("runtime_version", Text, true, "text", "Version of the runtime."),
    ("runtime_build", Text, true, "text", "Build of the runtime, where that is more than its version."),
    ("rooflens_version", Text, true, "text", "Version of Rooflens that wrote the tables."),
    ("driver", Text, true, "text", "Version of the driver."),
    ("dtype", Text, true, "word", "Data type of the weights, or of the activations where these are quantised."),
    ("tp", Int, true, "count", "Degree of tensor parallelism."),
    ("pp", Int, true, "count", "Degree of pipeline parallelism."),
    ("dp", Int, true, "count", "Degree of data parallelism."),
    ("ep", Int, true, "count", "Degree of expert parallelism."),
    ("workload", Text, true, "text", "What was run: name of the dataset or of the load."),
    ("node", Text, true, "text", "Machine, by the name that whoever added the run gave it."),
    ("label", Text, true, "text", "Word of whoever added the run, as a release or a branch."),
];

#[rustfmt::skip] // One column per line.
const RUN_METRICS: &[Declared] = &[
    RUN_ID,
    ("metric", Text, false, "word", "Key of a headline metric, as `tpot_p50_ns`; or `mfu_prefill`, `mbu_prefill`, `mfu_decode`, `mbu_decode`: share of the device's peak, 0 to 1."),
    ("value", Double, false, "metric's own", "Its value."),
];

#[rustfmt::skip] // One column per line.
const KERNEL_DIM: &[Declared] = &[
    ("kernel_id", BigInt, false, "id", "64-bit FNV-1a of the name, the same in every run. A kernel may stand here once for each file."),
    ("name", Text, false, "text", "Full name."),
    ("short_name", Text, false, "text", "Readable short form; not unique."),
    ("class", Text, false, "word", "What it computes: gemm, attention, norm, communication …"),
    ("library", Text, true, "word", "Where it comes from: cublas, triton, nccl …"),
    ("dtype", Text, true, "word", "Data type, from its name."),
];

const KERNEL_ROLLUP: &[Declared] = &[RUN_ID, RANK, KERNEL_ID, PHASE_WORD, COUNT, TOTAL, MIN, MAX];

#[rustfmt::skip] // One column per line.
const KERNEL_HISTOGRAM: &[Declared] = &[
    RUN_ID,
    RANK,
    KERNEL_ID,
    PHASE_WORD,
    ("from_ns", BigInt, false, "ns", "Lower edge of the bucket. Each power of two has 16 buckets; durations below 16 ns have one each."),
    ("count", BigInt, false, "count", "Durations in the bucket. Histograms are merged by summing it for each edge."),
];

#[rustfmt::skip] // One column per line.
const KERNEL_HOURS: &[Declared] = &[
    ("hour_unix_s", BigInt, false, "s", "Start of the hour in which the runs began, since 1970."),
    ("hardware", Text, false, "text", "Device name; empty where it is not known."),
    ("runtime", Text, false, "word", "Runtime or engine; empty where it is not known."),
    ("runtime_version", Text, false, "text", "Version of the runtime; empty where it is not known."),
    ("runtime_build", Text, false, "text", "Build of the runtime; empty where it is not known."),
    ("model", Text, false, "text", "Model; empty where it is not known."),
    PHASE_WORD, KERNEL_ID, COUNT, TOTAL, MIN, MAX,
];

#[rustfmt::skip] // One column per line.
const PHASE_ROLLUP: &[Declared] = &[
    RUN_ID,
    RANK,
    PHASE_WORD,
    ("steps", BigInt, false, "count", "Steps."),
    ("total_ns", BigInt, false, "ns", "Sum of their durations."),
    ("device_busy_ns", BigInt, true, "ns", "Time in which the device worked for them."),
    ("prefill_tokens", BigInt, true, "tokens", "Prompt tokens processed."),
    ("decode_tokens", BigInt, true, "tokens", "New tokens produced."),
    ("kv_tokens", BigInt, true, "tokens", "Tokens in the KV cache that were attended to."),
    ("activities", BigInt, true, "count", "Device activities that belong to them."),
    ("launches", BigInt, true, "count", "Launching calls made inside."),
];

#[rustfmt::skip] // One column per line.
const DEVICE_ROLLUP: &[Declared] = &[
    RUN_ID,
    ("device", Int, false, "id", "Device index as the driver counts."),
    ("samples", BigInt, false, "count", "Samples that were taken."),
    ("throttled_samples", BigInt, false, "count", "Samples in which heat or power held the clocks down."),
    ("throttle_reasons", BigInt, false, "bits", "Every reason that a sample gave, as bits of NVML's clock event reasons."),
    ("sm_clock_mean_mhz", Double, true, "MHz", "Mean clock of the multiprocessors."),
    ("sm_clock_min_mhz", Int, true, "MHz", "Lowest clock of the multiprocessors."),
    ("power_mean_mw", Double, true, "mW", "Mean power."),
    ("temperature_max_c", Int, true, "°C", "Highest temperature."),
    ("energy_mj", BigInt, true, "mJ", "Energy from the first sample to the last."),
];

/// A table: name, meaning, columns, sort.
type DeclaredTable = (&'static str, &'static str, &'static [Declared], &'static [&'static str]);

#[rustfmt::skip] // One table per line.
const ALL: &[DeclaredTable] = &[
    ("runs", "A run.", RUNS, &["run_id"]),
    ("run_metrics", "A measured number of a run.", RUN_METRICS, &["metric", "run_id"]),
    ("kernel_dim", "A kernel, copy or fill by name, once for each run that has it. Join `kernel_names` instead, which has each once.", KERNEL_DIM, &["kernel_id"]),
    ("kernel_rollup", "What a kernel took on a rank of a run, in one kind of phase.", KERNEL_ROLLUP, &["kernel_id", "run_id", "rank", "phase"]),
    ("kernel_histogram", "How many durations of a kernel on a rank of a run, in one kind of phase, lie in a bucket.", KERNEL_HISTOGRAM, &["kernel_id", "run_id", "rank", "phase", "from_ns"]),
    ("kernel_hours", "What a kernel took in all runs that began in an hour, by what they ran on.", KERNEL_HOURS, &["kernel_id", "hour_unix_s", "hardware", "runtime", "runtime_version", "runtime_build", "model", "phase"]),
    ("phase_rollup", "The steps of a rank of a run, in one kind of phase.", PHASE_ROLLUP, &["run_id", "rank", "phase"]),
    ("device_rollup", "What was sampled of a device during a run.", DEVICE_ROLLUP, &["run_id", "device"]),
];

pub fn tables() -> Vec<StoreTable> {
    let column = |&(name, value, nullable, unit, doc): &Declared| StoreColumn {
        name,
        value,
        nullable,
        unit,
        doc,
        is_delta: matches!(name, "count" | "total_ns" | "min_ns" | "max_ns"),
    };
    let table = |&(name, doc, columns, sort): &DeclaredTable| StoreTable {
        name,
        doc,
        area: StoreArea::Rollups,
        columns: columns.iter().map(column).collect(),
        sort,
    };
    ALL.iter().map(table).collect()
}
