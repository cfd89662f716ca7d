//! The labels on screens and pages that no registry has: headings of columns, lines of the ledger, labels.
//! A test asks `explain` for every heading of every section of the report.

use rooflens_analyze::compare::headline;

use super::{GlossaryEntry, bench, charts, labels, other_screens, plain, runs};

/// The words, each with its meaning. In small letters; a heading is found whatever its case.
pub(crate) fn entries() -> Vec<GlossaryEntry> {
    [
        TIMES,
        SHARES,
        LEDGER,
        COUNTS,
        METRICS,
        NAMES,
        MEMORY,
        COMMUNICATION,
        MODEL,
        SERVERS,
        SECTIONS,
        TIMELINES,
        runs::RUNS,
        bench::BENCH,
        charts::CHARTS,
        other_screens::COST,
        other_screens::COMPARE,
        labels::LAUNCHES,
        labels::SAMPLES,
        labels::HEADINGS,
    ]
    .concat()
    .into_iter()
    .map(|(name, about)| plain(name, about))
    .chain(headline::ALL.iter().map(|metric| plain(metric.title.to_lowercase(), metric.definition)))
    .collect()
}

/// Word and meaning.
pub(super) type Term = (&'static str, &'static str);

const TIMES: &[Term] = &[
    ("total", "Sum over everything in the row."),
    ("time", "Time of the row; on the ledger, overlapping work counts once."),
    ("median", "Median: half of the values are smaller, half are larger (p50)."),
    ("mean", "Sum of the values divided by their number."),
    ("longest", "Largest of the durations (max)."),
    ("shortest", "Smallest of the durations (min)."),
    ("max", "Largest value."),
    ("min", "Smallest value."),
    ("p50", "Median: half of the values are smaller."),
    ("p90", "90th percentile: 90 % of the values are smaller."),
    ("p95", "95th percentile: 95 % of the values are smaller."),
    ("p99", "99th percentile: 99 % of the values are smaller."),
    ("duration", "From start to end."),
    ("length", "Duration: from start to end."),
    ("span", "From the start of the first to the end of the last record, gaps included."),
    ("at", "Start time, relative to the start of the trace."),
    ("self", "Time of the function itself, without the functions it calls."),
    ("self, working", "Self time in which the thread did not wait for the device or a lock."),
    ("host total", "Host (CPU) time of an operator, with the operators inside it."),
    ("host self", "Host (CPU) time of an operator without the operators inside it."),
    ("device total", "Device time of everything that was launched inside an operator."),
    ("device self", "Device time that an operator launched itself, not through an operator inside it."),
    ("device time", "Sum of the durations of device activities."),
    ("device busy", "Time in which the device runs at least one activity."),
    ("busy", "Time in which a device runs at least one activity; overlapping activities count once."),
    ("idle", "Time in which a device runs nothing between its first and its last activity."),
    ("wall time", "Elapsed time: work and waiting; overlapping work counts once."),
    ("median step", "Median, over the steps of the phase, of the time of this ledger line per step."),
    ("waited", "Time spent waiting, not transferring or computing."),
    ("measured", "Time that was measured, as opposed to computed by the cost model."),
    ("in queue", "Time that a request waits before the server starts processing it."),
    ("delay p50", "Median time from a launch on the host to its start on the device."),
    ("delay p99", "99th percentile of the time from a launch on the host to its start on the device."),
    ("host time launching", "Host time spent inside calls that launch kernels and copies."),
    ("host time waiting", "Host time spent inside calls that wait for the device."),
    ("in kernels", "Time inside kernels, as opposed to idle time between them."),
    ("before", "Value of the baseline."),
    ("after", "Value after the change."),
    ("difference", "After minus before."),
];

const SHARES: &[Term] = &[
    ("share", "Fraction of the table's total, 0 to 100 %."),
    ("host share", "Fraction of the self time of all operators on the host (CPU)."),
    ("busy share", "Busy time divided by the span of the device's activity."),
    ("of wall time", "Fraction of the phase's wall time."),
    ("of idle", "Fraction of the device's idle time."),
    ("stage of a run", "Fraction of the time of one run of the engine."),
    ("of", "The total that the value is a fraction of."),
    ("rate", "Amount per second."),
    ("confidence", "Confidence of a match or an inferred phase, 0 to 1."),
    ("drift", "Difference between the median of the last runs and that of the first."),
    ("call site at the peak", "Call sites that hold the memory allocated at the peak."),
];

