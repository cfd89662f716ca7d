"""The plain reader: what a Kineto trace says, in exact integer nanoseconds.

It is slow and simple on purpose, and shares no code with Rooflens. Numbers are
read as decimals (a double loses up to 0.25 us at epoch-microsecond stamps), the
whole file is held in memory, and every union is a sorted sweep.
"""

import re
from collections import defaultdict
from dataclasses import dataclass, field
from decimal import ROUND_HALF_EVEN, Decimal

from trace_file import parse, read_bytes

# Categories whose complete ("X") events are work on a device.
KINDS = {"kernel": "kernel", "gpu_memcpy": "memcpy", "gpu_memset": "memset"}

# MTIA writes one category for all that its command processor does. `dma_request`
# moves bytes, the named jobs run on the processing elements; `event_record` and
# `event_wait` are marks in a queue: a wait of 16 ms is idleness, not work.
MTIA_CATEGORY = "mtia_ccp_events"
MTIA_NOT_WORK = {"event_record", "event_wait"}
MTIA_COPIES = {"dma_request"}

# Names of kernels that move data between devices. From every kernel name in the
# corpus, plus the public sources of the engines that use each.
COMMUNICATION = re.compile(
    r"""(?xi)
      ^nccl                                       # NCCL, and RCCL which keeps the prefix
    | \brccl
    | multimem_all_reduce | multimem_one_shot     # torch symmetric memory over NVLink SHARP
    | (one|two)_shot_all_reduce                   # torch symmetric memory
    | symm_mem
    | cross_device_reduce                         # vLLM and SGLang custom all-reduce
    | allreduce_(fusion|prototype) | quickreduce  # FlashInfer/TensorRT-LLM, AMD quick reduce
    | lamport                                     # TensorRT-LLM one-shot
    | deep_ep | \binternode:: | \bintranode::     # DeepEP
    | nvshmem | rocshmem
    """
)


@dataclass(frozen=True, slots=True)
class Activity:
    device: int
    stream: int
    kind: str
    communication: bool
    name: str
    start_ns: int
    dur_ns: int

    @property
    def interval(self) -> tuple[int, int]:
        return self.start_ns, self.start_ns + self.dur_ns


@dataclass(frozen=True, slots=True)
class Operator:
    """One call of a framework operator (`cpu_op`)."""

    thread: tuple
    name: str
    start_ns: int
    dur_ns: int


@dataclass
class Trace:
    rank: int = 0
    base_ns: int = 0  # what the stamps count from, so that ranks share one clock
    complete: bool = True
    is_trace: bool = True
    raw: list = field(default_factory=list)  # the events as parsed, for further questions
    first_ns: int | None = None  # earliest start and latest end of the complete events
    last_ns: int | None = None
    activities: list[Activity] = field(default_factory=list)
    operators: list[Operator] = field(default_factory=list)

    @property
    def events(self) -> int:
        return len(self.raw)


def to_ns(microseconds) -> int:
    """Microseconds, as the trace writes them, to whole nanoseconds (nearest)."""
    if isinstance(microseconds, int):
        return microseconds * 1000
    return int((Decimal(microseconds) * 1000).to_integral_value(ROUND_HALF_EVEN))


def is_number(value) -> bool:
    if isinstance(value, Decimal):
        return value.is_finite()
    return isinstance(value, int) and not isinstance(value, bool)


def load(path) -> Trace:
    data, whole_file = read_bytes(path)
    top, whole_text = parse(data)
    trace = Trace(complete=whole_file and whole_text)
    if top is None:
        trace.is_trace = False
        return trace
    rank = (top.get("distributedInfo") or {}).get("rank")
    if isinstance(rank, int):
        trace.rank = rank
    if isinstance(base := top.get("baseTimeNanoseconds"), int):
        trace.base_ns = base
    trace.raw = top["traceEvents"]
    for event in trace.raw:
        if not isinstance(event, dict) or event.get("ph") != "X":
            continue
        if not (is_number(event.get("ts")) and is_number(event.get("dur"))):
            continue
        if not isinstance(event.get("name"), str):
            continue
        category = event.get("cat")
        start, end = to_ns(event["ts"]), to_ns(event["ts"]) + to_ns(event["dur"])
        trace.first_ns = start if trace.first_ns is None else min(start, trace.first_ns)
        trace.last_ns = end if trace.last_ns is None else max(end, trace.last_ns)
        if category == "cpu_op":
            thread = (event.get("pid"), event.get("tid"))
            trace.operators.append(Operator(thread, event["name"], start, end - start))
        elif (kind := device_kind(category, event.get("name"))) is not None:
            trace.activities.append(activity(event, kind))
    return trace


