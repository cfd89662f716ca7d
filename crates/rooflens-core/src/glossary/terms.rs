//! The labels on screens and pages that no registry has: headings of columns, lines of the ledger, labels.
//! A test asks `explain` for every heading of every section of the report.

use rooflens_analyze::compare::headline;

use super::entry::{GlossaryEntry, plain};

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
        RUNS,
        BENCH,
        CHARTS,
        COST,
        COMPARE,
        LAUNCHES,
        SAMPLES,
        HEADINGS,
    ]
    .concat()
    .into_iter()
    .map(|(name, about)| plain(name, about))
    .chain(headline::ALL.iter().map(|metric| plain(metric.title.to_lowercase(), metric.definition)))
    .collect()
}

type Term = (&'static str, &'static str);

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

/// What a run measures beside its trace: the start, the queue, the allocator, performance states.
const RUNS: &[Term] = &[
    (
        "queued_ns",
        "Time from submitting a prompt to its first step, ns; null if the runtime does not queue requests, \
         as `runtime=pytorch`. Headline metrics: queued_p50_ns, queued_p99_ns.",
    ),
    ("load_ns", "How long loading the model took, ns."),
    ("warmup_ns", "Total time of the warm-up rounds, ns; no other measured number includes them."),
    (
        "warmup_rounds",
        "Rounds before the measured ones, in which caches are filled and kernels are autotuned and compiled.",
    ),
    ("pass", "A step of the run: `measure` without profilers, or one under a profiler."),
    ("peak allocated", "Peak bytes in tensors, by torch.cuda.memory_stats() (allocated_bytes.all.peak)."),
    (
        "peak reserved",
        "Peak bytes that PyTorch's caching allocator reserved from the device (reserved_bytes.all.peak).",
    ),
    (
        "fragmentation",
        "Inactive split bytes / reserved bytes at the end: memory that is free, but cannot be returned to the device \
         while another part of its segment is in use. Wholly free segments are cached, not fragmented.",
    ),
    (
        "inactive split",
        "Free bytes at the end in blocks split from larger ones: they cannot be returned to the device while \
         another part of the block is in use.",
    ),
    ("inactive_split_bytes", "Free bytes at the end in split blocks (inactive_split_bytes.all.current)."),
    ("peak_inactive_split_bytes", "Peak free bytes in split blocks (inactive_split_bytes.all.peak)."),
    (
        "alloc retries",
        "Number of cudaMalloc calls that failed and were retried after the allocator's cache was emptied: \
         memory was nearly full, and each retry stalls the device.",
    ),
    (
        "num_alloc_retries",
        "Number of cudaMalloc calls that failed and were retried after the allocator's cache was emptied.",
    ),
    ("ooms", "Number of allocations that failed: out of memory (num_ooms)."),
    ("num_ooms", "Number of allocations that failed: out of memory."),
    (
        "p-states",
        "Performance states of the driver, P0 (fastest) to P15, with the fraction of samples in each. \
         GeForce devices run CUDA in P2 by default; data-centre devices run in P0.",
    ),
    ("pstates", "Performance states of a device, P0 (fastest) to P15, with the fraction of samples in each."),
    ("busy_pstates", "Performance states of the samples in which the device was busy."),
    ("below_p0_share", "Fraction of the busy samples in a performance state slower than P0."),
    ("below_p0_ns", "Number of busy samples below P0 times the sampling interval."),
];