const LEDGER: &[Term] = &[
    (
        "floor",
        "Lower bound of the model's kernels: of each operator, compute at peak or memory at full bandwidth, whichever takes longer.",
    ),
    ("inefficiency", "Time of the model's kernels above the floor (their lower bound)."),
    (
        "kernels",
        "Time of the model's kernels, if no floor is known; as a count, the number of kernel launches.",
    ),
    (
        "unneeded",
        "Avoidable work: copies, casts and unfused elementwise kernels that a better implementation does not run.",
    ),
    (
        "avoidable",
        "Avoidable work: copies, casts and unfused elementwise kernels that a better implementation does not \
         run.",
    ),
    (
        "communication",
        "Collectives and point-to-point transfers between devices; on the ledger, while nothing else runs.",
    ),
    ("copies", "Copies and fills by the driver; on the ledger, while nothing else runs."),
    (
        "launch bound",
        "Idle: the host launches kernels one after the other, slower than the device runs them.",
    ),
    (
        "cpu bound",
        "Idle: the host is busy with something other than launching, such as Python or tokenisation.",
    ),
    ("sync", "Idle: the host waited for the device before it launched more."),
    (
        "dependency",
        "Idle: queued work does not start while nothing recorded runs: it waits for an event of the host or of another device, or for work that was not recorded.",
    ),
    ("dispatch", "Idle: the gap that the device needs between two queued activities."),
    ("unknown", "Idle, and nothing in the trace shows why."),
    ("line", "A line of the time ledger: every nanosecond of the wall time is on exactly one."),
    ("meaning", "What a line of the time ledger means."),
    ("what it means", "What the row means."),
    ("reason", "Why a device is throttled or something is not computed."),
    ("meanwhile on the host", "The operator or call that covers most of a gap, on the host."),
    ("cause", "Why the device is idle: what covers most of the gap on the host."),
    ("gaps", "Stretches in which the device is idle."),
];

const COUNTS: &[Term] = &[
    ("count", "How many."),
    ("calls", "How often it is called."),
    ("activities", "Kernels, copies and fills on the device."),
    ("events", "Records in the trace."),
    ("launches", "Runtime calls that launch work on the device."),
    ("steps", "Forward passes of the model."),
    ("per step", "Mean over the steps."),
    ("launches per step", "Calls that launch kernels, graphs, copies or fills, per step: mean."),
    ("flops per call", "Per call: mean over the calls."),
    ("per run", "Per run of the engine: mean over the runs."),
    ("per second", "Events in one second, mean."),
    ("rows", "Rows of the table."),
    ("table", "Tables that the trace's records were imported into."),
    ("requests", "Completed requests."),
    ("request", "A request: a prompt and its completion."),
    ("batch", "Sequences in a step."),
    ("tokens", "Tokens processed or generated."),
    ("prompt tokens", "Prompt tokens."),
    (
        "decode tokens",
        "Generated (output) tokens, added over ranks: the ranks of a tensor-parallel group all count the same tokens.",
    ),
    ("ranks", "Processes of a job, usually one per device."),
    ("rank", "Number of a process in its job."),
    ("devices", "GPUs or other accelerators of the trace."),
    ("world size", "Number of ranks in the job."),
    ("streams", "Streams: independent queues of a device."),
    ("layers", "Repeated blocks of the model."),
    ("modules", "Parts of the model, as PyTorch names them."),
    ("graphs", "Replays of captured CUDA or HIP graphs."),
    ("from graphs", "Kernels that were launched by replaying a captured graph."),
    ("under 10 µs", "Kernels shorter than 10 µs, for which launching may take longer than running."),
    ("queued ahead, mean", "Mean number of launches waiting in the device's queue."),
    ("queued ahead, most", "Largest number of launches waiting in the device's queue."),
    ("started", "When the recording began."),
    ("queue", "Waiting requests; among measured times, the queueing time of a request (queued_ns)."),
    ("pending", "Requests waiting for the server."),
    ("failed", "Requests that ended with an error."),
    ("executions", "Number of model executions by the server."),
    ("inferences", "Inputs processed by the model."),
    ("inferences per second", "Inputs processed by the model per second."),
    ("pages", "Samples of the server's metrics."),
    ("runs", "Runs of the engine."),
    ("releases", "Blocks that were returned to the driver."),
];

