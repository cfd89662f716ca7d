#!/usr/bin/env python3
"""Every total of `rooflens cost` against what Transformers and torch's FLOP counter gave.

First the made configs (fixtures/cost, by transformers_cost.py), then the real ones of the corpus: the FLOP goldens by
operator class, the parameter counts, and lower bound and estimate of dense decoders by hand (cost_figures.py). A number
differs or not: nothing is rounded but times, which are divided.
"""

import csv
import json
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import cost_figures
from oracle import FIXTURES, ONLY, REPOSITORY, differ, main, run

# Classes for which the goldens' useful FLOPs are the counted ones: chunks are not cut short.
USEFUL_AS_COUNTED = {"gdn.core", "gdn.conv", "mamba.conv", "mamba.ssd"}


@dataclass
class Workload:
    """One call of the binary and what must come out of it."""

    options: list[str]
    flops: int | None = None
    label: str = ""


@dataclass
class Case:
    name: str
    config: dict
    workloads: list[Workload]
    params: dict = field(default_factory=dict)
    classes: dict = field(default_factory=dict)  # a row of the FLOP goldens


def cost(binary, config: Path, options):
    return run(binary, "cost", config, *options, "--format", "json")


def check(binary, case: Case) -> tuple[Case, list[str]]:
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.json"
        path.write_text(json.dumps(case.config))
        for number, workload in enumerate(case.workloads):
            outcome = cost(binary, path, workload.options)
            if outcome.code != 0:
                return case, [*wrong, f"{workload.label}: {outcome.failure()}"]
            try:
                wrong += compare(outcome.report(), case, workload, first=number == 0)
            except (KeyError, TypeError, ValueError) as error:
                wrong.append(f"{workload.label}: the report lacks {error}")
    return case, wrong


def compare(report: dict, case: Case, workload: Workload, first: bool):
    totals = report["totals"]
    if workload.flops is not None:
        got = totals["flops"]["as_counted"]
        yield from differ(f"{workload.label} flops.as_counted", got, workload.flops)
    if first:
        got = report["params"]
        for name, key in (("total", "total"), ("active", "active"), ("tower", "vision")):
            if name in case.params and (got[key] or key != "vision"):
                yield from differ(f"params.{key}", got[key], case.params[name])
    if case.classes:
        yield from compare_classes(totals, case)


def compare_classes(totals: dict, case: Case):
    golden, classes = case.classes, totals["classes"]
    solve = classes.get("gdn.solve")  # a triangular solve: torch counts none of it
    for name, want in golden["ref_full"].items():
        got = classes[name]["flops"]["as_counted"] if name in classes else None
        if name == "gdn.core" and solve is not None and got is not None:
            got += solve["flops"]["useful"]
        yield from differ(f"classes[{name}].as_counted", got, want)
    for name in sorted(classes.keys() - golden["ref_full"].keys()):
        if got := classes[name]["flops"]["as_counted"]:
            yield f"classes[{name}].as_counted: {got}, golden has none"
    if solve is not None:
        yield from differ("classes[gdn.solve].as_counted", solve["flops"]["as_counted"], 0)
    useful = useful_flops(golden, case.config)
    for name, want in useful.items():
        if name not in USEFUL_AS_COUNTED and name in classes:
            yield from differ(f"classes[{name}].useful", classes[name]["flops"]["useful"], want)
    if not USEFUL_AS_COUNTED & useful.keys():
        yield from differ("flops.useful", totals["flops"]["useful"], sum(useful.values()))


def useful_flops(golden: dict, config: dict) -> dict:
    """The goldens' useful FLOPs by class; they know causality but no window, so that is added."""
    useful = dict(golden["ref_causal_lastlogit"])
    window, types = config.get("sliding_window"), config.get("layer_types")
    if window and types and "sliding_attention" in types:
        batch, new = golden["batch"], golden["seq"]
        pairs = sum(
            window_pairs(new, window if kind == "sliding_attention" else new) for kind in types)
        useful["attn.core"] = 4 * batch * pairs * config["num_attention_heads"] * config["head_dim"]
    return useful


def window_pairs(new: int, window: int) -> int:
    """Pairs of a query and a key it sees: itself and up to window - 1 before it."""
    return sum(min(place, window) for place in range(1, new + 1))


def workload_of(golden: dict) -> Workload:
    batch, past = golden["batch"], golden.get("past")
    if past is None:
        kind, label = ["--prefill", str(golden["prefill"])], f"prefill {golden['prefill']}"
    else:
        kind, label = ["--context", str(past)], f"decode after {past}"
    if "encoder_tokens" in golden:
        kind += ["--encoder-tokens", str(golden["encoder_tokens"])]
    flops = golden["flops"]["total"] if "flops" in golden else golden["total"]
    return Workload(["--batch", str(batch), *kind], flops, f"batch {batch} {label}")