/// The screen of `bench`.
const BENCH: &[Term] = &[
    ("offered", "Load of a level: concurrent users of a closed loop, or requests per second of an open one."),
    (
        "offered load",
        "Load of a level: concurrent users of a closed loop, or requests per second of an open one.",
    ),
    ("per user", "Output tokens per second that one request gets once its answer has begun: 1 / TPOT."),
    (
        "goodput",
        "Requests per second that meet the limits of the SLO on times, each on its own, and their share.",
    ),
    (
        "TTFT p99 at pace",
        "TTFT p99 that users would see who arrive at the median pace of the closed loop, whether or not their last \
         answer is there: coordinated omission corrected.",
    ),
    (
        "send lag p99",
        "From the scheduled time of a request to its first byte sent, without waiting for a slot or a connection.",
    ),
    ("receive delay p99", "From the kernel's receive time of data to the client reading it."),
    ("loop lag p99", "How late timers of the client's event loop fired."),
    ("CPU per chunk", "Processor time of the client / received chunks."),
    ("running", "Requests in the server's running batch, by its own metrics."),
    ("waiting", "Requests in the server's queue, by its own metrics."),
    ("queue time", "Mean time of a request in the server's queue, by its own metrics."),
    ("prefill time", "Mean time from being scheduled to the first token, by the server's own metrics."),
    ("preemptions", "Requests that were preempted because the KV cache was full."),
    ("kv cache, max", "Highest used share of the KV cache during a load test."),
    ("prefix hits", "Share of prompt tokens that came from the prefix cache."),
    ("acceptance", "Share of draft tokens that were accepted (speculative decoding)."),
    ("load test", "Requests sent to a server on a schedule or by concurrent users: `rooflens bench`."),
    ("levels", "Loads that were tried one after the other."),
    ("objective", "A limit of a metric, as `--slo` states it."),
    ("met", "Whether the measured value is within the limit."),
    ("SLO", "Service-level objectives, as `--slo` states them: met or missed."),
    ("failure", "Kind of failure, as `http_429` or `timeout`."),
    ("example", "Message of the first failure of the kind."),
    ("definition", "How the number is computed."),
    ("server", "What the server's own metrics page (`/metrics`) says."),
    ("client", "Whether the load generator itself kept up: if not, the latencies are not the server's."),
    ("over time", "Values by the time of arrival, or as the server's metrics were read."),
    ("slowest requests", "Where the time of a typical and of the slowest requests went."),
    (
        "p50, 95 % CI",
        "95 % confidence interval of the median; takes into account that neighbouring requests are alike.",
    ),
    ("p99, 95 % CI", "95 % confidence interval of the 99th percentile, in the same way."),
    ("load", "What a load test offered: users, or requests per second."),
    ("workload", "What a load test sent."),
];

/// Titles of the charts on pages.
const CHARTS: &[Term] = &[
    ("time by phase", "Chart: the time ledger of each phase, as shares of the phase or as times."),
    (
        "duration of each step",
        "Chart: how long each step took, in order of start; steps beyond p99 stand out.",
    ),
    (
        "layers by class of kernel",
        "Chart: for each layer and class of kernel, the time above the lower bound; the time itself without a model.",
    ),
    ("allocated memory over time", "Chart: memory that the allocator had given out, and who held the peak."),
    ("devices and host over time", "Chart: sampled counters of devices and the host; throttling is marked."),
    (
        "bus bandwidth by message size",
        "Chart: what collectives moved per second, by size of the message, against the bandwidth of the link.",
    ),
    (
        "latency over throughput",
        "Chart: latency of a load test's levels over the throughput that they reached.",
    ),
];

