#!/usr/bin/env python3
"""The time ledger of every trace of the corpus: its sums, its idle time and its exposed communication.

    python3 check_ledger.py --rooflens BIN [--only TEXT]

It must add up to the spans of the devices, its idle time must be what the plain reader's interval unions
leave, and under 5 % of the kernel time may be of no class. Its other half, over synthetic traces, are the tests in
xtask/src/make_trace/checks.
"""

import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import kineto_truth as truth
from judged import Judge
from rooflens_cli import analyze, arguments, kineto_folder
from trace_file import chosen_traces

UNCLASSIFIED = 0.05
NOT_GPU = "mtia"  # its jobs have no names that tell what they do

IDLE = {"launch_bound", "cpu_bound", "sync", "dependency", "dispatch", "unknown"}
# The end of a path, what is known of the trace, the share.
KNOWN = [
    ("tracelens/inference/vllm_decode_full/graph_execution.json.gz", "idle", 0.0024),
    ("tracelens/b200/eager_trace.json.gz", "communication of busy", 0.185),
]


def by_line(rows) -> dict[str, int]:
    return {row["line"]: row["ns"] for row in rows}


def check_sums(ledger):
    """Lines and phases add up to the whole, and classes and layers to no more than their lines."""
    if sum(by_line(ledger["lines"]).values()) != ledger["wall_ns"]:
        yield "lines do not add up to wall_ns"
    if sum(phase["wall_ns"] for phase in ledger["phases"]) != ledger["wall_ns"]:
        yield "phases do not add up to wall_ns"
    summed: dict[str, int] = {}
    for phase in ledger["phases"]:
        name, lines = phase["phase"], by_line(phase["lines"])
        for line, ns in lines.items():
            summed[line] = summed.get(line, 0) + ns
            if ns < 0:
                yield f"{name}.{line} is below zero"
        if sum(lines.values()) != phase["wall_ns"]:
            yield f"the lines of {name} do not add up"
        busy = sum(ns for line, ns in lines.items() if line not in IDLE)
        if ledger["timeline"] == "device" and sum(row["ns"] for row in phase["classes"]) != busy:
            yield f"the classes of {name} do not add up to its busy time"
        in_layers = sum(
            row[part] for row in phase["layers"] for part in ("kernels_ns", "unneeded_ns", "moved_ns", "idle_ns")
        )
        if in_layers > phase["wall_ns"]:
            yield f"the layers of {name} have more time than the phase"
    if summed != by_line(ledger["lines"]):
        yield "lines of the phases do not add up to the lines of the whole"


def check_devices(ledger, trace):
    """The whole against interval unions of the raw events."""
    times = truth.devices([trace]).values()
    wall, idle = sum(row["span_ns"] for row in times), sum(row["idle_ns"] for row in times)
    exposed = sum(row["exposed_communication_ns"] for row in times)
    lines = by_line(ledger["lines"])
    if ledger["wall_ns"] != wall:
        yield f"wall_ns {ledger['wall_ns']}, spans of the devices {wall}"
    if (got := sum(ns for line, ns in lines.items() if line in IDLE)) != idle:
        yield f"idle {got}, interval unions say {idle}"
    if (got := lines.get("communication", 0) + lines.get("comm_wait", 0)) != exposed:
        yield f"communication with waiting {got}, interval unions say {exposed} exposed"


def check(binary, path) -> tuple[Path, str, list[str]]:
    trace = truth.load(path)
    if not trace.activities:
        return path, "", []
    outcome = analyze(binary, path)
    if outcome.code != 0:
        return path, "failed", [f"exit code {outcome.code}"]
    ledger = outcome.report()["ledger"]
    wrong = [*check_sums(ledger), *check_devices(ledger, trace)]
    classes = [row for phase in ledger["phases"] for row in phase["classes"]]
    busy = sum(row["ns"] for row in classes)
    unknown = sum(row["ns"] for row in classes if row["class"] == "other") / busy if busy else 0.0
    if unknown >= UNCLASSIFIED and NOT_GPU not in path.name:
        wrong.append(f"{unknown:.1%} of the device time has no class")
    lines = by_line(ledger["lines"])
    idle = sum(ns for line, ns in lines.items() if line in IDLE) / ledger["wall_ns"]
    shares = {"idle": idle, "communication of busy": lines.get("communication", 0) / busy if busy else 0.0}
    for end, what, share in KNOWN:
        if str(path).endswith(end) and round(shares[what], 3 if share > 0.1 else 4) != share:
            wrong.append(f"{what} {shares[what]:.4f}, known {share}")
    exposed = shares["communication of busy"]
    return path, f"idle {idle:.2%}, communication {exposed:.1%} of busy, no class {unknown:.2%}", wrong


def main() -> int:
    parser = arguments(__doc__.split("\n")[0])
    parser.add_argument("--only", default="", metavar="TEXT", help="traces whose path contains it")
    args = parser.parse_args()
    corpus = [path for path in chosen_traces(kineto_folder(args.corpus)) if args.only in str(path)]
    judge = Judge("check_ledger")
    with ProcessPoolExecutor() as pool:
        for path, found, wrong in pool.map(partial(check, args.rooflens), corpus):
            if found:
                judge.check(path, wrong, found)
    return judge.finish()


if __name__ == "__main__":
    sys.exit(main())
