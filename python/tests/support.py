"""A project, a config and a workload for the tests, as `rooflens init` and `rooflens run` make them."""

import atexit
import copy
import csv
import gzip
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path
from typing import Any, Dict, List, Optional

PACKAGE = Path(__file__).resolve().parents[1]
SKELETON = PACKAGE.parent / "crates/rooflens-collect/skeleton"
HAS_TORCH = all(importlib.util.find_spec(name) for name in ("torch", "transformers"))
HAS_PICTURES = HAS_TORCH and all(importlib.util.find_spec(name) for name in ("PIL", "torchvision"))
HAS_VLLM = importlib.util.find_spec("vllm") is not None

# Where all must be there, what is missing is a failure and no reason to leave a test out.
ALL = "ROOFLENS_ALL_TESTS" in os.environ
needs_torch = unittest.skipUnless(HAS_TORCH or ALL, "torch and transformers are not installed")
needs_pictures = unittest.skipUnless(HAS_PICTURES or ALL, "torch, transformers, torchvision and PIL are not all installed")
needs_vllm = unittest.skipUnless(HAS_VLLM or ALL, "vllm is not installed")

# What the skeleton's config composes to, as far as a workload reads it.
CONFIG: Dict[str, Any] = {
    "model": {
        "name": "tiny-random", "path": "models/tiny-random", "weights": "auto", "dtype": "auto",
        "trust_remote_code": False,
    },
    "infer": {"max_new_tokens": 8, "ignore_eos": True, "do_sample": False},
    "dataset": {
        "name": "starter", "root": "datasets/starter/source-data", "kind": "text", "filelist": None,
        "patterns": ["*.txt"],
        "sampling": {"epochs": 1, "samples_per_epoch": None, "shuffle": False, "seed": 0},
    },
    "hardware": {"name": "auto", "device": "cpu", "count": 1},
    "runtime": {
        "name": "pytorch", "python": "python", "device": "cpu", "batch_size": 1, "attention": "auto",
        "compile": False, "env": {}, "timeout_s": 3600,
    },
    "pipeline": {
        "torch_profiler": {
            "enable": True, "activities": ["cpu", "cuda"], "record_shapes": True, "profile_memory": False,
            "with_stack": False, "with_modules": True, "with_flops": True, "allocator_snapshot": False,
            "max_new_tokens": 8, "output": {"predictions": False, "pages": False},
        },
        "nsys": {"enable": False, "capture": "decode"},
        "ncu": {"enable": False, "phase": "decode"},
        "direct_inference": {"enable": False, "max_new_tokens": 8, "output": {"predictions": True, "pages": True}},
    },
    "seed": 0,
    "warmup_rounds": 1,
    "repeats": 1,
}

VLLM_RUNTIME: Dict[str, Any] = {
    "name": "vllm", "python": "python", "device": "cpu", "batch_size": 4, "max_model_len": None,
    "tensor_parallel_size": 1, "gpu_memory_utilization": 0.9, "kv_cache_dtype": "auto",
    "enable_prefix_caching": False, "enforce_eager": True, "env": {}, "timeout_s": 3600,
}


def config(changes: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
    made = copy.deepcopy(CONFIG)
    for key, value in (changes or {}).items():
        *parents, last = key.split(".")
        place = made
        for parent in parents:
            place = place.setdefault(parent, {})
        place[last] = value
    return made


class Outcome:
    """What a workload left: exit code, what it printed, and its files."""

    def __init__(self, output: Path, code: int, stderr: str, piped: List[Dict[str, Any]]):
        self.output, self.code, self.stderr, self.piped = output, code, stderr, piped
        self.events = read_jsonl(output / "events.jsonl") if (output / "events.jsonl").exists() else []

    def of(self, event: str) -> List[Dict[str, Any]]:
        return [record for record in self.events if record["event"] == event]

    def jsonl(self, name: str) -> List[Dict[str, Any]]:
        return read_jsonl(self.output / name)

    def json(self, name: str) -> Any:
        return json.loads((self.output / name).read_text())

    def steps(self) -> List[Dict[str, str]]:
        with open(self.output / "steps.csv", newline="") as file:
            return list(csv.DictReader(file))


def read_jsonl(path: Path) -> List[Dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def environment(**more: str) -> Dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(PACKAGE), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", **more}


def temporary_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="rooflens-test-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def passed(pass_name: str, *arguments: Any, **more: Any) -> Outcome:
    outcome = run_workload(pass_name, *arguments, **more)
    assert outcome.code == 0, outcome.stderr + str(outcome.events[-1:])
    return outcome


def annotations(outcome: Outcome) -> List[str]:
    with gzip.open(outcome.output / "trace.json.gz") as file:
        return [e["name"] for e in json.load(file)["traceEvents"] if e.get("cat") == "user_annotation"]


def run_workload(
    pass_name: str, changes: Optional[Dict[str, Any]] = None, project: Path = SKELETON, **more: Any
) -> Outcome:
    """Runs a pass in a process of its own, as `rooflens run` does, with a pipe for its events."""
    output = temporary_folder()
    spec = {"config": config(changes), "project": str(project), "pass": pass_name, "output": str(output), **more}
    (output / "spec.json").write_text(json.dumps(spec))
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-m", "rooflens.workload", str(output / "spec.json")],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, pass_fds=[writer],
        env=environment(ROOFLENS_EVENTS_FD=str(writer)),
    )
    os.close(writer)
    lines: List[str] = []
    with os.fdopen(reader, encoding="utf-8") as pipe:
        # In a thread: a workload must not wait for a reader that waits for its end.
        thread = threading.Thread(target=lambda: lines.extend(pipe))
        thread.start()
        _, stderr = process.communicate()
        thread.join()
    return Outcome(output, process.returncode, stderr, [json.loads(line) for line in lines])
