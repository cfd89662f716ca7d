#!/usr/bin/env python3
"""The time ledger: planted traces, and sums and idle time of every real trace.

    python3 check_ledger.py --rooflens BIN --xtask XTASK [--traces 200] [--seed N] [--only TEXT] [--keep DIR]

`xtask make-trace` plants where each nanosecond goes; the ledger must find each share of
each phase, kind of work and layer within half a point, and add up to the nanosecond. On the
traces of the corpus it must add up to the spans of the devices, its idle time must be what the
plain reader's interval unions leave, and under 5 % of the kernel time may be of no class.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import kineto_truth as truth
from rooflens_cli import analyze, arguments, existing, kineto_folder
from trace_file import corpus_traces

POINTS = 0.001  # of the wall time of what is looked at; half a point is promised, a mistake may be smaller
UNCLASSIFIED = 0.05
NOT_GPU = "mtia"  # its jobs have no names that tell what they do
SHOWN = 12

IDLE = {"launch_bound", "cpu_bound", "sync", "dependency", "dispatch", "unknown"}
# Where the kernels of each class of the catalog do the model's work.
WORK = {
    "products": {"gemm", "gemv", "moe"},
    "attention": {"attention", "rope", "kv_cache"},
    "norms": {"norm"},
    "lookups": {"embedding"},
    "others": {"sampling"},
}
# The end of a path, what is known of the trace, the share.
KNOWN = [
    ("tracelens/inference/vllm_decode_full/graph_execution.json.gz", "idle", 0.0024),
    ("tracelens/b200/eager_trace.json.gz", "communication of busy", 0.185),
]


# ---------------------------------------------------------------- what holds for every ledger


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


def check_devices(ledger, traces):
    """The whole against interval unions of the raw events."""
    times = truth.devices(traces).values()
    wall, idle = sum(row["span_ns"] for row in times), sum(row["idle_ns"] for row in times)
    exposed = sum(row["exposed_communication_ns"] for row in times)
    lines = by_line(ledger["lines"])
    if ledger["wall_ns"] != wall:
        yield f"wall_ns {ledger['wall_ns']}, spans of the devices {wall}"
    if (got := sum(ns for line, ns in lines.items() if line in IDLE)) != idle:
        yield f"idle {got}, interval unions say {idle}"
    if (got := lines.get("communication", 0) + lines.get("comm_wait", 0)) != exposed:
        yield f"communication with waiting {got}, interval unions say {exposed} exposed"


# ---------------------------------------------------------------- planted traces


def check_planted(binary, xtask, keep, seed) -> tuple[str, tuple[float, str], list[str]]:
    folder = Path(tempfile.mkdtemp(prefix=f"planted-{seed}-", dir=keep))
    made = subprocess.run(
        [xtask, "make-trace", "--seed", str(seed), "-o", folder], capture_output=True, text=True
    )
    label = f"seed {seed}"
    if made.returncode != 0:
        return label, (0.0, ""), [made.stderr.strip()]
    planted = json.loads((folder / "truth.json").read_text())
    outcome = analyze(binary, folder / "traces", *options(planted, folder))
    if outcome.code != 0:
        return label, (0.0, ""), [f"exit code {outcome.code}: {outcome.stderr.strip()[:300]}"]
    report = outcome.report()
    ledger = report["ledger"]
    traces = [truth.load(path) for path in sorted((folder / "traces").iterdir())]
    off: list[tuple[float, str]] = []
    wrong = [*check_sums(ledger), *check_devices(ledger, traces), *compare(planted, ledger, off)]
    wrong += check_steps(planted, report)
    far, where = max(off, default=(0.0, ""))
    wrong += [f"{where} is {share:.4f} off" for share, where in sorted(off, reverse=True) if share > POINTS]
    if not (wrong and keep):
        shutil.rmtree(folder)
    return f"{label}, {planted['annotations']}, {planted['nesting']}, {planted['model_type']}, tp {planted['tp']}", (far, where), wrong


def check_steps(planted, report):
    """Each step counts once, whatever is annotated besides, and no two names of one disagree."""
    counted: dict[str, int] = {}
    for row in report["phases"]:
        if row["role"] == "step":
            counted[row["kind"]] = counted.get(row["kind"], 0) + row["count"]
    want = {name: phase["steps"] for name, phase in planted["phases"].items() if phase["steps"]}
    if counted != want:
        yield f"steps {counted}, planted {want} ({planted['nesting']})"
    if any(note["code"] == "step_names_disagree" for note in report["notes"]):
        yield f"names of a step disagree ({planted['nesting']})"


def options(planted, folder):
    yield from ("--model", folder / "config.json", "--hardware", planted["hardware"], "--tp", planted["tp"])
    for key in ("context", "batch"):
        if planted[key] is not None:
            yield from (f"--{key}", planted[key])


def compare(planted, ledger, off):
    """Notes how far each share is from what was planted."""
    if ledger["wall_ns"] != planted["wall_ns"]:
        yield f"wall_ns {ledger['wall_ns']}, planted {planted['wall_ns']}"
    phases = {phase["phase"]: phase for phase in ledger["phases"]}
    if phases.keys() != planted["phases"].keys():
        yield f"phases {sorted(phases)}, planted {sorted(planted['phases'])}"
    whole: dict[str, float] = {}
    for name in phases.keys() & planted["phases"].keys():
        got, want = phases[name], planted["phases"][name]
        wall = sum(want["lines"].values())
        if got["steps"] != want["steps"]:
            yield f"{name}: {got['steps']} steps, planted {want['steps']}"
        flawed = {row["reason"]: row["steps"] for row in got["flawed"]}
        if flawed != want["flawed"]:
            yield f"{name}: flawed {flawed}, planted {want['flawed']}"
        for line, ns in want["lines"].items():
            whole[line] = whole.get(line, 0.0) + ns
        share_off(off, name, by_line(got["lines"]), want["lines"], wall)
        work_off(off, name, got, want, wall)
        if want["layers"] is not None:
            layers_off(off, name, got["layers"], want["layers"], wall)
    share_off(off, "all", by_line(ledger["lines"]), whole, planted["wall_ns"])


def share_off(off, name, got, want, wall):
    for line in got.keys() | want.keys():
        off.append((abs(got.get(line, 0) - want.get(line, 0)) / wall, f"{name}.{line}"))


def work_off(off, name, got, want, wall):
    for work, classes in WORK.items():
        planted = want["work"].get(work, {"ns": 0, "floor_ns": None})
        rows = [row for row in got["classes"] if row["class"] in classes]
        off.append((abs(sum(row["ns"] for row in rows) - planted["ns"]) / wall, f"{name}.{work}"))
        floor = sum(row["floor_ns"] or 0 for row in rows)
        off.append((abs(floor - (planted["floor_ns"] or 0)) / wall, f"floor of {name}.{work}"))


def layers_off(off, name, got, want, wall):
    rows = {str(row["layer"]): row for row in got}
    for layer in rows.keys() | want.keys():
        for part in ("kernels_ns", "unneeded_ns", "moved_ns", "idle_ns"):
            ns = [side.get(layer, {}).get(part, 0) for side in (rows, want)]
            off.append((abs(ns[0] - ns[1]) / wall, f"{name}.layers[{layer}].{part}"))


# ---------------------------------------------------------------- real traces


def check_real(binary, path) -> tuple[Path, str, list[str]]:
    trace = truth.load(path)
    if not trace.activities:
        return path, "", []
    outcome = analyze(binary, path)
    if outcome.code != 0:
        return path, "failed", [f"exit code {outcome.code}"]
    ledger = outcome.report()["ledger"]
    wrong = [*check_sums(ledger), *check_devices(ledger, [trace])]
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
    parser.add_argument("--xtask", type=existing, required=True, metavar="BIN")
    parser.add_argument("--traces", type=int, default=200, metavar="N", help="how many are planted")
    parser.add_argument("--seed", type=int, default=1, help="of the first")
    parser.add_argument("--only", default="", metavar="TEXT", help="real traces whose path holds it")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep planted traces that failed")
    args = parser.parse_args()
    if args.keep:
        args.keep.mkdir(parents=True, exist_ok=True)
    corpus = [path for path in corpus_traces(kineto_folder(args.corpus)) if args.only in str(path)]
    failed = real = 0
    farthest = (0.0, "")
    with ProcessPoolExecutor() as pool:
        seeds = range(args.seed, args.seed + args.traces)
        for label, far, wrong in pool.map(
            partial(check_planted, args.rooflens, args.xtask, args.keep), seeds, chunksize=4
        ):
            farthest = max(farthest, (far[0], f"{far[1]} of {label}"))
            failed += report(label, "", wrong)
        for path, found, wrong in pool.map(partial(check_real, args.rooflens), corpus):
            real += bool(found)
            failed += report(path, found, wrong)
    print(
        f"ledger: {args.traces} planted traces, the farthest share {farthest[0] * 100:.3f} points off "
        f"({farthest[1]}); {real} real traces; {failed} wrong"
    )
    return 1 if failed else 0


def report(label, found, wrong) -> bool:
    if wrong or found:
        print(f"{'WRONG' if wrong else 'ok   '} {label} {found}")
    for line in wrong[:SHOWN]:
        print(f"      {line}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