/// The screens of `cost` and `compare`.
const COST: &[Term] = &[
    ("architecture", "Class of the model in Transformers: `architectures` of its config.json."),
    ("config", "The config that it comes from."),
    ("hidden", "Width of the residual stream: hidden_size."),
    ("parameters", "Weights of the model, counted one by one."),
    ("active", "Parameters used per token: of the routed experts, only those the token is routed to."),
    (
        "draft layers",
        "Parameters of the draft layers for speculative decoding (MTP), which are not part of the model \
         itself.",
    ),
    ("encoder layers", "Layers that process the input of an encoder-decoder model."),
    ("decoder layers", "Layers that generate the output, with cross-attention to the encoder's output."),
    (
        "encoder parameters",
        "Parameters of the encoder, without an embedding that it shares with the decoder.",
    ),
    ("kv cache per encoder position", "Bytes of the cross-attention KV cache per encoder position."),
    ("positions/s", "Audio positions that the encoder processes per second."),
    ("estimated positions/s", "Estimated audio positions per second."),
    ("vision tower", "The vision tower: the encoder of images."),
    ("vision parameters", "Parameters of the vision tower."),
    ("weights", "Bytes or dtype of the model's weights, including quantisation scales."),
    ("stored", "Dtype of the weights in memory."),
    (
        "kv cache per token",
        "Bytes that each further token adds to the KV cache, in layers that keep every token.",
    ),
    (
        "states per sequence",
        "Bytes of recurrent state (linear attention, convolutions) per sequence, independent of its length.",
    ),
    ("state format", "Dtype of the recurrent states."),
    ("activations", "Peak memory of intermediate activations."),
    ("usable", "Device memory that an engine can use."),
    ("largest batch", "Largest batch size that still meets the target."),
    ("largest batch that fits", "Largest batch of this context whose KV cache fits beside the weights."),
    ("bound by", "What limits the lower bound: compute, memory bandwidth or the links between devices."),
    (
        "lower bound by routing",
        "Lower bound if all tokens are routed to the same experts, and if they are routed to as many as \
         possible.",
    ),
    (
        "estimate",
        "Expected time: like the lower bound, but at the fractions of peak that good kernels reach, \
    plus launch overhead.",
    ),
    ("estimated tokens/s", "Estimated tokens per second."),
    ("energy at tdp (estimate)", "Energy per token if the devices draw their TDP for the estimated time."),
    ("model flops", "Model FLOPs: matrix operations that the result requires; a multiply-add counts as two."),
    ("flop", "Arithmetic operations; a multiply-add counts as two."),
    (
        "as pytorch counts",
        "FLOPs as torch.utils.flop_counter counts them: including masked pairs and the logits of all tokens.",
    ),
    ("as counted", "Matrix operations as torch.utils.flop_counter counts them."),
    ("issued", "Matrix operations including padding to the kernels' tiles."),
    ("vector", "Operations outside the tensor cores: norms, softmax, activations, rotary embeddings."),
    ("moved", "Bytes read from and written to the device's memory."),
    ("bytes moved", "Bytes read from and written to the device's memory."),
    ("kv read", "Bytes of the KV cache that are read."),
    ("kv written", "Bytes of the KV cache that are written."),
    ("sent", "Bytes that a device sends to others."),
    ("crossovers", "Batch sizes and contexts at which the limiting resource of the step changes."),
    ("formula", "Formula of the number, in keys of the config."),
    ("×", "How often the operator runs in a step."),
    ("number", "Which metric of the model it is."),
    ("base", "Baseline: the model or setup that the others are compared with."),
    ("base time", "Lower bound of the baseline."),
    ("base flop", "Operations of the baseline."),
    ("base bytes moved", "Bytes moved by the baseline."),
    ("flop change", "Difference in operations from the baseline."),
    ("bytes moved change", "Difference in bytes moved from the baseline."),
    ("adjusted key", "The key that --hold adjusted to keep the total constant."),
    ("prefill tokens", "Prompt tokens in one step."),
    ("at context", "Tokens in the KV cache of each sequence."),
    ("required of all devices", "FLOP/s and bandwidth that the target requires, summed over all devices."),
    ("smallest tp (estimate)", "Smallest tensor-parallel size whose estimate meets the target."),
];

const COMPARE: &[Term] = &[
    ("a", "The first input: what the others are compared with."),
    ("b", "The second input."),
    ("a per step", "Time of a typical step of A: the mean of the middle half."),
    ("b per step", "Time of a typical step of B: the mean of the middle half."),
    ("change", "B − A, or B / A − 1."),
    ("change %", "B over A less 1."),
    ("95 % interval", "95 % confidence interval of the change, by block bootstrap over steps or rounds."),
    ("p", "p-value of the difference, corrected for the number of comparisons."),
    ("detectable", "Smallest change that could be detected with the noise of these rounds."),
    ("how", "How a kernel changed: same, renamed, fused, split, replaced, or only on one side."),
    ("within", "Operator, module or layer that contains the work on both sides."),
    ("scope", "The phase that the row is about, or the whole trace."),
    ("place", "A rank, and a device of it."),
    ("changed lines", "Kernels and waits that changed significantly."),
    ("wall", "Wall time: work and waiting."),
    ("check", "What must be the same on both sides for a comparison to hold."),
    ("checks", "What must be the same on both sides for a comparison to hold."),
    ("key", "Key of the config."),
    ("metric", "A headline metric of a run."),
    ("headline metrics", "TTFT, TPOT, latency and throughput of the rounds measured without a profiler."),
    ("rounds", "Repetitions of the measured pass."),
    ("ranks and devices", "The comparison of each rank and device."),
];

