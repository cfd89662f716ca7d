"""Totals of `rooflens cost` against torch's FLOP counter, and bounds and estimates against separate formulas.

The FLOPs that the corpus's goldens count of real configs, all and useful, by operator class; and lower bound and estimate
of dense decoders by hand (cost_figures.py). Nothing is rounded but times, which are divided. The tests of rooflens-cost
compare the library with these and all other goldens: parameters, made configs, encoders.
"""

import json
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cost_figures
from oracle import ONLY, REPOSITORY, differ, main, must

# Classes for which the goldens' useful FLOPs are the counted ones: chunks are not cut short.
USEFUL_AS_COUNTED = {"gdn.core", "gdn.conv", "mamba.conv", "mamba.ssd"}


def totals(binary, config: Path, *options) -> dict:
    return must(binary, "cost", config, *options, "--format", "json").report()["totals"]


def compare(found: dict, golden: dict, config: dict):
    classes = found["classes"]
    yield from differ("flops.as_counted", found["flops"]["as_counted"], golden["oracle_flops"])
    solve = classes.get("gdn.solve")  # a triangular solve: torch counts none of it, the golden's core holds it
    for name in sorted(classes.keys() | golden["ref_full"].keys()):
        got = classes[name]["flops"]["as_counted"] if name in classes else 0
        got += solve["flops"]["useful"] if name == "gdn.core" and solve else 0
        yield from differ(f"classes[{name}].as_counted", got, golden["ref_full"].get(name, 0))
    useful = useful_flops(golden, config)
    for name, want in useful.items():
        if name not in USEFUL_AS_COUNTED and name in classes:
            yield from differ(f"classes[{name}].useful", classes[name]["flops"]["useful"], want)
    if not USEFUL_AS_COUNTED & useful.keys():
        yield from differ("flops.useful", found["flops"]["useful"], sum(useful.values()))


def useful_flops(golden: dict, config: dict) -> dict:
    """The goldens' useful FLOPs by class; they know causality but no window, so that is added."""
    useful = dict(golden["ref_causal_lastlogit"])
    window, types = config.get("sliding_window"), config.get("layer_types")
    if window and types and "sliding_attention" in types:
        new = golden["seq"]
        # Pairs of a query and a key it sees: itself and up to window - 1 before it.
        widths = [window if kind == "sliding_attention" else new for kind in types]
        pairs = sum(min(place, width) for width in widths for place in range(1, new + 1))
        useful["attn.core"] = 4 * golden["batch"] * pairs * config["num_attention_heads"] * config["head_dim"]
    return useful


def figures(binary, path: Path):
    """Lower bounds and estimates of a dense decoder against those by hand."""
    config = json.loads(path.read_text())
    for file, batch, new, past, tp in cost_figures.CASES:
        if config["num_attention_heads"] % tp:
            continue
        shape = ["--context", past] if past else ["--prefill", new]
        hardware = tomllib.loads((REPOSITORY / "catalog/hardware" / f"{file}.toml").read_text())["name"]
        options = ["--hardware", hardware, "--batch", batch, *shape, "--tp", tp]
        found = totals(binary, path, *options)
        for figure, by_hand in (("seconds", cost_figures.bound), ("estimate_s", cost_figures.estimate)):
            want = by_hand(config, file, batch, new, past, tp)
            if abs(found[figure] - want) > 1e-9 * want:
                yield f"{options} {figure}: {found[figure]!r}, by hand {want!r}"


def check_all(judge, args, _scratch: Path) -> None:
    configs = args.corpus / "configs"
    goldens = json.loads((args.corpus / "oracle_flops_b1_s2048.json").read_text())

    def wrong(golden: dict) -> list[str]:
        path, shape = configs / f"{golden['config']}.json", ["--batch", golden["batch"], "--prefill", golden["seq"]]
        return list(compare(totals(args.rooflens, path, *shape), golden, json.loads(path.read_text())))

    with ThreadPoolExecutor(2) as pool:
        chosen = [golden for golden in goldens if args.only in golden["config"]]
        for golden, found in zip(chosen, pool.map(wrong, chosen)):
            judge.check(golden["config"], found)
    for name, path in cost_figures.plain_configs(args.corpus):
        if args.only in name:
            judge.check(f"{name}: bounds and estimates", figures(args.rooflens, path))


if __name__ == "__main__":
    main(check_all, ONLY)
