"""`rooflens run --model`, in a folder without a project: a checkpoint by its path, and by its name on the hub, offline.

    WORKLOAD/bin/python oracles/check_one_model.py --rooflens target/release/rooflens

Needs torch and transformers. A tiny Llama is saved with its tokenizer and chat template. Tokens must be those of
`model.generate` on the prompts as the chat template renders them; the peaks of the processor are measured once; random
weights are used only when they are asked for, and the first line says so.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from judged import Judge
from rooflens_cli import REPOSITORY, arguments, hub_snapshot

SKELETON = REPOSITORY / "crates/rooflens-collect/skeleton"
NEW_TOKENS = 5
SHORT = ["repeats=1", "warmup_rounds=0", f"infer.max_new_tokens={NEW_TOKENS}"]
HUB_NAME = "somebody/tiny-llama"


def checkpoint(folder: Path) -> None:
    """A Llama with weights of its own, as `save_pretrained` leaves it."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig

    torch.manual_seed(7)
    source = SKELETON / "models/tiny-random"
    settings = json.loads((source / "config.json").read_text())
    AutoModelForCausalLM.from_config(LlamaConfig(**settings), dtype=torch.float32).save_pretrained(folder)
    AutoTokenizer.from_pretrained(source).save_pretrained(folder)


class Here:
    """A folder without a project, an empty cache of Rooflens, and a cache of the hub."""

    def __init__(self, binary: Path, scratch: Path):
        self.binary, self.folder = binary, scratch / "work"
        self.folder.mkdir()
        own = {"XDG_CACHE_HOME": str(scratch / "cache"), "HF_HUB_CACHE": str(scratch / "hub"), "HF_HUB_OFFLINE": "1"}
        # The interpreter is found as a user's would be: the environment's is first on the path.
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        self.environment = {**os.environ, **own, "PATH": path}

    def run(self, *words: str, code: int = 0) -> "subprocess.CompletedProcess[str]":
        argv = [self.binary, "run", *words]
        done = subprocess.run(argv, cwd=self.folder, env=self.environment, capture_output=True, text=True)
        if done.returncode != code:
            raise SystemExit(f"rooflens run {' '.join(words)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def run_folder(self, done: "subprocess.CompletedProcess[str]") -> Path:
        line = next(line for line in done.stdout.splitlines() if line.startswith("run "))
        return self.folder / line.split(maxsplit=1)[1]


def wrong_tokens(run: Path, model_folder: Path, passes: list[str]):
    """Prompts and answers, against Transformers."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model_folder)
    model = AutoModelForCausalLM.from_pretrained(model_folder, dtype="auto")
    model.generation_config.eos_token_id = None  # the config says to go on after it
    compared = 0
    for stage in passes:
        for line in (run / f"raw/{stage}/tokens.jsonl").read_text().splitlines():
            row = json.loads(line)
            text = (SKELETON / "datasets/starter/source-data" / row["sample"]).read_text().removesuffix("\n")
            chat = [{"role": "user", "content": text}]
            prompt = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=True, return_tensors="pt")
            with torch.no_grad():
                made = model.generate(**prompt, max_new_tokens=NEW_TOKENS, do_sample=False)
            width = prompt["input_ids"].shape[1]
            if row["prompt_ids"] != prompt["input_ids"][0].tolist():
                yield f"{stage}, {row['sample']}: other prompt tokens than the chat template's"
            if row["output_ids"] != made[0, width:].tolist():
                yield f"{stage}, {row['sample']}: {row['output_ids']}, generate {made[0, width:].tolist()}"
            compared += 1
    if compared != 6 * len(passes):
        yield f"{compared} answers, not {6 * len(passes)}"


def by_path(here: Here, model: Path):
    done = here.run("--model", str(model), *SHORT)
    first = done.stdout.splitlines()[0]
    if not first.startswith("tiny-llama") or "checkpoint weights" not in first:
        yield f"the first line is {first!r}"
    for name in ("MFU", "MBU"):
        line = next((line for line in done.stdout.splitlines() if line.startswith(name)), "")
        if "%" not in line or "–" in line:
            yield f"{name} is {line!r}"
    if "measuring them" not in done.stderr:
        yield "that peaks are measured is not said"
    run = here.run_folder(done)
    if not (run / "report/index.html").is_file():
        yield "there is no report"
    yield from wrong_tokens(run, model, ["measure", "torch_profiler"])
    left = sorted(path.name for path in here.folder.iterdir())
    if left != ["runs"]:
        yield f"the folder has {left}"


def by_name(here: Here, model: Path):
    done = here.run("--model", HUB_NAME, "profiling=none", *SHORT)
    if not done.stdout.startswith("tiny-llama"):
        yield f"the first line is {done.stdout.splitlines()[0]!r}"
    if "measuring them" in done.stderr:
        yield "peaks are measured a second time"
    run = here.run_folder(done)
    if (run / "raw/torch_profiler").exists():
        yield "profiling=none profiled"
    yield from wrong_tokens(run, model, ["measure"])


def absent(here: Here, _: Path):
    done = here.run("--model", "somebody/unknown", code=5)
    if "hf download somebody/unknown" not in done.stderr:
        yield f"the hint is not the command that downloads it: {done.stderr}"


def without_weights(here: Here, model: Path):
    bare = here.folder / "bare"
    bare.mkdir()
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        shutil.copy(model / name, bare)
    done = here.run("--model", "bare", code=5)
    if "no weights in" not in done.stderr or "model.weights=random" not in done.stderr:
        yield f"that weights are missing is not said: {done.stderr}"
    done = here.run("--model", "bare", "model.weights=random", "profiling=none", *SHORT)
    if "random weights" not in done.stdout.splitlines()[0]:
        yield f"the first line is {done.stdout.splitlines()[0]!r}"


def main() -> int:
    binary = arguments(__doc__.split("\n")[0]).parse_args().rooflens
    judge = Judge("check_one_model")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        scratch = Path(folder)
        model = scratch / "models/tiny-llama"
        checkpoint(model)
        cached = hub_snapshot(scratch / "hub", HUB_NAME, (model / "config.json").read_text())
        shutil.copytree(model, cached, dirs_exist_ok=True)
        here = Here(binary, scratch)
        cases = {
            "a checkpoint by its path": by_path,
            "by its name on the hub, offline": by_name,
            "a name that the cache does not have": absent,
            "a config without weights": without_weights,
        }
        for name, case in cases.items():
            judge.check(name, case(here, model))
    return judge.finish()


if __name__ == "__main__":
    sys.exit(main())