/// Columns of profiled launches, in the words of Nsight Compute where it has one.
const LAUNCHES: &[Term] = &[
    ("grid", "Grid size: blocks of a launch in x, y and z."),
    ("block", "Block size: threads of a block in x, y and z."),
    ("index", "Number of the launch in the report, from 0; of a run in a series, its position."),
    (
        "typical",
        "Launches of this name before the first one whose duration is typical (within 5 % of the median).",
    ),
    ("process", "Process id of the profiled program."),
    ("thread", "Thread that opened the range."),
    ("style", "How an NVTX range was opened and closed: push/pop or start/end."),
    (
        "precision",
        "Precision with the most FLOPs in the launch: FP64, FP32, FP16 or the tensor cores' dtype.",
    ),
    ("fp64", "FP64 FLOPs of the launch."),
    ("flop/s", "Achieved FLOP/s: FLOPs / time."),
    ("tensor fp16", "FP16 FLOPs of the launch on tensor cores."),
    ("tensor bf16", "BF16 FLOPs of the launch on tensor cores."),
    ("tensor pipes", "Cycles in which the tensor pipes are active, as a fraction of active cycles."),
    (
        "tensor pipes, of elapsed",
        "Cycles in which the tensor pipes are active, as a fraction of elapsed cycles.",
    ),
    ("dram b/s", "Achieved bandwidth of device memory: DRAM bytes / time, bytes per second."),
    ("dram bytes", "Bytes read from and written to device memory."),
    ("l2 bytes", "Bytes through the L2 cache."),
    ("l1 bytes", "Bytes through the L1 cache."),
    ("shared bytes", "Bytes read from and written to shared memory."),
    ("flop/b of l2", "Arithmetic intensity relative to L2 traffic: FLOPs / L2 bytes."),
    ("flop/b of l1", "Arithmetic intensity relative to L1 traffic: FLOPs / L1 bytes."),
    ("registers", "Registers per thread."),
    ("waves", "Grid size divided by the number of blocks that the device can hold at once (waves per SM)."),
    (
        "limited by",
        "Resource that limits the occupancy: registers, shared memory, warps, barriers or blocks.",
    ),
    ("top stall", "Most frequent warp stall reason, with its fraction of warp time."),
    (
        "warp stall reasons",
        "Why warps do not issue an instruction, as fractions of the time of active warps.",
    ),
    ("active warps", "Active warps per scheduler, mean over cycles."),
    ("eligible warps", "Warps per scheduler that can issue their next instruction, mean over cycles."),
    (
        "issuing",
        "Cycles in which a scheduler issues an instruction (One or More Eligible), as a fraction of cycles.",
    ),
    ("issue slots", "Issue slots busy: issued instructions as a fraction of the available issue slots."),
    ("sm active", "Cycles in which a multiprocessor has at least one warp, as a fraction of elapsed cycles."),
    ("threads active", "Active threads per warp and instruction, of 32 (warp execution efficiency)."),
    (
        "threads not predicated off",
        "Active threads per warp and instruction that are not predicated off, of 32.",
    ),
    ("sectors per load", "32-byte sectors per global load request; 4 for coalesced 4-byte loads of a warp."),
    (
        "sectors per store",
        "32-byte sectors per global store request; 4 for coalesced 4-byte stores of a warp.",
    ),
    ("bytes used per sector, loads", "Bytes of each 32-byte sector that global loads use."),
    ("bytes used per sector, stores", "Bytes of each 32-byte sector that global stores use."),
    (
        "excess sectors",
        "Sectors of global accesses beyond what coalesced accesses need, as a fraction of all sectors.",
    ),
    ("bank conflicts", "Bank conflicts of shared memory."),
    ("conflicts per request", "Bank conflicts per request to shared memory."),
    ("conflicts, of wavefronts", "Bank conflicts as a fraction of the wavefronts of shared memory."),
    (
        "resident blocks per multiprocessor",
        "Blocks that fit on a multiprocessor at once, by limiting resource.",
    ),
    (
        "launches under the roofline",
        "Profiled launches at their arithmetic intensity, below the device's roofline.",
    ),
    (
        "what limits them",
        "Launches and their time by what bounds them: compute, memory, latency or the launch itself.",
    ),
    ("lost time per kernel", "Time of each kernel above its lower bound, and what it is lost to."),
    ("loss", "What the time above the lower bound is lost to."),
    ("what to change", "Rules over the counters that apply to the launches, with what to try."),
    ("of launches", "Fraction of the profiled launches."),
    ("of profiled time", "Fraction of the time of the profiled launches under the profiler."),
    ("in timeline", "Time of all launches of the kernel in the timeline."),
    ("of timeline", "Fraction of the kernel time of the timeline."),
    (
        "profiled share of the timeline",
        "Fraction of the timeline's kernel time in kernels that were profiled.",
    ),
    ("compute capability", "CUDA compute capability of the device, such as 9.0."),
    ("multiprocessors", "Streaming multiprocessors (SMs) or compute units of the device."),
    ("std dev", "Standard deviation of the sample (n − 1)."),
    ("kernels by device time", "Kernels by the sum of their durations on the device."),
    ("kernels by range", "Kernels by the NVTX range that launched them."),
    ("text", "Text of the NVTX range."),
];

