"""Every number of `rooflens analyze` against the plain reader, to the nanosecond; and the time ledger.

The small files of the corpus, or all if ROOFLENS_WHOLE_CORPUS is set, its multi-rank directory as one job, and --made
traces from a seed (made_traces.py) for what the corpus has too little of. A file that is not a trace must be refused
with exit code 5 and a hint. A ledger adds up, and its idle time is what the plain reader's interval unions leave.
"""

from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import kineto_truth as truth
import made_traces
from oracle import ONLY, UNREADABLE, analyze, differ, main, option
from trace_file import chosen_traces, corpus_traces

JOBS = ["hta/trace_filter"]  # directories of the corpus that hold the ranks of one job
UNCLASSIFIED = 0.05
NOT_GPU = "mtia"  # its jobs have no names that tell what they do
IDLE = {"launch_bound", "cpu_bound", "sync", "dependency", "dispatch", "unknown"}
# The end of a path, what is known of the trace, the share.
KNOWN = [
    ("tracelens/inference/vllm_decode_full/graph_execution.json.gz", "idle", 0.0024),
    ("tracelens/b200/eager_trace.json.gz", "communication of busy", 0.185),
]


def check(binary, path: Path) -> tuple[Path, str, list[str]]:
    files = corpus_traces(path) if path.is_dir() else [path]
    traces = [truth.load(f) for f in files]
    outcome = analyze(binary, path)
    if not any(t.is_trace for t in traces):
        refused = outcome.code == UNREADABLE and outcome.hint
        return path, "refused", [] if refused else [f"not a trace, yet {outcome.failure()}"]
    if outcome.code != 0:
        return path, "failed", [outcome.failure()]
    report = outcome.report()
    parts = [check_head, check_devices, check_kernels, check_operators, check_notes]
    wrong = [line for part in parts for line in part(report, traces)]
    counted = f"{len(report['kernels'])} kernels, {len(report['operators'])} operators"
    if not any(t.activities for t in traces):
        return path, counted, wrong
    wrong += [*ledger_sums(report["ledger"]), *ledger_unions(report["ledger"], traces)]
    if not path.name.startswith("made-") and not path.is_dir():
        wrong += ledger_shares(report["ledger"], path)
    return path, counted, wrong


def check_head(report, traces):
    head = report["trace"]
    if not report.get("schema", {}).get("version"):
        yield "schema.version is missing"
    yield from differ("trace.events", head["events"], sum(t.events for t in traces))
    yield from differ("trace.ranks", head["ranks"], len({t.rank for t in traces}))
    yield from differ("trace.devices", head["devices"], len(truth.devices(traces)))
    yield from differ("trace.span_ns", head["span_ns"], truth.span_ns(traces))


def check_devices(report, traces):
    want = truth.devices(traces)
    got = {(row["rank"], row["device"]): row for row in report["devices"]}
    yield from same_keys("devices", got, want, report["devices"])
    for key in got.keys() & want.keys():
        for column, value in want[key].items():
            yield from differ(f"devices{list(key)}.{column}", got[key].get(column), value)


def check_kernels(report, traces):
    want = truth.kernels(traces)
    rows = report["kernels"]
    got = {(row["name"], row["kind"]): row for row in rows}
    yield from same_keys("kernels", got, want, rows)
    totals = [row["total_ns"] for row in rows]
    if totals != sorted(totals, reverse=True):
        yield "kernels: not sorted by total_ns"
    everything = sum(row["total_ns"] for row in want.values())
    for key in got.keys() & want.keys():
        yield from check_kernel(f"kernels[{key[0][:60]!r}]", got[key], want[key], key[1], everything)


def check_kernel(label, got, want, kind, everything):
    for column in ("count", "total_ns", "max_ns"):
        yield from differ(f"{label}.{column}", got[column], want[column])
    if abs(got["mean_ns"] - want["total_ns"] / want["count"]) > 1:
        yield f"{label}.mean_ns: {got['mean_ns']}, truth {want['total_ns'] / want['count']}"
    low, high = truth.percentile_bounds(want["durs"], 0.5)
    if not low <= got["p50_ns"] <= high:
        yield f"{label}.p50_ns: {got['p50_ns']}, truth {low}..{high}"
    if everything and abs(got["share"] - want["total_ns"] / everything) > 1e-6:
        yield f"{label}.share: {got['share']}, truth {want['total_ns'] / everything}"
    if kind == "kernel":
        yield from differ(f"{label} is communication", got["class"] == "communication", want["communication"])
    else:
        yield from differ(f"{label}.class", got["class"], kind)