const METRICS: &[Term] = &[
    ("ttft", "Time to first token: from submitting a prompt to the runtime to its first generated token."),
    (
        "tpot",
        "Time per output token: per request, time from the first to the last token / number of tokens after \
         the first.",
    ),
    ("itl", "Inter-token latency: from one token of a request to the next."),
    ("latency", "Request latency: from submitting a prompt to the runtime to its last token."),
    ("tokens/s", "Generated tokens per second."),
    ("tokens, total", "Generated tokens per second over whole rounds, prefill included."),
    ("mfu", "Model FLOPs utilisation: model FLOPs per second / the device's peak."),
    (
        "mbu",
        "Memory bandwidth utilisation: bytes that must be moved per second / the device's peak bandwidth.",
    ),
    ("flop/b", "Arithmetic intensity: operations per byte moved."),
    ("achieved", "Achieved rate: operations or bytes per second."),
    ("operations", "Floating-point or integer operations; a multiply-add counts as two."),
    ("useful", "Model FLOPs: operations that the model requires, without padding and recomputation."),
    ("bytes", "Bytes read or written."),
    ("size", "Bytes of a message or of an allocation."),
    ("sum", "Sum of the values."),
    ("compute type", "Sums over the rows."),
    ("value", "The value."),
    ("power", "Electrical power of the device."),
    ("energy", "Energy that the device consumed."),
    ("mean power", "Energy per unit of work."),
    ("clock", "Clock frequency of the device."),
    ("°c", "Temperature."),
    ("sm", "Streaming multiprocessor of an NVIDIA device; as a share, of its peak use."),
    ("dram", "Memory of the device (HBM, GDDR); as a share, of its peak bandwidth."),
    ("occupancy", "Resident warps per multiprocessor, as a fraction of the maximum."),
    (
        "roofline",
        "The highest FLOP/s at an arithmetic intensity: limited by memory bandwidth below the ridge point, \
         by compute above it.",
    ),
    ("prefill", "Processing of prompts: many tokens of a sequence in one step."),
    ("decode", "Generation of tokens: one per sequence and step."),
    ("kv cache", "Keys and values of earlier tokens, stored so that attention does not recompute them."),
    (
        "lower bound",
        "Every operator at the device's peaks, communication hidden: it can rule a target out, but not \
         guarantee it.",
    ),
    ("lower bound / measured", "Lower bound divided by the measured time; 100 % is optimal."),
];

const NAMES: &[Term] = &[
    (
        "stage",
        "A part of a phase with its own range: a vision encoder (sam, clip), the projector, the language \
         model.",
    ),
    ("name", "Name of the row."),
    ("what", "What the row is about."),
    ("kind", "What kind of thing it is."),
    ("type", "Type of the data or of the thing."),
    ("types", "Data types of the operands."),
    ("property", "A property of the thing."),
    ("kernel", "Kernel: a function that runs on the device."),
    ("short name", "A kernel's name without its arguments and namespaces."),
    ("class", "What a kernel does: rooflens list kernel-classes."),
    ("library", "Library that a kernel belongs to, by its name."),
    ("operator", "Operator of the framework, such as aten::mm."),
    ("op", "Operator of the framework or of the model."),
    ("runtime call", "Call of the CUDA or HIP runtime."),
    ("function", "Python function."),
    ("module", "Part of the model, as PyTorch names it."),
    ("layer", "Repeated block of the model."),
    ("phase", "Phase of the run: prefill, decode, warm-up."),
    ("device", "GPU or other accelerator, or host for the CPU."),
    ("source", "Where it comes from."),
    ("version", "Version of the thing."),
    ("group", "Process group: the participating ranks."),
    ("rule", "Rule of advice: rooflens list rules."),
    ("hardware", "The device whose peaks are used as reference."),
    ("torch", "Operations as torch.profiler counts them."),
    ("static model", "Operator of the cost model that the measured one is matched with."),
    ("matched", "What was found on both sides."),
    ("part", "Part of the model."),
    ("tactic", "Kernel that TensorRT chose for a layer."),
    ("tensor", "Array of numbers."),
    ("in", "Inputs."),
    ("out", "Outputs."),
    ("inputs", "Tensors that a layer reads."),
    ("outputs", "Tensors that a layer writes."),
    ("shapes", "Sizes of the operands."),
    ("m × n × k", "Sizes of a GEMM: an m × k matrix times a k × n matrix."),
    ("epilogue", "What a GEMM does with its result before it is written: bias, activation."),
    ("algorithm", "How a collective is carried out: ring, tree, NVLS."),
    ("algorithms", "Ways in which collectives were carried out: ring, tree, NVLS."),
    ("compute", "Kernels that are not collectives."),
    ("gain, at least", "Low end of the expected gain."),
    ("share, at least", "Low end of the expected gain, as a fraction of the phase's time."),
    ("at most", "High end of the range."),
];

