#!/usr/bin/env python3
"""What kernels achieved, and whether the model fits: planted traces, by hand formulas.

    python3 check_fit.py --rooflens BIN --xtask XTASK [--traces 200] [--seed N]

`xtask make-trace` plants kernels at a known share of their roof. For each phase whose shapes the
annotations tell, the roofline's share of GEMM, MoE, attention and norm kernels must be the planted one,
and FLOPs and bytes of GEMMs must be what the shapes give by hand, within 1 %. The trace's own
config must be accepted; configs with other numbers of layers, with experts where the trace has none or
without them where it has some, and more ranks than the job has must be refused.
"""

import json
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from rooflens_cli import analyze, arguments, existing

TOLERANCE = 0.01
REFUSED = 2
KINDS = {"gemm": "products", "moe": "products", "attention": "attention", "norm": "norms"}
# Steps as vLLM's detailed annotations tell them: prompts, their tokens, sequences that go on.
STEP = re.compile(r"execute_\d+_context_(\d+)\(sq(\d+)sk\d+\w*\)_generation_(\d+)\(sq\d+sk\d+\w*\)")


def check_seed(binary, xtask, seed):
    with tempfile.TemporaryDirectory(prefix=f"fit-{seed}-") as folder:
        folder = Path(folder)
        made = subprocess.run(
            [xtask, "make-trace", "--seed", str(seed), "-o", folder], capture_output=True, text=True
        )
        if made.returncode != 0:
            return [made.stderr.strip()], 0, 0
        planted = json.loads((folder / "truth.json").read_text())
        config = json.loads((folder / "config.json").read_text())
        wrong, checked = [], 0
        outcome = run(binary, folder, planted, folder / "config.json")
        if outcome.code != 0:
            return [f"its own model: exit code {outcome.code}: {outcome.stderr.strip()[:300]}"], 0, 0
        ledger = outcome.report()["ledger"]
        steps = list(read_steps(folder)) if planted["annotations"] == "vllm" else []
        for phase in ledger["phases"]:
            if not planted["phases"].get(phase["phase"], {}).get("has_floor"):
                continue
            found, count = check_phase(phase, planted, config, steps)
            wrong += found
            checked += count
        if not any(phase["has_floor"] for phase in planted["phases"].values()):
            return wrong, checked, 0
        others = list(mismatched(config))
        for what, other in others:
            path = folder / "other.json"
            path.write_text(json.dumps(other))
            outcome = run(binary, folder, planted, path)
            if outcome.code != REFUSED:
                wrong.append(f"{what} was not refused: exit code {outcome.code} {outcome.stderr.strip()[:200]}")
        outcome = run(binary, folder, {**planted, "tp": 2 * planted["tp"]}, folder / "config.json")
        if outcome.code != REFUSED:
            wrong.append(f"twice the ranks were not refused: exit code {outcome.code}")
        return wrong, checked, len(others) + 1


def run(binary, folder, planted, config):
    options = ["--model", config, "--hardware", planted["hardware"], "--tp", planted["tp"]]
    for key in ("context", "batch"):
        if planted[key] is not None:
            options += [f"--{key}", planted[key]]
    return analyze(binary, folder / "traces", *options)


def mismatched(config):
    layers = config["num_hidden_layers"]
    for other in (layers - 1, layers + 1, 2 * layers):
        yield f"{other} layers, not {layers}", {**config, "num_hidden_layers": other}
    if config["model_type"] == "llama":
        experts = {
            "architectures": ["MixtralForCausalLM"],
            "model_type": "mixtral",
            "num_local_experts": 8,
            "num_experts_per_tok": 2,
        }
        yield "a model with experts", {**config, **experts}
    else:
        dense = {key: value for key, value in config.items() if not key.startswith("num_local_exp")}
        dense.pop("num_experts_per_tok")
        yield "a dense model", {**dense, "architectures": ["LlamaForCausalLM"], "model_type": "llama"}


