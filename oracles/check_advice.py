"""Advice, tested by doing it: on real PyTorch, on this machine's processor.

Two tiny Llamas are run: a wide one, whose time is in its products, and the skeleton's own, whose time is in calling
operators. Needs torch and transformers.

* Planted: a sleep in the sampler, a copy in it, fp32 in place of bf16. Each must come out as the first advice, and
  in the first sentence of a comparison with a run without it.
* Done: what the advice says (bf16, more threads, a larger batch, torch.compile) is done, and the time of a
  sequence in a step, measured without a profiler, must have shrunk by a share within the range that was predicted.

The machine may be busy: each check may hold at any of three attempts.
"""

import csv
import json
import os
import statistics
import sys
from pathlib import Path

from oracle import ONLY, main, must, said

ATTEMPTS = 3
# What two medians of a few dozen steps differ by on a shared machine, of runs that are the same.
NOISE = 0.02
SHORT = ["infer.max_new_tokens=12", "repeats=3", "dataset/sampling=few", "sampler.enable=false"]
WIDE = {"hidden_size": 1536, "intermediate_size": 6144, "num_attention_heads": 24, "num_key_value_heads": 4}
# What Python runs before the workload, where a variable tells it to: the sampler calls torch.argmax.
PLANT = '''
import os
plant = os.environ.get("ADVICE_PLANT")
if plant:
    import time
    import torch
    argmax, block = torch.argmax, torch.ones(16 << 20)
    def planted(*args, **named):
        if plant == "sleep":
            time.sleep(0.05)
        else:
            block.clone()
        return argmax(*args, **named)
    torch.argmax = planted
'''


class Project:
    """A project with both models, and the runs that were made in it."""

    def __init__(self, binary: Path, folder: Path):
        self.binary, self.folder, self.made = binary, folder / "p", {}
        must(binary, "init", self.folder)
        own = json.loads((self.folder / "models/tiny-random/config.json").read_text())
        wide = self.folder / "models/wide"
        wide.mkdir()
        for file in (self.folder / "models/tiny-random").glob("token*"):
            (wide / file.name).write_bytes(file.read_bytes())
        (wide / "config.json").write_text(json.dumps({**own, **WIDE}))
        (folder / "plant").mkdir()
        (folder / "plant/sitecustomize.py").write_text(PLANT)
        self.plant = folder / "plant"
        self.call("hardware", "measure", "--python", sys.executable, "--seconds", "4")

    def call(self, *argv, threads=1, plant=None) -> str:
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "HF_HUB_OFFLINE": "1"}
        if plant:
            environment |= {"PYTHONPATH": str(self.plant), "ADVICE_PLANT": plant}
        return said(self.binary, *argv, cwd=self.folder, env=environment)

    def run(self, *overrides, threads=1, plant=None) -> Path:
        """A run; the same one where it was made before, until a check is attempted anew."""
        asked = (overrides, threads, plant)
        if asked not in self.made:
            before = set(self.folder.glob("runs/*/*/*"))
            self.call("run", f"runtime.python={sys.executable}", *SHORT, *overrides, threads=threads, plant=plant)
            (self.made[asked],) = set(self.folder.glob("runs/*/*/*")) - before
        return self.made[asked]

    def advice(self, run: Path) -> list[dict]:
        """All advice, with the share of the phase's time that each acts on."""
        answer = json.loads(self.call("advise", run, "--format", "json"))
        walls = {phase["phase"]: phase["wall_ns"] for phase in answer["ledger"]["phases"]}
        slower = {phase["phase"]: phase["ratio"] for phase in answer["advice"]["unprofiled"]}
        items = answer["advice"]["items"]
        for item in items:
            phase = item["phase"]
            item["acts_on_share"] = item["acts_on_ns"] * slower.get(phase, 1.0) / walls[phase]
        return items


def step_ns(run: Path, phase: str) -> float:
    """The time of a sequence in a step, without a profiler: the median over steps."""
    with open(run / "raw/measure/steps.csv") as file:
        steps = [row for row in csv.DictReader(file) if row["kind"] == "measured" and row["phase"] == phase]
    return statistics.median(int(row["dur_ns"]) / int(row["batch"]) for row in steps)


def wide(*more):
    return ["model.path=models/wide", "model.name=wide", *more]


def planted(project: Project, rule: str, words: str, overrides=(), without=(), **options):
    run = project.run(*overrides, **options)
    compared = project.call("compare", project.run(*without), run, "--format", "md")
    lead = next(line for line in compared.splitlines() if line and not line.startswith("#"))
    if words not in lead.replace("\\", ""):
        yield f"the comparison does not name {words}: {lead}"
    # What is said of the recording comes before what is said of the run.
    first = next(item for item in project.advice(run) if item["kind"] != "recording")
    if first["rule"] != rule:
        yield f"the first advice is {first['rule']}, {first['gain_share']}, not {rule}"
    elif words not in json.dumps([first["title"], first["evidence"]]):
        yield f"it does not name {words}: {first['title']}, {first['evidence']}"


def followed(project: Project, rule: str, phase: str, before: list, after: list, threads=1):
    run = project.run(*before)
    found = [item for item in project.advice(run) if (item["rule"], item["phase"]) == (rule, phase)]
    if not found:
        yield f"no advice by {rule} for {phase}"
        return
    # Where the gain is not known, it is no more than the time that the change acts on.
    share = found[0]["gain_share"] or {"low": 0.0, "high": found[0]["acts_on_share"]}
    low, high = share["low"], share["high"]
    done = project.run(*after, threads=threads)
    gain = 1 - step_ns(done, phase) / step_ns(run, phase)
    print(f"      {rule}: predicted {low:.1%} to {high:.1%}, measured {gain:.1%}")
    if not low - NOISE <= gain <= high + NOISE:
        yield f"{rule}: {gain:.1%} is not within {low:.1%} to {high:.1%}"


FP32 = wide("model.dtype=fp32")
CHECKS = {
    "planted: a sleep in the sampler": lambda p: planted(p, "host_code", "aten::argmax", plant="sleep"),
    "planted: a copy in the sampler": lambda p: planted(p, "copy_operators", "aten::copy_", plant="copy"),
    "planted: fp32": lambda p: planted(p, "dtype", "bf16", FP32, wide("model.dtype=bf16")),
    "done: bf16": lambda p: followed(p, "dtype", "prefill", FP32, wide("model.dtype=bf16")),
    "done: threads": lambda p: followed(p, "threads", "prefill", FP32, FP32, threads=os.cpu_count()),
    "done: a larger batch": lambda p: followed(p, "larger_batch", "decode", FP32, [*FP32, "runtime.batch_size=2"]),
    "done: torch.compile": lambda p: followed(p, "fusion", "decode", [], ["runtime.compile=true"]),
}


def attempt(check, project: Project) -> list[str]:
    for number in range(ATTEMPTS):
        wrong = list(check(project))
        if not wrong:
            break
        print(f"      attempt {number + 1}: {'; '.join(wrong)}")
        project.made.clear()
    return wrong


def check_all(judge, args, folder: Path) -> None:
    project = Project(args.rooflens, folder)
    for name, check in CHECKS.items():
        if args.only in name:
            judge.check(name, attempt(check, project))


if __name__ == "__main__":
    main(check_all, ONLY)
