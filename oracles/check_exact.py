#!/usr/bin/env python3
"""Every number of `rooflens analyze` against the plain reader, to the nanosecond.

    python3 check_exact.py --rooflens BIN [--corpus DIR] [--only TEXT] [--made N] [FILE|DIR ...]

With no files: the small files of the corpus, or all files if ROOFLENS_WHOLE_CORPUS is set,
its multi-rank directory as one job, and N traces made up from a seed (made_traces.py) for what the corpus has too little of.
A file that is not a trace must be refused with exit code 5 and a hint.
"""

import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import kineto_truth as truth
import made_traces
from judged import Judge
from rooflens_cli import UNREADABLE, analyze, arguments, kineto_folder
from trace_file import chosen_traces, corpus_traces

JOBS = ["hta/trace_filter"]  # directories of the corpus that hold the ranks of one job


def check(binary, path: Path) -> tuple[Path, str, list[str]]:
    files = corpus_traces(path) if path.is_dir() else [path]
    traces = [truth.load(f) for f in files]
    outcome = analyze(binary, path)
    if not any(t.is_trace for t in traces):
        refused = outcome.code == UNREADABLE and outcome.hint
        return path, "refused", [] if refused else [f"not a trace, yet {describe(outcome)}"]
    if outcome.code != 0:
        return path, "failed", [describe(outcome)]
    report = outcome.report()
    wrong = [
        *check_head(report, traces),
        *check_devices(report, traces),
        *check_kernels(report, traces),
        *check_operators(report, traces),
        *check_notes(report, traces),
    ]
    counted = f"{len(report['kernels'])} kernels, {len(report['operators'])} operators"
    return path, counted, wrong


def describe(outcome) -> str:
    return f"exit code {outcome.code}, stderr: {outcome.stderr.strip()[:300]!r}"


def differ(label, got, want) -> list[str]:
    return [] if got == want else [f"{label}: {got!r}, truth {want!r}"]


def check_head(report, traces):
    head = report["trace"]
    if not report.get("schema", {}).get("version"):
        yield "schema.version is missing"
    keys = truth.devices(traces)
    yield from differ("trace.events", head["events"], sum(t.events for t in traces))
    yield from differ("trace.ranks", head["ranks"], len({t.rank for t in traces}))
    yield from differ("trace.devices", head["devices"], len(keys))
    yield from differ("trace.span_ns", head["span_ns"], truth.span_ns(traces))


def check_devices(report, traces):
    want = truth.devices(traces)
    got = {(row["rank"], row["device"]): row for row in report["devices"]}
    yield from differ("devices", sorted(got), sorted(want))
    if len(got) != len(report["devices"]):
        yield "devices: a (rank, device) stands twice"
    for key in got.keys() & want.keys():
        for column, value in want[key].items():
            yield from differ(f"devices{list(key)}.{column}", got[key].get(column), value)


def check_kernels(report, traces):
    want = truth.kernels(traces)
    rows = report["kernels"]
    got = {(row["name"], row["kind"]): row for row in rows}
    yield from missing("kernels", got, want)
    if len(got) != len(rows):
        yield "kernels: a (name, kind) stands twice"
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
        is_communication = got["class"] == "communication"
        yield from differ(f"{label} is communication", is_communication, want["communication"])
    else:
        yield from differ(f"{label}.class", got["class"], kind)


def check_operators(report, traces):
    want = truth.operators(traces)
    got = {row["name"]: row for row in report["operators"]}
    yield from missing("operators", got, want)
    if len(got) != len(report["operators"]):
        yield "operators: a name stands twice"
    for name in got.keys() & want.keys():
        for column, value in want[name].items():
            yield from differ(f"operators[{name[:60]!r}].{column}", got[name].get(column), value)


def check_notes(report, traces):
    lost = [n for n in report["notes"] if n["severity"] == "data_loss"]
    if lost and all(t.complete for t in traces):
        yield f"the file is whole, yet: {lost[0]}"
    if not lost and not all(t.complete for t in traces):
        yield "the file is damaged and no data_loss note says so"


def missing(label, got, want):
    for key in sorted(want.keys() - got.keys()):
        yield f"{label}: {key!r} is missing"
    for key in sorted(got.keys() - want.keys()):
        yield f"{label}: {key!r} is not in the trace"


def main() -> int:
    parser = arguments(__doc__.split("\n")[0])
    parser.add_argument("--only", default="", metavar="TEXT", help="paths that contain TEXT")
    parser.add_argument("--made", type=int, default=100, metavar="N", help="made-up traces")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("paths", nargs="*", type=Path)
    args = parser.parse_args()
    corpus, judge = kineto_folder(args.corpus), Judge("check_exact")
    with tempfile.TemporaryDirectory() as scratch:
        paths = args.paths
        if not paths:
            paths = [*chosen_traces(corpus), *(corpus / job for job in JOBS)]
            paths += made_traces.make(Path(scratch), args.made, args.seed)
        paths = [p for p in paths if args.only in str(p)]
        with ProcessPoolExecutor(args.workers) as pool:
            results = pool.map(partial(check, args.rooflens), paths)
            for path, what, wrong in results:
                judge.check(shorter(path, corpus), wrong, what)
    return judge.finish()


def shorter(path: Path, corpus: Path) -> Path | str:
    return path.relative_to(corpus) if path.is_relative_to(corpus) else path.name


if __name__ == "__main__":
    sys.exit(main())
