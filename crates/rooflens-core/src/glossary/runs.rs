//! Keys and headings of what a run measures beside its trace: the start, the queue, the allocator,
//! performance states.

use super::terms::Term;

/// Word and meaning.
pub(super) const RUNS: &[Term] = &[
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