const SAMPLES: &[Term] = &[
    ("devices and host", "Samples of devices and host while the workload ran."),
    ("samples", "Number of samples."),
    ("cpu", "Utilisation of the host's processors; on a page of a trace, the host."),
    ("sm clock", "Clock of the multiprocessors, mean over the samples."),
    ("min clock", "Lowest clock of the multiprocessors in a sample."),
    ("max power", "Highest power in a sample, watts."),
    ("max temperature", "Highest temperature in a sample, °C."),
    ("peak memory", "Highest memory use in a sample, bytes."),
    ("clocks throttled by", "Throttle reasons that the driver reported, with the fraction of samples."),
    ("workload cores", "Processor cores that the workload used: its processor time / elapsed time."),
    ("workload memory", "Highest memory use of the workload's processes in a sample, bytes."),
    ("per token", "Energy per generated token, joules."),
    ("read", "Bytes read from disk."),
    ("written", "Bytes written to disk."),
    ("received", "Bytes received over the network."),
    ("job", "Number of the job in the sweep, from 0, as Hydra counts."),
    ("jobs", "Jobs of the sweep with their headline metrics; ★ marks the best of a column."),
    ("status", "Whether the job completed: complete, incomplete, or the reason."),
    (
        "pareto front",
        "Whether no other job has both more tokens per second and a lower time per output token.",
    ),
    ("overview", "Summary of the runs."),
    ("figures", "Figures of the report."),
    ("trend", "Values of a metric over runs, with its change points."),
    ("since", "Run from which on the metric has its new level."),
    ("unit", "Unit of the value."),
    ("comparison", "What changed between the inputs, and whether it is significant."),
    ("time of a decode step", "Lower bound or measured time of one decode step."),
];

const HEADINGS: &[Term] = &[
    ("achieved rates", "MFU and MBU of each phase: measured rates relative to the device's peaks."),
    (
        "allocations at the peak",
        "Memory that is allocated at the peak, by the line of code that allocated it.",
    ),
    ("at the time of the snapshot", "Blocks of the allocator when the snapshot was taken."),
    ("cuda allocator", "Statistics of PyTorch's caching allocator (torch.cuda.memory_stats)."),
    ("assumptions", "Assumptions of the lower bound and the estimate."),
    ("arithmetic intensity", "FLOPs per byte moved. Above the device's ridge point, compute is the limit."),
    ("by kind", "The same by kind of layer."),
    ("by library", "Device time by the library that a kernel belongs to."),
    ("by name", "The same by name."),
    ("by type of the output", "The same by element type of the first output."),
    ("changed operators", "Operators of the model whose cost differs from the baseline."),
    ("compared with the baseline", "Totals of the changed model beside those of the baseline."),
    ("decode operators", "Operators of a decode step with their lower bounds."),
    ("prefill operators", "Operators of a prefill with their lower bounds."),
    ("full names", "Full names of the kernels in the table above, in its order."),
    ("host activity during gaps", "What the host did while the device was idle, by name."),
    ("longest gaps of each cause", "The longest idle gaps, with the activities around them."),
    ("slowest ranges", "The three longest ranges of each group."),
    ("waiting by rank", "Time that each rank waited in collectives, and how long others waited for it."),
    (
        "flops by the static model and by torch",
        "FLOPs of the static model beside those that torch.profiler counted.",
    ),
    (
        "matmuls by recorded shapes",
        "Achieved rates of matmuls by the input shapes that the profiler recorded.",
    ),
    (
        "matmuls that the static model does not have",
        "Matmuls of the trace that match no operator of the static model, such as extra padding or recomputation.",
    ),
    ("per step, by operator", "Time per step of both inputs by operator, with the change."),
    ("what to look at next", "The largest remaining findings, in order."),
    ("where", "Layers or module that the operator is in."),
    ("floor after", "Lower bound of the changed model."),
    ("layout", "Parallelism that engines refuse, with the reason."),
    ("targets", "Whether the targets of --ttft and --tpot can be met, and what they require."),
    ("kv cache on the fullest device", "KV cache of the device that holds most of it, bytes."),
    (
        "memory on the fullest device",
        "Weights, KV cache and activations of the device that holds most, bytes.",
    ),
    ("lower bound of the time", "Lower bound of the time over the swept values."),
    ("upper bound of tokens/s", "Tokens per second at the lower bound of the time: no run is faster."),
];