def made_cases(folder: Path):
    for path in sorted(folder.glob("*.json")):
        golden = json.loads(path.read_text())
        workloads = [workload_of(w) for w in golden["workloads"] if "absent" not in w]
        params = {key: golden["params"][key] for key in ("total", "active")}
        for image in golden.get("vision", [])[:1]:
            params["tower"] = image["params"]
        yield Case(path.stem, golden["config"], workloads, params)


def corpus_cases(corpus: Path):
    """The FLOP goldens and the parameter counts, one case a config."""
    truth = {row["config"]: row for row in csv.DictReader((corpus / "param_truth.csv").open())}
    goldens = json.loads((corpus / "oracle_flops_b1_s2048.json").read_text())
    by_name = {golden["config"]: golden for golden in goldens}
    for name in sorted(truth.keys() | by_name.keys()):
        config = json.loads((corpus / "configs" / f"{name}.json").read_text())
        golden, params = by_name.get(name, {}), {}
        workload = Workload(["--batch", "1", "--prefill", "64"], None, "prefill 64")
        if golden:
            batch, new = golden["batch"], golden["seq"]
            workload = Workload(["--batch", str(batch), "--prefill", str(new)],
                                golden["oracle_flops"], f"batch {batch} prefill {new}")
            params["total"] = golden["params"]
        if name in truth:
            params["total"] = int(truth[name]["total_params_exact"])
            params["active"] = int(truth[name]["active_params_text_incl_embed"])
        yield Case(name, config, [workload], params, golden)


def document_reader_cases(corpus: Path):
    """DeepSeek-OCR as llm-perf-opt counted it with torch: vision, vision and prompt, decoding."""
    sweeps = corpus / "llm-perf-opt/reports/sweep/20251128-152354"
    config = json.loads((corpus / "configs/deepseek-ai--DeepSeek-OCR.derived.json").read_text())
    kinds = [
        ("vision_crops/vision_sweep.json",
         lambda point: point["stage_costs"].get("vision_vendor", {}).get("flops_tflops"),
         lambda point, crops: ["--crops", crops]),
        ("e2e_vision_prefill/e2e_vision_prefill_sweep.json",
         lambda point: point["prefill"].get("vendor_tflops"),
         lambda point, crops: ["--crops", crops, "--prefill",
                               str(point["context_len"] - point["image_tokens_total"])]),
        ("e2e_decode/e2e_decode_sweep.json",
         lambda point: point["decode"].get("vendor_tflops"),
         lambda point, _: ["--context", str(point["context_len"]), "--steps", str(point["decode_steps"])]),
    ]
    workloads = []
    for file, counted, options in kinds:
        for point in json.loads((sweeps / file).read_text())["points"]:
            if not counted(point):
                continue
            crops = str(point.get("height_crop_num", 0) * point.get("width_crop_num", 0))
            argv = options(point, crops)
            workloads.append(Workload(argv, round(counted(point) * 1e12), " ".join(argv)))
    yield Case("DeepSeek-OCR, published", config, workloads)


def check_figures(binary, name: str, path: Path) -> tuple[str, list[str]]:
    """Lower bounds and estimates of a dense decoder against those by hand."""
    config, wrong = json.loads(path.read_text()), []
    for file, batch, new, past, tp in cost_figures.CASES:
        if config["num_attention_heads"] % tp:
            continue
        shape = ["--context", str(past)] if past else ["--prefill", str(new)]
        hardware = tomllib.loads((REPOSITORY / "catalog/hardware" / f"{file}.toml").read_text())["name"]
        options = ["--hardware", hardware, "--batch", str(batch), *shape, "--tp", str(tp)]
        outcome = cost(binary, path, options)
        if outcome.code != 0:
            return name, [*wrong, f"{options}: exit code {outcome.code}"]
        totals = outcome.report()["totals"]
        for figure, by_hand in (("seconds", cost_figures.bound), ("estimate_s", cost_figures.estimate)):
            want = by_hand(config, file, batch, new, past, tp)
            if abs(totals[figure] - want) > 1e-9 * want:
                wrong.append(f"{' '.join(options)} {figure}: {totals[figure]!r}, by hand {want!r}")
    return name, wrong


def check_all(judge, args, _scratch: Path) -> None:
    cases = [*made_cases(FIXTURES / "cost"), *corpus_cases(args.corpus), *document_reader_cases(args.corpus)]
    with ThreadPoolExecutor(2) as pool:
        for case, wrong in pool.map(partial(check, args.rooflens), [case for case in cases if args.only in case.name]):
            judge.check(case.name, wrong)
    for name, path in cost_figures.plain_configs(args.corpus):
        if args.only in name:
            judge.check(f"{name}: bounds and estimates", check_figures(args.rooflens, name, path)[1])


if __name__ == "__main__":
    main(check_all, ONLY)
