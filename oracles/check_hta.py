"""HolisticTraceAnalysis 0.5.0 against Rooflens, on every trace that HTA can read.

The two must agree within 0.1 % on idle, compute, non-compute, communication, exposed communication and overlap. Where
they do not, the trace stands in DIFFERENCES with the rules that explain it, and then:
  * the plain reader with exactly those rules gives HTA's numbers within 0.1 %,
  * without any one of them it does not, so none is listed in vain,
  * Rooflens gives the plain reader's numbers, exactly.

A rule is what HTA counts that is not so, read from its source (hta/utils/utils.py, hta/common/, hta/analyzers/) and
written again. HTA says that
  * nccl_only: communication is what is named nccl*Kernel; every other collective is compute
  * host_ops: a host operator with a `stream` argument (a Triton launch) runs on the device
  * sync_marks: a cuda_sync row (a host or stream waiting) is work of the device
  * mtia_marks: event_wait and event_record of an MTIA queue are compute
  * steps_only: work whose launch was not recorded before the last ProfilerStep ended is no work
  * whole_us: get_gpu_kernel_breakdown cuts each stretch of time to whole microseconds
"""

import contextlib
import io
import logging
import math
import os
import re
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import kineto_truth as truth
from oracle import ONLY, analyze, main
from trace_file import corpus_traces, is_kineto

TOLERANCE = 1e-3
NOISE_NS = 2  # a double of microseconds since boot is good to 0.1 ns; sums of some thousands
PERCENT_STEP = 0.01  # HTA rounds the overlap to two decimals

# trace -> the rules by which HTA's numbers leave the truth by more than 0.1 %.
DIFFERENCES = {
    "hta/critical_path/alexnet/benchmark_result_2869224_1695835535_trace.json.gz": {"sync_marks"},
    "hta/critical_path/cuda_event_sync_multi_stream/event_sync_trace.json.gz": {"sync_marks"},
    "hta/mtia_inference_trace/mtia_inference_rank_0.json.gz": {"mtia_marks"},
    "hta/nccl_parser_config/nccl_data.json.gz": {"whole_us"},
    "hta/negative_queue_length_values_check/rank0.json.gz": {"steps_only"},
    "hta/trace_diff/test/test.json.gz": {"steps_only"},
    "hta/triton_example/triton_example.json.gz": {"host_ops"},
    "tracelens/b200/eager_trace.json.gz": {"nccl_only", "host_ops", "whole_us"},
    "tracelens/inference/vllm_decode_full/capture_traces/"
    "graph_capture_rank_0.1773709742341309550.pt.trace.json.gz": {"host_ops"},
    "tracelens/inference/vllm_prefilldecode_piecewise/capture_traces/"
    "graph_capture_rank_0.1773709679453551615.pt.trace.json.gz": {"host_ops"},
    "tracelens/inference/xdit_flux.1/capture_traces/capture_trace_rank_0.json.gz": {"host_ops"},
    "tracelens/inference/xdit_flux.1_aiter_sage/capture_traces/"
    "capture_trace_rank_0.json.gz": {"host_ops"},
    "tracelens/inference/xdit_sd_3.5/profile_trace_rank_0.json.gz": {"host_ops"},
    "tracelens/mi300/resnet_act_checkpoint.json.gz": {"steps_only", "whole_us"},
    "tracelens/torch_compile_triton/trace.json.gz": {"host_ops"},
}

JOBS = ["hta/trace_filter"]  # directories whose traces are the ranks of one job

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


def ask_hta(files: dict[int, Path]) -> dict[int, dict | None]:
    """HTA's numbers by rank, in nanoseconds."""
    os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
    logging.disable(logging.CRITICAL)
    warnings.filterwarnings("ignore")
    from hta.trace_analysis import TraceAnalysis

    answers = {}
    with contextlib.redirect_stdout(io.StringIO()):
        # By default HTA drops the last profiler step; asked to keep it, it comes closest.
        names = {rank: str(path) for rank, path in files.items()}
        hta = TraceAnalysis(trace_files=names, include_last_profiler_step=True)
        try:
            temporal = hta.get_temporal_breakdown(visualize=False).set_index("rank")
        except IndexError:  # what HTA raises when no row has a stream
            return dict.fromkeys(files)
        overlap = hta.get_comm_comp_overlap(visualize=False).set_index("rank")
        # The breakdown by kind sums the ranks, so it is asked for one rank at a time.
        for rank, path in files.items():
            one = hta if len(files) == 1 else TraceAnalysis(
                trace_files={rank: str(path)}, include_last_profiler_step=True
            )
            kinds = one.get_gpu_kernel_breakdown(visualize=False, include_memory_kernels=True)[0]
            answers[rank] = in_ns(temporal.loc[rank], overlap.loc[rank], kinds)
    return answers


