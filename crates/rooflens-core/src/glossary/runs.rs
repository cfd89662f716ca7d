//! Keys and headings of what a run measures beside its trace: the start, the queue, the allocator,
//! performance states.

use super::terms::Term;

/// Word and meaning.
pub(super) const RUNS: &[Term] = &[
    (
        "queued_ns",
        "Time from a prompt given to its first step, ns; null where the runtime does not queue requests, as `runtime=pytorch`. Headline metrics: queued_p50_ns, queued_p99_ns.",
    ),
    ("load_ns", "How long loading the model took, ns."),
    ("warmup_ns", "Time of the warm-up rounds together, ns; they are in no other measured number."),
    (
        "warmup_rounds",
        "Rounds before the measured ones: caches, autotuning and compilation are done in them.",
    ),
    ("pass", "A step of the run: `measure` without profilers, or one under a profiler."),
    (
        "peak allocated",
        "Most bytes in tensors at a time, by torch.cuda.memory_stats() (allocated_bytes.all.peak).",
    ),
    (
        "peak reserved",
        "Most bytes that PyTorch's allocator took from the device at a time (reserved_bytes.all.peak).",
    ),
    (
        "fragmentation",
        "(peak reserved - peak allocated) / peak reserved: the least part of the reserved peak that held no tensor. The two peaks need not be at the same moment.",
    ),
    (
        "inactive split",
        "Free bytes at the end in blocks that were split from larger ones: they cannot be given back to the device while a part of the block is in use.",
    ),
    ("inactive_split_bytes", "Free bytes at the end in split blocks (inactive_split_bytes.all.current)."),
    (
        "peak_inactive_split_bytes",
        "Most free bytes in split blocks at a time (inactive_split_bytes.all.peak).",
    ),
    (
        "alloc retries",
        "How often cudaMalloc failed and was tried again after the allocator's cache was emptied: memory was nearly full, and each retry stalls the device.",
    ),
    (
        "num_alloc_retries",
        "How often cudaMalloc failed and was tried again after the allocator's cache was emptied.",
    ),
    ("ooms", "How often an allocation failed for want of memory (num_ooms)."),
    ("num_ooms", "How often an allocation failed for want of memory."),
    (
        "p-states",
        "Performance states of the driver, P0 (fastest) to P15, with the part of samples in each. GeForce devices run CUDA in P2 by default; data-centre devices run in P0.",
    ),
    ("pstates", "Performance states of a device, P0 (fastest) to P15, with the part of samples in each."),
    ("busy_pstates", "Performance states of the samples in which the device was busy."),
    ("below_p0_share", "Part of the busy samples in a performance state slower than P0."),
    ("below_p0_ns", "Samples that were busy below P0, times the time between two samples."),
];
