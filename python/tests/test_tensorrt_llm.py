"""TensorRT-LLM without it: a module that answers as its LLM API documents. No GPU was at hand to run the real one."""

import asyncio
import datetime
import json
import os
import sys
import types
import unittest
from pathlib import Path
from typing import Any, AsyncIterator, Dict, List
from unittest import mock

from rooflens.runtimes import tensorrt_llm
from rooflens.workload.errors import DeviceError, WorkloadError
from rooflens.workload.events import Events
from rooflens.workload.spec import Spec
from tests.support import SKELETON, config, needs_torch, read_jsonl, run_workload, temporary_folder

RUNTIME: Dict[str, Any] = {
    "name": "tensorrt_llm", "python": "python", "device": "cuda", "batch_size": 4, "max_seq_len": 64,
    "tensor_parallel_size": 1, "free_gpu_memory_fraction": 0.5, "kv_cache_dtype": "fp8",
    "enable_block_reuse": False, "cuda_graph": False, "env": {}, "timeout_s": 3600,
}
WAITED = datetime.timedelta(milliseconds=3, microseconds=21)


class Options:
    """SamplingParams, KvCacheConfig and CudaGraphConfig: what they were made with."""

    def __init__(self, **given: Any):
        self.given = given


class LLM:
    """Answers the tokens 1, 2, 3 … of each prompt, two of them in the second piece of the stream."""

    made: List["LLM"] = []

    def __init__(self, **given: Any):
        self.given, self.asked = given, []
        LLM.made.append(self)

    async def generate_async(self, inputs: Any, sampling_params: Any, streaming: bool) -> AsyncIterator[Any]:
        assert streaming
        self.asked.append((inputs, sampling_params.given))
        count = sampling_params.given["max_tokens"]
        arrival = datetime.timedelta(seconds=100)
        times = types.SimpleNamespace(arrival_time=arrival, first_scheduled_time=arrival + WAITED)
        for length in [1, *range(3, count + 1)]:
            await asyncio.sleep(0.001)
            answer = types.SimpleNamespace(
                token_ids=list(range(1, length + 1)), text="x" * length,
                finish_reason="length" if length == count else None,
                request_perf_metrics=types.SimpleNamespace(timing_metrics=times) if length == count else None,
            )
            yield types.SimpleNamespace(prompt_token_ids=inputs["prompt_token_ids"], outputs=[answer])


def fake_modules() -> Dict[str, Any]:
    llmapi = types.SimpleNamespace(KvCacheConfig=Options, CudaGraphConfig=Options)
    return {
        "tensorrt_llm": types.SimpleNamespace(LLM=LLM, SamplingParams=Options, llmapi=llmapi),
        "tensorrt_llm.llmapi": llmapi,
    }


def run(pass_name: str, changes: Dict[str, Any]) -> Path:
    """Runs a pass in this process, on a device that pretends to be a GPU."""
    import torch

    output = temporary_folder()
    made = config({"runtime": RUNTIME, "model.dtype": "fp32", **changes})
    spec = Spec.of({"config": made, "project": str(SKELETON), "pass": pass_name, "output": str(output)})
    cpu = torch.device("cpu")
    with mock.patch.object(tensorrt_llm, "pick_gpu", lambda _: cpu), mock.patch.dict(os.environ):
        with Events.open(output) as events:
            tensorrt_llm.run(spec, events)
        assert os.environ["TLLM_WORKER_USE_SINGLE_PROCESS"] == "1"
    return output


@needs_torch
class TensorRtLlm(unittest.TestCase):
    # Not by mock.patch.dict, which would also forget what torch imports meanwhile.
    @classmethod
    def setUpClass(cls) -> None:
        sys.modules.update(fake_modules())

    @classmethod
    def tearDownClass(cls) -> None:
        for name in fake_modules():
            del sys.modules[name]

    def test_parity_023_leaves_what_every_runtime_leaves(self) -> None:
        output = run("measure", {})
        requests = [row for row in read_jsonl(output / "requests.jsonl") if row["kind"] == "measured"]
        self.assertEqual(len(requests), 6)
        for row in requests:
            self.assertEqual((row["output_tokens"], len(row["token_ns"]), row["finish"]), (8, 8, "length"))
            self.assertEqual(row["queued_ns"], 3_021_000)
            self.assertLess(row["start_ns"], row["token_ns"][0])
            # Two tokens that came in one piece were there at the same time; all others were not.
            gaps = [b - a for a, b in zip(row["token_ns"], row["token_ns"][1:])]
            self.assertEqual([gap == 0 for gap in gaps], [False, True, *[False] * 5])
        tokens = read_jsonl(output / "tokens.jsonl")
        self.assertEqual({tuple(row["output_ids"]) for row in tokens}, {tuple(range(1, 9))})
        ours = {row["sample"]: row["prompt_ids"] for row in tokens}
        self.assertEqual(len(ours), 6)
        self.assertEqual((output / "steps.csv").read_text().count("\n"), 1, "a header alone, as no step is seen")
        events = read_jsonl(output / "events.jsonl")
        self.assertIn("no_scheduler_facts", [event.get("code") for event in events])
        model = next(event for event in events if event["event"] == "model")
        self.assertEqual((model["dtype"], model["weights"], model["compile"]), ("float32", "random", False))
        self.assertEqual(json.loads((output / "workload.json").read_text())["runtime"], "tensorrt_llm")

    def test_the_engine_is_made_as_the_config_says(self) -> None:
        run("measure", {"infer.do_sample": True, "infer.temperature": 0.7, "infer.top_p": 0.9})
        llm = LLM.made[-1]
        given = {key: value for key, value in llm.given.items() if key not in ("model", "tokenizer")}
        cache = given.pop("kv_cache_config").given
        self.assertEqual(
            given,
            {"dtype": "float32", "tensor_parallel_size": 1, "trust_remote_code": False, "max_batch_size": 4,
             "max_seq_len": 64, "cuda_graph_config": None},
        )
        self.assertEqual(cache, {"enable_block_reuse": False, "free_gpu_memory_fraction": 0.5, "dtype": "fp8"})
        sampled = llm.asked[1][1]
        self.assertEqual((sampled["temperature"], sampled["top_p"], sampled["seed"]), (0.7, 0.9, 1))
        self.assertTrue(sampled["return_perf_metrics"])

    def test_a_trace_of_the_profiled_round(self) -> None:
        output = run("torch_profiler", {})
        self.assertGreater((output / "trace.json.gz").stat().st_size, 0)
        kinds = [event["kind"] for event in read_jsonl(output / "events.jsonl") if event["event"] == "file"]
        self.assertIn("kineto", kinds)

    def test_parity_023_without_the_package_or_a_gpu_it_says_so(self) -> None:
        outcome = run_workload("measure", {"runtime": RUNTIME})
        self.assertEqual((outcome.code, outcome.events[-1]["class"]), (1, "ModuleNotFoundError"))

        def spec(**changes: Any) -> Spec:
            made = config({"runtime": {**RUNTIME, **changes}})
            record = {"config": made, "project": str(SKELETON), "pass": "torch_profiler", "output": "/tmp"}
            return Spec.of(record)

        with self.assertRaisesRegex(DeviceError, "needs an NVIDIA GPU"):
            tensorrt_llm.pick_gpu(spec(device="cpu"))
        with self.assertRaisesRegex(WorkloadError, "other processes"):
            tensorrt_llm.prepare_environment(spec(tensor_parallel_size=2))