const MEMORY: &[Term] = &[
    (
        "host memory",
        "Host memory allocated minus freed during the calls of an operator, with the operators inside it.",
    ),
    ("host memory self", "The same without the operators inside it."),
    (
        "device memory",
        "Device memory allocated minus freed during the calls of an operator, with the operators inside it.",
    ),
    ("device memory self", "The same without the operators inside it."),
    ("memory", "Device memory."),
    ("allocated", "Memory that tensors hold."),
    ("allocations", "Number of allocations."),
    ("requested", "Bytes requested for tensors, before rounding."),
    ("reserved", "Memory that the allocator reserved from the driver, in use or not."),
    ("peak allocated", "Peak memory held by tensors."),
    ("peak reserved", "Peak memory that the allocator reserved from the driver."),
    (
        "reserved at the end",
        "Memory that the allocator had reserved from the driver when the recording \
    ended.",
    ),
    ("free", "Reserved memory that no tensor holds."),
    ("scattered", "Free memory in partly used segments."),
    (
        "fragmentation",
        "Free bytes in partly used segments of the allocator (inactive split blocks) / reserved bytes. Wholly free \
         segments are cached, not fragmented: the allocator releases them if an allocation fails.",
    ),
    ("cached", "Reserved memory in wholly free segments, which the allocator can release."),
    ("largest free block", "Largest contiguous free block of reserved memory."),
];

/// Columns of the roofline, of steps on host and device, of gaps and of ranks.
const TIMELINES: &[Term] = &[
    ("flops", "Floating-point operations; a multiply-add counts as two."),
    ("limit", "Limiting resource: compute (tensor cores) or memory bandwidth."),
    ("lost", "Time above the lower bound, which an ideal kernel would save."),
    ("of roof", "Roofline efficiency: lower bound divided by the measured time; 100 % is optimal."),
    ("achieved", "Achieved FLOP/s: model FLOPs divided by the measured time."),
    (
        "lower bound",
        "Lower bound of the time on this device: FLOPs / peak or bytes / bandwidth, whichever is longer.",
    ),
    (
        "operator of the model",
        "An operator of the model's forward pass, as its config defines it, such as \
    qkv_proj.",
    ),
    ("operators and shapes", "Operators that the kernel implements, with their matrix sizes."),
    ("operator and shape", "The operator that launched the kernels, and its matrix sizes."),
    ("shape", "Matrix sizes, as [4096,4096]x[4096,11008]."),
    ("format", "Dtype of the multiplication, such as bf16; it determines the peak."),
    (
        "no share because",
        "Why a row has no share of the roof: the peak, the dtype or the bytes are not known.",
    ),
    (
        "operators of the model",
        "Operators of the model's forward pass that the kernel implements, such as \
    qkv_proj.",
    ),
    ("times", "Number of executions: layers × steps."),
    ("also named", "Other annotations of the same steps."),
    ("which is", "Role of the range: a step, a range that contains steps, or any other range."),
    (
        "excluded",
        "Steps that the recording disturbed, so that their time is not representative; see rooflens explain \
         phases.",
    ),
    ("host p50", "Median time of the step on the host, from the start to the end of its annotation."),
    ("host p90", "90th percentile of the time of the step on the host."),
    ("host p99", "99th percentile of the time of the step on the host."),
    ("host shortest", "Shortest time of the step on the host."),
    ("host longest", "Longest time of the step on the host."),
    ("device p50", "Median time of the step on the device, from its first to its last activity."),
    ("device p90", "90th percentile of the time of the step on the device."),
    ("device p99", "99th percentile of the time of the step on the device."),
    ("device longest", "Longest time of the step on the device."),
    ("device busy p50", "Median time in which the device runs at least one activity of the step."),
    ("idle time", "Time in which a device runs nothing between its first and its last activity."),
    ("host activity", "What covers most of the gap on the thread that launches the activity after it."),
    ("covers", "Time of the gap in which the host was in it."),
    ("covered", "Fraction of the gap in which the host was in the named call."),
    ("of the cause", "Fraction of the idle time of the cause."),
    ("comm_wait", "Time in collectives, nothing else running, before the last rank arrived."),
    ("waiting for other ranks", "Time in collectives, nothing else running, before the last rank arrived."),
    ("arrived last", "Collectives in which the rank was the last to arrive."),
    ("others waited", "Total time that other ranks waited for this one."),
    ("of link rate", "Bus bandwidth divided by the bandwidth of the device's links."),
    ("link utilisation", "Bus bandwidth divided by the bandwidth of the device's links."),
];