def in_ns(temporal, overlap, kinds) -> dict:
    by_kind = dict(zip(kinds["kernel_type"], kinds["sum"]))
    communication = {k: v for k, v in by_kind.items() if "COMMUNICATION" in k}
    percent = float(overlap["comp_comm_overlap_pctg"])
    return {
        "kernel_time_ns": 1000 * float(temporal["kernel_time(us)"]),
        "idle_ns": 1000 * float(temporal["idle_time(us)"]),
        "compute_ns": 1000 * float(temporal["compute_time(us)"]),
        "non_compute_ns": 1000 * float(temporal["non_compute_time(us)"]),
        "communication_ns": 1000 * sum(communication.values()),
        "exposed_communication_ns": 1000
        * sum(v for k, v in communication.items() if "COMPUTATION" not in k),
        "overlap_percent": None if math.isnan(percent) else percent,
    }


def ask_rooflens(binary, path, traces) -> dict[int, dict | None]:
    outcome = analyze(binary, path)
    if outcome.code != 0:
        raise RuntimeError(outcome.failure())
    answers = dict.fromkeys(t.rank for t in traces)
    for row in outcome.report()["devices"]:
        if answers[row["rank"]] is not None:
            raise RuntimeError("HTA takes a rank for one device; this rank has two")
        communication, exposed = row["communication_ns"], row["exposed_communication_ns"]
        overlap = 100 * (communication - exposed) / communication if communication else None
        answers[row["rank"]] = {
            "kernel_time_ns": row["span_ns"],
            "idle_ns": row["idle_ns"],
            "compute_ns": row["compute_ns"],
            "non_compute_ns": row["busy_ns"] - row["compute_ns"],
            "communication_ns": communication,
            "exposed_communication_ns": exposed,
            "overlap_percent": overlap,
        }
    return answers


def apart(left: dict, right: dict) -> list[str]:
    """The quantities on which two answers are more than 0.1 % apart."""
    return [q for q in QUANTITIES if not close(q, left[q], right[q])]


def close(quantity, left, right) -> bool:
    if left is None or right is None:
        return left is right
    if quantity == "overlap_percent":
        return abs(left - right) <= PERCENT_STEP
    return abs(left - right) <= max(TOLERANCE * abs(right), NOISE_NS)


def check(binary, corpus: Path, name: str) -> tuple[str, str, list[str]]:
    """One trace (or job): its name, the verdict, what is wrong with it."""
    path = corpus / name
    files = corpus_traces(path) if path.is_dir() else [path]
    traces = [truth.load(f) for f in files]
    by_hta = ask_hta({t.rank: f for t, f in zip(traces, files)})
    by_rooflens = ask_rooflens(binary, path, traces)
    rules, verdict, wrong = DIFFERENCES.get(name, set()), "agree", []
    for trace in traces:
        hta, ours, plain = by_hta[trace.rank], by_rooflens[trace.rank], quantities(trace)
        if hta is None or plain is None:
            verdict = "no work"
            wrong += [] if hta is ours is plain else [f"no device work: HTA {hta}, Rooflens {ours}, truth {plain}"]
            continue
        wrong += [f"{q}: Rooflens {ours[q]}, truth {plain[q]}" for q in QUANTITIES if ours[q] != plain[q]]
        far = apart(hta, ours)
        if rules:
            verdict = f"explained by {', '.join(sorted(rules))}"
            wrong += check_rules(trace, hta, rules)
        elif far:
            wrong.append(f"HTA differs on {', '.join(far)} and no rule is listed")
    return name, verdict, wrong


def check_rules(trace, hta, rules):
    """The listed rules give HTA's numbers, and each of them is needed."""
    explained = quantities(trace, rules)
    for q in apart(hta, explained):
        yield f"{q}: HTA {hta[q]}, the rules give {explained[q]}"
    for rule in sorted(rules):
        if quantities(trace, rules - {rule}) == explained:
            yield f"rule {rule} changes nothing here"


def check_all(judge, args, _scratch: Path) -> None:
    corpus = args.corpus / "kineto"
    names = [str(f.relative_to(corpus)) for f in corpus_traces(corpus) if is_kineto(f)] + JOBS
    judge.check("DIFFERENCES names traces", [n for n in DIFFERENCES if not (corpus / n).exists()])
    with ProcessPoolExecutor(2) as pool:
        chosen = [n for n in names if args.only in n]
        for name, verdict, wrong in pool.map(partial(check, args.rooflens, corpus), chosen):
            judge.check(name, wrong, verdict)


if __name__ == "__main__":
    main(check_all, ONLY)