def check_phase(phase, planted, config, steps):
    wrong, checked = [], 0
    name = phase["phase"]
    for row in phase["classes"]:
        kind, achieved = KINDS.get(row["class"]), row["achieved"]
        if kind is None or achieved is None or row["ns"] < 1000:
            continue
        right = 1 / (1 + planted["inefficiency"][kind])
        checked += 1
        # Durations are whole nanoseconds: short kernels are off by their rounding.
        rounding = row["activities"] / row["ns"]
        if abs(achieved["roof_share"] - right) > TOLERANCE * right + rounding:
            wrong.append(f"{name} {row['class']}: {achieved['roof_share']:.4f} of the roof, planted {right:.4f}")
    mine = [step for step in steps if step["phase"] == name]
    if mine and len(mine) * planted["tp"] == phase["steps"]:
        flops, moved = gemms(mine, config, planted["tp"])
        row = next(row for row in phase["classes"] if row["class"] == "gemm")
        for what, right in (("flops", flops), ("bytes", moved)):
            got = row["achieved"][what]
            checked += 1
            if abs(got - right) > TOLERANCE * right:
                wrong.append(f"{name} gemm {what}: {got:.5g}, by hand {right:.5g}")
            rate = row["achieved"][f"{what}_per_s"]
            if abs(rate - right / (row["ns"] / 1e9)) > TOLERANCE * rate:
                wrong.append(f"{name} gemm {what} per second: {rate:.5g}")
    return wrong, checked


def read_steps(folder):
    trace = json.loads((folder / "traces" / "rank-0.json").read_text())
    for event in trace["traceEvents"]:
        if found := STEP.fullmatch(event["name"]):
            prompts, tokens, going_on = (int(part) for part in found.groups())
            phase = "mixed" if prompts and going_on else "prefill" if prompts else "decode"
            yield {"phase": phase, "tokens": tokens + going_on, "sequences": prompts + going_on}


def gemms(steps, config, tp):
    """FLOPs and bytes of the GEMM kernels of all ranks, from shapes alone; bf16 throughout."""
    hidden, heads, kv = (config[f"{key}"] for key in ("hidden_size", "num_attention_heads", "num_key_value_heads"))
    inner, vocab, layers = (config[key] for key in ("intermediate_size", "vocab_size", "num_hidden_layers"))
    head = hidden // heads
    dense = [(hidden, (heads + 2 * kv) * head // tp), (heads * head // tp, hidden)]
    if config["model_type"] == "llama":
        dense += [(hidden, 2 * inner // tp), (inner // tp, hidden)]
    flops = moved = 0
    for step in steps:
        for rows, columns in dense:
            flops += layers * 2 * step["tokens"] * rows * columns
            moved += layers * 2 * (rows * columns + step["tokens"] * (rows + columns))
        rows, columns = hidden, vocab // tp
        flops += 2 * step["sequences"] * rows * columns
        moved += 2 * (rows * columns + step["sequences"] * (rows + columns))
    return flops * tp, moved * tp


def main() -> int:
    parser = arguments(__doc__.split("\n")[0])
    parser.add_argument("--xtask", type=existing, required=True, metavar="BIN")
    parser.add_argument("--traces", type=int, default=200, metavar="N", help="how many are planted")
    parser.add_argument("--seed", type=int, default=1, help="of the first")
    args = parser.parse_args()
    failed = checked = refused = 0
    with ProcessPoolExecutor() as pool:
        seeds = range(args.seed, args.seed + args.traces)
        one = partial(check_seed, args.rooflens, args.xtask)
        for seed, (wrong, values, others) in zip(seeds, pool.map(one, seeds, chunksize=4)):
            failed += bool(wrong)
            checked += values
            refused += others
            for line in wrong[:6]:
                print(f"WRONG seed {seed}: {line}")
    print(f"fit: {args.traces} planted traces, {checked} values, {refused} mismatches; {failed} traces wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