const COMMUNICATION: &[Term] = &[
    ("collective", "Collective operation: all-reduce, all-gather, reduce-scatter, all-to-all, broadcast."),
    ("collectives", "Collective operations: all-reduce, all-gather, reduce-scatter, all-to-all, broadcast."),
    ("communicators", "Groups of ranks that communicate."),
    ("messages", "Transfers between ranks."),
    ("exposed comm", "Communication while no compute kernel runs; overlap could hide it."),
    ("exposed copy", "Copies while no kernel runs."),
    ("hidden communication", "Communication while compute kernels run."),
    ("transfer", "The part of a collective that moves data."),
    ("waiting", "The part of a collective that waits for the last rank."),
    ("came last", "Number of collectives in which the rank arrived last, so that the others waited for it."),
    ("matched across ranks", "Collectives that were found on all ranks."),
    ("bandwidth", "Bytes per second."),
    ("algorithm bandwidth", "Bytes of the message / time of the collective."),
    (
        "bus",
        "Bus bandwidth: algorithm bandwidth times a factor of the algorithm, comparable with the link's.",
    ),
    ("bus bandwidth", "Algorithm bandwidth times a factor of the algorithm, comparable with the link's."),
    ("of which timed", "Collectives whose duration is in the file."),
    ("consistent bandwidths", "Bandwidths in the file that are consistent with its sizes and times."),
];

const MODEL: &[Term] =
    &[("model", "The neural network that runs."), ("host", "The machine's CPU, as opposed to the device.")];

const SERVERS: &[Term] =
    &[("batch size", "Sequences in a step."), ("exposed", "While nothing else runs that could hide it.")];

const SECTIONS: &[Term] = &[
    ("verdict", "Verdict: what takes the time, in one sentence."),
    ("advice", "Recommended changes, largest gain first."),
    ("next", "What to look at next."),
    ("trace", "Contents of the trace."),
    ("trace health", "Checks for problems in the recording."),
    ("by class", "Device time by what kernels compute."),
    ("all steps", "Every step of the phase together."),
    ("outside of steps", "Everything outside steps, annotations and profiler ranges."),
    ("not evaluated", "Advice rules that lack an input, and which."),
    ("what if", "The time ledger with another model: --what-if KEY=VALUE."),
    ("changed", "Significant: the difference holds after correction for the number of comparisons."),
    (
        "likely, few steps",
        "The difference exceeds the variation between steps, but there are too few steps to be sure.",
    ),
    (
        "may be chance",
        "Not significant: noise of the steps or rounds could cause such a difference. A change must pass further tests besides an interval without zero: `rooflens compare --help` has the rule.",
    ),
    ("different setup", "A different device, engine, model or batch: compared anyway, and reported."),
    ("replaced", "Another kernel does the same work, matched by the operator, module or layer around it."),
    ("fits", "Weights, KV cache and activations stay below the usable part of the device's memory."),
    (
        "time ledger",
        "Breakdown of the wall time: every nanosecond is on exactly one line, from the floor \
    (lower bound) to the causes of lost time.",
    ),
    ("idle by cause", "Why the device is idle."),
    ("operators", "Framework operators by time."),
    ("steps and phases", "Steps and phases of the run: prefill, decode, warm-up."),
    ("layers and modules", "Parts of the model by device time."),
    ("python functions", "Python functions by their own time."),
    ("gemms", "GEMMs by shape."),
    ("engine layers", "Layers of a TensorRT engine by time."),
    ("engine runs", "Runs of a TensorRT engine."),
    ("server metrics", "What a server's /metrics page says."),
    ("model and measurement", "Measured times beside the cost model's lower bounds."),
    ("what was measured", "Headline metrics of the run."),
    ("not computed", "Missing numbers, with the reason."),
    ("notes", "Problems: what could not be read, or looks wrong."),
];
