"""A pass from end to end, in a process of its own: events, tables, trace, failures."""

import gzip
import json
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from dataclasses import fields
from pathlib import Path
from typing import Any, List

from rooflens.runtimes.pytorch import weights
from rooflens.workload import records
from rooflens.workload.clock import anchor
from rooflens.workload.errors import WorkloadError
from rooflens.workload.events import FIELDS
from rooflens.workload.spec import Spec
from tests.support import PACKAGE, SKELETON, config, environment, needs_torch, passed, run_workload, temporary_folder

FEW = {"dataset.sampling.samples_per_epoch": 3, "runtime.batch_size": 2}
NEW_TOKENS = 8
BATCHES = 2


@needs_torch
class Measure(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.outcome = run_workload("measure", {**FEW, "repeats": 2})

    def test_events_have_their_fields_and_their_order(self) -> None:
        self.assertEqual(self.outcome.code, 0, self.outcome.stderr)
        self.assertEqual(self.outcome.piped, self.outcome.events, "pipe and file tell the same")
        names = [event["event"] for event in self.outcome.events]
        self.assertEqual((names[0], names[-1]), ("hello", "done"))
        self.assertEqual((names.count("round_begin"), names.count("batch_end")), (3, 3 * BATCHES))
        for event in self.outcome.events:
            self.assertEqual(set(event) - {"event", "t_ns"}, set(FIELDS[event["event"]]))

    def test_a_step_for_every_token(self) -> None:
        steps = self.outcome.steps()
        self.assertEqual(len(steps), 3 * BATCHES * NEW_TOKENS)
        for batch in range(BATCHES):
            rows = [s for s in steps if s["round"] == "1" and s["batch_index"] == str(batch)]
            self.assertEqual([s["phase"] for s in rows], ["prefill"] + ["decode"] * (NEW_TOKENS - 1))
            ends = [int(s["start_ns"]) + int(s["dur_ns"]) for s in rows]
            self.assertEqual(ends[:-1], [int(s["start_ns"]) for s in rows[1:]], "no time is lost between steps")
            size, prompt = int(rows[0]["batch"]), int(rows[0]["prefill_tokens"])
            self.assertEqual([int(s["kv_tokens"]) for s in rows], [prompt + size * i for i in range(NEW_TOKENS)])

    def test_requests_agree_with_steps(self) -> None:
        for request in self.outcome.jsonl("requests.jsonl"):
            rows = [
                s for s in self.outcome.steps()
                if (s["round"], s["batch_index"]) == (str(request["round"]), str(request["batch_index"]))
            ]
            self.assertEqual(request["token_ns"], [int(s["start_ns"]) + int(s["dur_ns"]) for s in rows])
            self.assertEqual(request["output_tokens"], NEW_TOKENS)
            self.assertEqual(request["finish"], "length")

    def test_tokens_are_kept_once_and_repeat(self) -> None:
        tokens = self.outcome.jsonl("tokens.jsonl")
        self.assertEqual([t["sample"] for t in tokens], ["1-question.txt", "2-instruction.txt", "3-code.txt"])
        again = run_workload("predict", FEW)
        self.assertEqual([t["output_ids"] for t in again.jsonl("tokens.jsonl")], [t["output_ids"] for t in tokens])
        answers = again.jsonl("predictions.jsonl")
        self.assertEqual([a["answer"] for a in answers], [t["text"] for t in tokens])
        # With its round and sample, an answer finds its times in requests.jsonl.
        requests = [(r["round"], r["sample"], r["output_tokens"]) for r in again.jsonl("requests.jsonl")]
        self.assertEqual([(a["round"], a["sample"], a["tokens"]) for a in answers], requests)

    def test_clock_anchor(self) -> None:
        clock = self.outcome.of("hello")[0]["clock"]
        ours = anchor()
        apart = (clock["unix_ns"] - clock["monotonic_ns"]) - (ours["unix_ns"] - ours["monotonic_ns"])
        self.assertLess(abs(apart), 1_000_000)
        self.assertLess(clock["uncertainty_ns"], 1_000_000)


@needs_torch
class Profiled(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.outcome = passed("torch_profiler", FEW)
        with gzip.open(cls.outcome.output / "trace.json.gz") as file:
            cls.trace = json.load(file)

    def annotations(self) -> List[Any]:
        return [e for e in self.trace["traceEvents"] if e.get("cat") == "user_annotation"]

    def test_decode_steps_are_tokens_minus_one(self) -> None:
        self.assertEqual(self.outcome.code, 0, self.outcome.stderr)
        names = [e["name"] for e in self.annotations()]
        self.assertEqual(names.count("rooflens.prefill"), BATCHES)
        decode = [name for name in names if name.startswith("rooflens.decode[")]
        expected = [f"rooflens.decode[{i}]" for i in range(1, NEW_TOKENS)] * BATCHES
        self.assertEqual(sorted(decode), sorted(expected))
        rows = [s for s in self.outcome.steps() if s["kind"] == "profiled" and s["phase"] == "decode"]
        self.assertEqual(len(rows), len(decode))

    def test_modules_and_the_model_are_named(self) -> None:
        self.assertEqual(self.trace["model_config"]["hidden_size"], 256)
        self.assertIn("monotonic_ns", self.trace["rooflens"]["clock"])
        names = {e["name"] for e in self.annotations()}
        for path in ("model.embed_tokens", "model.layers.3.self_attn.q_proj", "model.norm", "lm_head"):
            self.assertIn(f"module:{path}", names)

    def test_trace_and_steps_share_a_clock(self) -> None:
        clock = self.outcome.of("hello")[0]["clock"]
        shift = clock["unix_ns"] - clock["monotonic_ns"]
        base = int(self.trace.get("baseTimeNanoseconds", 0))
        prefills = [e for e in self.annotations() if e["name"] == "rooflens.prefill"]
        traced = sorted((base + round(e["ts"] * 1000), base + round((e["ts"] + e["dur"]) * 1000)) for e in prefills)
        steps = [s for s in self.outcome.steps() if s["kind"] == "profiled" and s["phase"] == "prefill"]
        self.assertEqual(len(traced), len(steps))
        # Both hold the same forward pass, however long the machine takes between the two beginnings.
        for (begin, end), step in zip(traced, steps):
            start = int(step["start_ns"]) + shift
            self.assertLess(max(begin, start), min(end, start + int(step["dur_ns"])))

    def test_flops_are_those_of_the_matrices(self) -> None:
        rows = self.outcome.json("torch_flops.json")["rows"]
        counted = sum(r["flops"] for r in rows if r["phase"] == "decode" and r["name"] in ("aten::mm", "aten::addmm"))
        # tiny-random: 4 layers of q, k, v, o and three of the feed-forward, then the vocabulary.
        weights = 4 * (256 * 256 * 2 + 2 * 256 * 128 + 3 * 256 * 768) + 262 * 256
        self.assertEqual(counted, 2 * weights * 3 * (NEW_TOKENS - 1))

        rows = self.outcome.json("torch_flops.json")["uncounted"]
        self.assertEqual({r["name"] for r in rows}, {"aten::scaled_dot_product_attention"})
        # Once in each of four layers and in each step.
        self.assertEqual(sum(r["calls"] for r in rows), 4 * BATCHES * NEW_TOKENS)

    def test_steps_tell_their_prompts(self) -> None:
        self.assertEqual(self.outcome.json("workload.json")["logits"], "last")
        for step in self.outcome.steps():
            prompts = [word.split("@") for word in step["prompts"].split()]
            self.assertEqual(sum(int(new) for new, _ in prompts), int(step["prefill_tokens"]))
            self.assertEqual(step["pictures"], "none")

    def test_what_a_cpu_has_not_is_said(self) -> None:
        detailed = run_workload("torch_profiler", {**FEW, "pipeline.torch_profiler.allocator_snapshot": True})
        self.assertEqual(detailed.of("note")[0]["code"], "no_allocator_snapshot")
        self.assertIsNone(detailed.json("memory_stats.json")["memory_stats"])
        self.assertTrue(detailed.json("memory_stats.json")["device_reason"])


class Weights(unittest.TestCase):
    """Which weights a model gets where `model.weights` is `auto`."""

    def source(self, files: List[str], chosen: str) -> str:
        folder = temporary_folder()
        for name in files:
            (folder / name).touch()
        record = {"config": config({"model.weights": chosen}), "project": "/", "pass": "measure", "output": "/"}
        return weights.source(Spec.of(record), folder)

    def test_newcomer_07_a_checkpoint_is_used(self) -> None:
        # Weights that are there win over the mark of a folder that had none.
        for weights_file in ("model-00001-of-00002.safetensors", "pytorch_model.bin", "model.safetensors"):
            self.assertEqual(self.source([weights_file, "weights.random"], "auto"), "checkpoint")

    def test_newcomer_07_random_weights_are_asked_for(self) -> None:
        self.assertEqual(self.source(["config.json", "weights.random"], "auto"), "random")
        self.assertEqual(self.source(["model.safetensors"], "random"), "random")
        with self.assertRaises(WorkloadError):
            self.source(["config.json"], "auto")


class Failures(unittest.TestCase):
    def error(self, changes: Any) -> Any:
        outcome = run_workload("measure", changes)
        self.assertEqual(outcome.code, 1, outcome.stderr)
        self.assertEqual(outcome.events[-1]["event"], "error")
        return outcome.events[-1]

    def test_what_is_missing_or_unknown_has_a_hint(self) -> None:
        for changes, message, hint in (
            ({"model.path": "models/nothing"}, "no config.json", "rooflens assets"),
            ({"runtime.name": "torch"}, "which is not a runtime", "pytorch, vllm, tensorrt_llm, command"),
            ({"dataset.kind": "audio"}, "which is unknown", "text, image"),
            ({"dataset.patterns": ["*.none"]}, "no sample", "dataset.patterns"),
        ):
            error = self.error(changes)
            self.assertIn(message, error["message"])
            self.assertIn(hint, error["hint"])

    @needs_torch
    def test_newcomer_07_random_weights_are_no_fallback(self) -> None:
        folder = temporary_folder()
        (folder / "config.json").write_text((SKELETON / "models/tiny-random/config.json").read_text())
        for changes in ({"model.path": str(folder)}, {"model.weights": "checkpoint"}):
            error = self.error(changes)
            self.assertIn("model.weights=random", error["hint"])
            self.assertEqual(error["stage"], "loading the model")
            self.assertTrue(error["traceback"])

    @needs_torch
    def test_no_gpu(self) -> None:
        import torch

        if torch.cuda.is_available():
            self.skipTest("there is a GPU")
        error = self.error({"runtime.device": "cuda"})
        self.assertEqual(error["class"], "DeviceError")
        self.assertIn("torch sees: cpu;", error["hint"])

    def test_a_bad_specification(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "spec.json"
            for text in ("{", "[]", '{"pass": "measure"}'):
                path.write_text(text)
                argv = [sys.executable, "-m", "rooflens.workload", str(path)]
                result = subprocess.run(argv, env=environment(), capture_output=True, text=True)
                self.assertEqual(result.returncode, 2)
                self.assertRegex(result.stderr, "error: .*\nhint: ")

    @needs_torch
    def test_stopped_it_keeps_what_it_has(self) -> None:
        output = temporary_folder()
        spec = {"config": config({"repeats": 100000}), "project": str(SKELETON), "pass": "measure"}
        spec["output"] = str(output)
        (output / "spec.json").write_text(json.dumps(spec))
        argv = [sys.executable, "-m", "rooflens.workload", str(output / "spec.json")]
        process = subprocess.Popen(argv, env=environment(), stderr=subprocess.DEVNULL)
        events = output / "events.jsonl"
        while not (events.exists() and "round_end" in events.read_text()):
            self.assertIsNone(process.poll(), "it ended by itself")
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(600), 130)
        self.assertEqual(json.loads(events.read_text().splitlines()[-1])["event"], "stopped")
        self.assertGreater(len((output / "steps.csv").read_text().splitlines()), NEW_TOKENS)


class Command(unittest.TestCase):
    SCRIPT = (
        "import os\nfrom rooflens import probe\n"
        "with probe.phase('decode'):\n"
        "    for _ in range(int(os.environ['ROOFLENS_BATCH_SIZE'])):\n"
        "        with probe.step(): pass\n"
    )

    def changes(self, script: str) -> Any:
        runtime = {"name": "command", "argv": [sys.executable, "-c", script], "cwd": ".", "batch_size": 3, "env": {}}
        return {"runtime": runtime}

    def test_a_program_with_the_probe(self) -> None:
        outcome = run_workload("measure", self.changes(self.SCRIPT))
        self.assertEqual(outcome.code, 0, outcome.stderr)
        phases = outcome.jsonl("phases.jsonl")
        self.assertEqual([(p["phase"], p["step"]) for p in phases], [("decode", i) for i in (1, 2, 3, None)])
        self.assertEqual(outcome.of("process")[0]["exit_code"], 0)
        outcome = run_workload("measure", self.changes("raise SystemExit(3)"))
        self.assertEqual(outcome.code, 1)
        self.assertIn("exit code 3", outcome.events[-1]["message"])

    @needs_torch
    def test_a_trace_of_a_program_with_torch(self) -> None:
        script = f"import torch\n{self.SCRIPT}torch.ones(2).add(1)\n"
        outcome = run_workload("torch_profiler", self.changes(script))
        self.assertEqual(outcome.code, 0, outcome.stderr)
        with gzip.open(outcome.output / "trace.json.gz") as file:
            names = [event.get("name") for event in json.load(file)["traceEvents"]]
        self.assertIn("rooflens.decode[3]", names)
        self.assertIn("aten::add", names)


class Readme(unittest.TestCase):
    def test_every_event_and_field_is_explained(self) -> None:
        text = (PACKAGE / "README.md").read_text()
        told = {
            match[1]: set(re.findall(r"`([a-z0-9_]+)`", match[2]))
            for match in re.finditer(r"^\| `([a-z_]+)` \| [^|]+ \| ([^|]*) \|$", text, re.MULTILINE)
        }
        for event, wanted in FIELDS.items():
            self.assertEqual(told.get(event), set(wanted), event)

    def test_every_column_is_explained(self) -> None:
        text = (PACKAGE / "README.md").read_text()
        for table in (records.Step, records.Request, records.Tokens):
            for column in fields(table):
                self.assertIn(f"`{column.name}`", text, f"{table.__name__}.{column.name}")
