"""Layers that `rooflens analyze` finds by the names of kernels, against those that modules name.

Each eager trace with modules is read once more without them: the layers must be the same. Each graph replay is held
against the modules around the launches of its capture. Where a capture has no modules (torch.compile), the number of
layers is the number of attentions in the replay.
"""

import bisect
import gzip
import json
import re
from collections import Counter, defaultdict
from decimal import Decimal
from pathlib import Path
from oracle import ONLY, analyze, main


LAYER = re.compile(r"nn\.Module: \w*(?:Layer|Block)_(\d+)$")
EAGER = [
    "tracelens/b200/eager_trace.json.gz",
    "tracelens/inference/sglang_prefilldecode/sglang_Qwen3-8B_prefilldecode.json.gz",
]
REPLAYS = ["sglang_decode", "vllm_decode_full", "vllm_prefilldecode_piecewise"]
# Of the device time of layers: where a layer begins, modules and kernels may differ by a kernel.
LARGEST_DIFFERENCE = 0.02


def events(path):
    with gzip.open(path) as file:
        document = json.load(file, parse_float=Decimal)
    return document, document["traceEvents"]


def ns(value) -> int:
    return int(Decimal(value) * 1000)


def layer_ranges(trace):
    """By thread, the outermost layer open at each time: starts, and (end, layer)."""
    ranges = defaultdict(list)
    for event in trace:
        found = event.get("cat") == "python_function" and LAYER.match(event["name"])
        if found:
            start = ns(event["ts"])
            ranges[event["tid"]].append((start, start + ns(event["dur"]), int(found[1])))
    return {tid: sorted(rows) for tid, rows in ranges.items()}


def layer_at(ranges, tid, now):
    rows = ranges.get(tid, [])
    at = bisect.bisect(rows, (now, 1 << 62, 0)) - 1
    return rows[at][2] if at >= 0 and rows[at][0] <= now < rows[at][1] else None


def calls(trace):
    return sorted(
        (e for e in trace if e.get("cat") in ("cuda_runtime", "cuda_driver") and e.get("ph") == "X"),
        key=lambda e: e["ts"],
    )


def kernels(trace, categories=("kernel",)):
    return sorted((e for e in trace if e.get("cat") in categories), key=lambda e: e["ts"])


def of_modules(trace) -> dict:
    """Layer to device time, by the modules around each launch."""
    ranges = layer_ranges(trace)
    launch = {e["args"].get("correlation"): e for e in calls(trace)}
    time = Counter()
    for kernel in kernels(trace, ("kernel", "gpu_memcpy", "gpu_memset")):
        call = launch.get(kernel["args"].get("correlation"))
        layer = call and layer_at(ranges, call["tid"], ns(call["ts"]))
        if layer is not None:
            time[layer] += ns(kernel["dur"])
    return time


def of_capture(replay, capture) -> dict:
    """Layer to device time, by the modules around each launch of the capture, in order."""
    ranges = layer_ranges(capture)
    launches, is_open = [], False
    for call in calls(capture):
        is_open = ("BeginCapture" in call["name"] or is_open) and "EndCapture" not in call["name"]
        if is_open and "kernel" in call["args"]:
            launches.append((call["args"]["kernel"], layer_at(ranges, call["tid"], ns(call["ts"]))))
    graphs = {e["args"].get("correlation") for e in calls(replay) if "GraphLaunch" in e["name"]}
    ran = [k for k in kernels(replay) if k["args"].get("correlation") in graphs]
    names = [name for name, _ in launches]
    if not ranges or [k["name"] for k in ran] != names:
        return {}
    time = Counter()
    for kernel, (_, layer) in zip(ran, launches):
        if layer is not None:
            time[layer] += ns(kernel["dur"])
    return time


def attentions(replay) -> int:
    """Kernels of attention itself, without those that merge its parts."""
    return sum("attention" in k["name"].lower() and "reduce" not in k["name"] for k in kernels(replay))


def compare(binary, path, truth, count=None) -> list[str]:
    outcome = analyze(binary, path)
    if outcome.code != 0:
        return [outcome.failure()]
    modules = outcome.report().get("modules") or {"layers": []}
    found = {row["layer"]: row["device_ns"] for row in modules["layers"]}
    if count is not None:
        return [] if sorted(found) == list(range(count)) else [f"{len(found)} layers, truth {count}"]
    if sorted(found) != sorted(truth):
        return [f"{len(found)} layers, truth {len(truth)}"]
    apart = sum(abs(found[layer] - truth[layer]) for layer in truth)
    share = apart / sum(truth.values())
    print(f"  {len(truth)} layers, device time differs by {share:.3%}")
    return [] if share <= LARGEST_DIFFERENCE else [f"device time of layers differs by {share:.1%}"]


def without_modules(document, folder) -> Path:
    kept = [e for e in document["traceEvents"] if e.get("cat") != "python_function"]
    path = folder / "trace.json"
    path.write_text(json.dumps({**document, "traceEvents": kept}, default=float))
    return path


def check_all(judge, args, scratch: Path) -> None:
    folder = args.corpus / "kineto"
    for name in [name for name in EAGER if args.only in name]:
        document, trace = events(folder / name)
        judge.check(name, compare(args.rooflens, without_modules(document, scratch), of_modules(trace)))
    for name in [name for name in REPLAYS if args.only in name]:
        inference = folder / "tracelens/inference" / name
        path = next(inference.glob("*.json.gz"))
        _, replay = events(path)
        _, capture = events(next((inference / "capture_traces").glob("*.json.gz")))
        truth = of_capture(replay, capture)
        judge.check(name, compare(args.rooflens, path, truth, None if truth else attentions(replay)))


if __name__ == "__main__":
    main(check_all, ONLY)