def device_kind(category, name) -> str | None:
    if category == MTIA_CATEGORY:
        if name in MTIA_NOT_WORK:
            return None
        return "memcpy" if name in MTIA_COPIES else "kernel"
    return KINDS.get(category)


def activity(event, kind) -> Activity:
    args = event["args"] if isinstance(event.get("args"), dict) else {}
    device = args.get("device")
    if not isinstance(device, int):
        device = event.get("pid")
    name = event["name"]
    return Activity(
        device=device if isinstance(device, int) else 0,
        stream=args.get("stream", event.get("tid")),
        kind=kind,
        communication=kind == "kernel" and COMMUNICATION.search(name) is not None,
        name=name,
        start_ns=to_ns(event["ts"]),
        dur_ns=to_ns(event["dur"]),
    )


def union(intervals) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def length(merged) -> int:
    return sum(end - start for start, end in merged)


def intersection(left, right) -> int:
    total = at = 0
    for start, end in left:
        while at < len(right) and right[at][1] <= start:
            at += 1
        other = at
        while other < len(right) and right[other][0] < end:
            total += min(end, right[other][1]) - max(start, right[other][0])
            other += 1
    return total


def device_times(activities) -> dict[str, int]:
    """Busy, idle and the class unions of the activities of one device."""
    busy = union(a.interval for a in activities)
    compute = union(a.interval for a in activities if a.kind == "kernel" and not a.communication)
    communication = union(a.interval for a in activities if a.communication)
    copies = union(a.interval for a in activities if a.kind != "kernel")
    span = busy[-1][1] - busy[0][0] if busy else 0
    return {
        "span_ns": span,
        "busy_ns": length(busy),
        "idle_ns": span - length(busy),
        "compute_ns": length(compute),
        "communication_ns": length(communication),
        "exposed_communication_ns": length(communication) - intersection(communication, compute),
        "copy_ns": length(copies),
    }


def devices(traces) -> dict[tuple[int, int], dict[str, int]]:
    groups = defaultdict(list)
    for trace in traces:
        for a in trace.activities:
            groups[trace.rank, a.device].append(a)
    return {key: device_times(group) for key, group in sorted(groups.items())}


def span_ns(traces) -> int:
    """From the first start to the last end of all complete events; the profiler's own
    "Trace" row, the window in which it watched, is one of them."""
    bounds = [
        (t.base_ns + t.first_ns, t.base_ns + t.last_ns) for t in traces if t.first_ns is not None
    ]
    return max(b for _, b in bounds) - min(a for a, _ in bounds) if bounds else 0


def kernels(traces) -> dict[tuple[str, str], dict]:
    """By (name, kind): count, total, and the sorted durations."""
    groups = defaultdict(list)
    for trace in traces:
        for a in trace.activities:
            groups[a.name, a.kind].append(a.dur_ns)
    return {
        key: {
            "count": len(durs),
            "total_ns": sum(durs),
            "max_ns": max(durs),
            "durs": sorted(durs),
            "communication": key[1] == "kernel" and COMMUNICATION.search(key[0]) is not None,
        }
        for key, durs in groups.items()
    }


def operators(traces) -> dict[str, dict]:
    groups = defaultdict(lambda: {"count": 0, "total_ns": 0, "self_ns": 0})
    for trace in traces:
        for op, self_ns in self_times(trace.operators):
            row = groups[op.name]
            row["count"] += 1
            row["total_ns"] += op.dur_ns
            row["self_ns"] += self_ns
    return dict(groups)


def self_times(ops):
    """Each operator with the time that none of the operators inside it covers.

    An operator is inside another when it lies within it on the same thread; of two
    with the same interval the one written first is the outer. The part of a child
    that reaches beyond its parent's end is not the parent's to give away.
    """
    threads = defaultdict(list)
    for order, op in enumerate(ops):
        threads[op.thread].append((op.start_ns, -op.dur_ns, order, op))
    for calls in threads.values():
        calls.sort()
        children, ends = [[] for _ in calls], [start - minus_dur for start, minus_dur, *_ in calls]
        open_calls: list[int] = []
        for at, (start, minus_dur, _, _) in enumerate(calls):
            while open_calls and ends[open_calls[-1]] <= start:
                open_calls.pop()
            if open_calls:
                parent = open_calls[-1]
                children[parent].append((start, min(start - minus_dur, ends[parent])))
            open_calls.append(at)
        for (start, minus_dur, _, op), inside in zip(calls, children):
            yield op, op.dur_ns - length(union(inside))


def percentile_bounds(durs, fraction) -> tuple[int, int]:
    """The two neighbours between which any usual definition of a percentile lies."""
    position = fraction * (len(durs) - 1)
    low = int(position)
    return durs[low], durs[min(low + 1, len(durs) - 1)]
