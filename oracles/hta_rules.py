"""What HolisticTraceAnalysis 0.5.0 counts, restated exactly, one rule at a time.

With no rule the numbers are the truth. With the right rules they are HTA's numbers, to the noise of its doubles: so a
difference between HTA and the truth is proved to be those rules and nothing else. Read from HTA's source
(hta/utils/utils.py, hta/common/trace.py, hta/common/trace_filter.py, hta/analyzers/), written anew. HTA says that

* nccl_only: communication is what is named nccl*Kernel; every other collective is compute
* host_ops: a host operator with a `stream` argument (a Triton launch) runs on the device
* sync_marks: a cuda_sync row (a host or stream waiting) is work of the device
* mtia_marks: event_wait and event_record of an MTIA queue are compute
* steps_only: work whose launch was not recorded before the last ProfilerStep ended is no work
* whole_us: get_gpu_kernel_breakdown cuts each stretch of time to whole microseconds
"""

import re

import kineto_truth as truth

QUANTITIES = [
    "kernel_time_ns",
    "idle_ns",
    "compute_ns",
    "non_compute_ns",
    "communication_ns",
    "exposed_communication_ns",
    "overlap_percent",
]

NCCL = re.compile(r"^nccl.*Kernel")
MEMORY = re.compile(r"(^Memcpy)|(^Memset)|(^dma)")
NOT_COMPUTE = re.compile(r"(^nccl.*Kernel)|(.*(Memcpy)|(Memset))|(.*Sync)")


def stream_of(event) -> int:
    args = event.get("args")
    stream = args.get("stream", -1) if isinstance(args, dict) else -1
    try:
        return int(stream)
    except ValueError:
        return -1


def kind_by_name(name) -> str:
    if NCCL.match(name):
        return "communication"
    if MEMORY.match(name):
        return "memory"
    return "other" if NOT_COMPUTE.match(name) else "compute"


def rows(trace, rules=frozenset()) -> list[tuple[str, tuple[int, int]]]:
    """What is counted: compute, communication, memory or other, from when to when."""
    counted = [e for e in trace.raw if "dur" in e and e.get("cat") not in (None, "Trace")]
    launched = launched_in_steps(counted) if "steps_only" in rules else None
    out = []
    for event in counted:
        category, name = event["cat"], event["name"]
        start = truth.to_ns(event["ts"])
        interval = (start, start + truth.to_ns(event["dur"]))
        kind = truth.device_kind(category, name)
        if kind is not None:
            if launched is None or event["args"].get("correlation", -1) in launched:
                out.append((device_row_kind(kind, name, rules), interval))
        elif stream_of(event) != -1 and EXTRA.get(category) in rules:
            out.append((kind_by_name(name), interval))
    return out


def device_row_kind(kind, name, rules) -> str:
    if kind != "kernel":
        return "memory"
    if "nccl_only" in rules:
        return "communication" if NCCL.match(name) else "compute"
    return "communication" if truth.COMMUNICATION.search(name) else "compute"


# Categories that a rule counts besides, where they have a stream.
EXTRA = {"cpu_op": "host_ops", "cuda_sync": "sync_marks", truth.MTIA_CATEGORY: "mtia_marks"}


def launched_in_steps(events) -> set | None:
    """Correlation ids of what the host did before the last profiler step ended."""
    steps = [e for e in events if "ProfilerStep" in e["name"] and stream_of(e) == -1]
    if len({e["name"] for e in steps}) < 2:
        return None
    last_end = max(truth.to_ns(e["ts"]) + truth.to_ns(e["dur"]) for e in steps)
    return {
        e["args"].get("correlation", -1)
        for e in events
        if isinstance(e.get("args"), dict)
        and stream_of(e) == -1
        and truth.to_ns(e["ts"]) <= last_end
    }


def quantities(trace, rules=frozenset()) -> dict | None:
    """The numbers HTA gives for one rank, in nanoseconds; None when nothing ran on a device."""
    found = rows(trace, rules)
    if not found:
        return None
    busy = truth.union(interval for _, interval in found)
    kinds = {
        kind: truth.union(interval for of, interval in found if of == kind)
        for kind in ("compute", "communication", "memory")
    }
    span = busy[-1][1] - busy[0][0]
    communication = truth.length(kinds["communication"])
    overlap = truth.intersection(kinds["communication"], kinds["compute"])
    compute = truth.length(kinds["compute"])
    breakdown = communication, communication - overlap
    if "whole_us" in rules:
        breakdown = cut_to_whole_us(kinds)
    return {
        "kernel_time_ns": span,
        "idle_ns": span - truth.length(busy),
        "compute_ns": compute,
        "non_compute_ns": truth.length(busy) - compute,
        "communication_ns": breakdown[0],
        "exposed_communication_ns": breakdown[1],
        "overlap_percent": 100 * overlap / communication if communication else None,
    }


def cut_to_whole_us(kinds) -> tuple[int, int]:
    """Communication, all and exposed, when each stretch between two changes loses its fraction."""
    changes = {}
    for kind, merged in kinds.items():
        for start, end in merged:
            changes.setdefault(start, []).append((kind, 1))
            changes.setdefault(end, []).append((kind, -1))
    running = dict.fromkeys(kinds, 0)
    total = exposed = 0
    times = sorted(changes)
    for now, later in zip(times, times[1:]):
        for kind, step in changes[now]:
            running[kind] += step
        if running["communication"]:
            stretch = (later - now) // 1000 * 1000
            total += stretch
            exposed += 0 if running["compute"] else stretch
    return total, exposed