def check_operators(report, traces):
    want = truth.operators(traces)
    got = {row["name"]: row for row in report["operators"]}
    yield from same_keys("operators", got, want, report["operators"])
    for name in got.keys() & want.keys():
        for column, value in want[name].items():
            yield from differ(f"operators[{name[:60]!r}].{column}", got[name].get(column), value)


def check_notes(report, traces):
    lost = [n for n in report["notes"] if n["severity"] == "data_loss"]
    if lost and all(t.complete for t in traces):
        yield f"the file is whole, yet: {lost[0]}"
    if not lost and not all(t.complete for t in traces):
        yield "the file is damaged and no data_loss note says so"


def same_keys(label, got, want, rows):
    yield from (f"{label}: {key!r} is missing" for key in sorted(want.keys() - got.keys()))
    yield from (f"{label}: {key!r} is not in the trace" for key in sorted(got.keys() - want.keys()))
    if len(got) != len(rows):
        yield f"{label}: one stands twice"


def by_line(rows) -> dict[str, int]:
    return {row["line"]: row["ns"] for row in rows}


def ledger_sums(ledger):
    """Lines and phases add up to the whole, and classes and layers to no more than their lines."""
    yield from differ("sum of the lines", sum(by_line(ledger["lines"]).values()), ledger["wall_ns"])
    yield from differ("sum of the phases", sum(phase["wall_ns"] for phase in ledger["phases"]), ledger["wall_ns"])
    summed: dict[str, int] = {}
    for phase in ledger["phases"]:
        name, lines = phase["phase"], by_line(phase["lines"])
        for line, ns in lines.items():
            summed[line] = summed.get(line, 0) + ns
            if ns < 0:
                yield f"{name}.{line} is below zero"
        yield from differ(f"sum of the lines of {name}", sum(lines.values()), phase["wall_ns"])
        busy = sum(ns for line, ns in lines.items() if line not in IDLE)
        if ledger["timeline"] == "device":
            yield from differ(f"sum of the classes of {name}", sum(row["ns"] for row in phase["classes"]), busy)
        parts = ("kernels_ns", "unneeded_ns", "moved_ns", "idle_ns")
        if sum(row[part] for row in phase["layers"] for part in parts) > phase["wall_ns"]:
            yield f"the layers of {name} have more time than the phase"
    yield from differ("lines of the phases", summed, by_line(ledger["lines"]))


def ledger_unions(ledger, traces):
    """The whole against interval unions of the raw events."""
    times, lines = truth.devices(traces).values(), by_line(ledger["lines"])
    yield from differ("wall_ns", ledger["wall_ns"], sum(row["span_ns"] for row in times))
    idle = sum(ns for line, ns in lines.items() if line in IDLE)
    yield from differ("idle", idle, sum(row["idle_ns"] for row in times))
    exposed = lines.get("communication", 0) + lines.get("comm_wait", 0)
    yield from differ("exposed communication", exposed, sum(row["exposed_communication_ns"] for row in times))


def ledger_shares(ledger, path: Path):
    """Little time of kernels has no class, and what is known of a trace comes out."""
    classes = [row for phase in ledger["phases"] for row in phase["classes"]]
    busy = sum(row["ns"] for row in classes)
    unknown = sum(row["ns"] for row in classes if row["class"] == "other") / busy if busy else 0.0
    if unknown >= UNCLASSIFIED and NOT_GPU not in path.name:
        yield f"{unknown:.1%} of the device time has no class"
    lines = by_line(ledger["lines"])
    idle = sum(ns for line, ns in lines.items() if line in IDLE) / ledger["wall_ns"]
    shares = {"idle": idle, "communication of busy": lines.get("communication", 0) / busy if busy else 0.0}
    for end, what, share in KNOWN:
        if str(path).endswith(end) and round(shares[what], 3 if share > 0.1 else 4) != share:
            yield f"{what} {shares[what]:.4f}, known {share}"


def check_all(judge, args, scratch: Path) -> None:
    corpus = args.corpus / "kineto"
    paths = [*chosen_traces(corpus), *(corpus / job for job in JOBS), *made_traces.make(scratch, args.made, args.seed)]
    with ProcessPoolExecutor(2) as pool:
        for path, what, wrong in pool.map(partial(check, args.rooflens), [p for p in paths if args.only in str(p)]):
            judge.check(path.relative_to(corpus) if path.is_relative_to(corpus) else path.name, wrong, what)


if __name__ == "__main__":
    made = option("--made", type=int, default=100, metavar="N", help="synthetic traces")
    main(check_all, ONLY, made, option("--seed", type=int, default=1))
