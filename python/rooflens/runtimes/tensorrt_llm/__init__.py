"""TensorRT-LLM by its LLM API, offline: every prompt is a stream of tokens, noted as they are handed out.

Written against the documentation of the LLM API and tested against a module that answers as documented. No
TensorRT-LLM was run.
"""

import asyncio
import contextlib
import os
import time
from dataclasses import dataclass
from typing import Any, ContextManager, Dict, Iterator, List, Optional

from rooflens import devices
from rooflens.runtimes import engines
from rooflens.runtimes.engines import Answered
from rooflens.runtimes.pytorch.model import folder_of_model, load_tokenizer, text_config_of
from rooflens.workload.dataset import Round, Sample
from rooflens.workload.errors import DeviceError, WorkloadError
from rooflens.workload.events import Events
from rooflens.workload.records import Step
from rooflens.workload.spec import Spec


def run(spec: Spec, events: Events) -> None:
    engines.run(spec, events, Workload)


class Workload(engines.EngineWorkload):
    def __init__(self, spec: Spec, events: Events):
        super().__init__(spec, events)
        if spec.text("dataset.kind") == "image":
            raise WorkloadError("TensorRT-LLM is run on text only", "dataset.kind=text, or runtime=vllm")
        self.loaded = load(spec, events)
        self.device = self.loaded.device
        events.note(
            "info", "no_scheduler_facts",
            "TensorRT-LLM does not show its steps with their times: no rows in steps.csv",
        )

    def prompt(self, sample: Sample) -> Any:
        return {"prompt_token_ids": engines.token_ids(self.spec, self.loaded.tokenizer, sample)}

    def sampling(self, seed: int) -> Any:
        from tensorrt_llm import SamplingParams

        # top_k=1 is TensorRT-LLM's word for greedy.
        options = engines.sampling_options(self.spec, seed, {"top_k": 1})
        return SamplingParams(return_perf_metrics=True, **options)

    def generate(self, round_: Round, prompts: List[Any], params: List[Any]) -> List[Answered]:
        async def answer(prompt: Any, wanted: Any) -> Answered:
            start_ns = time.monotonic_ns()
            times: List[int] = []
            output: Any = None
            async for output in self.loaded.llm.generate_async(prompt, wanted, streaming=True):
                now_ns = time.monotonic_ns()
                times += [now_ns] * (len(output.outputs[0].token_ids) - len(times))
            return Answered(output, start_ns, queued_ns(output), times, time.monotonic_ns())

        async def all_answers() -> List[Answered]:
            return list(await asyncio.gather(*(answer(*pair) for pair in zip(prompts, params))))

        return asyncio.run(all_answers())

    def steps(self, round_: Round) -> List[Step]:
        return []

    def watched(self, round_: Round) -> ContextManager[Any]:
        if round_.kind != "profiled":
            return contextlib.nullcontext()
        if self.spec.pass_name == "torch_profiler":
            return self._traced()
        return gate()

    @contextlib.contextmanager
    def _traced(self) -> Iterator[None]:
        """torch.profiler around the round. The engine's own threads are in it where torch can do that."""
        import torch
        from torch.profiler import ProfilerActivity, profile

        options: Dict[str, Any] = dict(self.spec.profiler_options)
        make = getattr(torch._C._profiler, "_ExperimentalConfig", None)
        if make is not None:
            with contextlib.suppress(TypeError):  # torch before 2.8 traces the thread that asks, and the device
                options["experimental_config"] = make(profile_all_threads=True)
        session = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], **options)
        try:
            with session:
                yield
        finally:
            path = self.spec.output / "trace.json.gz"
            self.events.emit("working", what="exporting the trace")
            session.export_chrome_trace(str(path))
            self.events.file(path, "kineto")

    def facts(self) -> Dict[str, Any]:
        return {"time_of_a_token": "when the stream hands it out", "scheduler_facts": False}


def queued_ns(output: Any) -> Optional[int]:
    """From the arrival at the engine to the first step, by the engine's own clock; null where it does not tell."""
    metrics = getattr(output.outputs[0], "request_perf_metrics", None)
    times = getattr(metrics, "timing_metrics", None)
    if times is None:
        return None
    waited = times.first_scheduled_time - times.arrival_time
    # Microseconds are all that a timedelta has.
    return (waited.days * 86_400 + waited.seconds) * 1_000_000_000 + waited.microseconds * 1000


@contextlib.contextmanager
def gate() -> Iterator[None]:
    """Tells nsys and ncu, which wait for the CUDA profiler, that the round begins and ends."""
    import torch

    torch.cuda.synchronize()
    torch.cuda.profiler.start()
    try:
        yield
        torch.cuda.synchronize()
    finally:
        torch.cuda.profiler.stop()


@dataclass
class Loaded:
    llm: Any
    tokenizer: Any
    device: Any


def load(spec: Spec, events: Events) -> Loaded:
    began_ns = time.monotonic_ns()
    folder = folder_of_model(spec)
    prepare_environment(spec)
    events.emit("loading", what="libraries", path=None)
    # First of all, so that where it is missing nothing else takes time.
    from tensorrt_llm import LLM

    device = pick_gpu(spec)
    made = engines.checkpoint(spec, events, folder)
    events.emit("loading", what="engine", path=str(made.where))
    llm = LLM(**engine_arguments(spec, made))
    loaded = Loaded(llm, load_tokenizer(folder, spec.flag("model.trust_remote_code", False)), device)
    tell(spec, events, loaded, made, time.monotonic_ns() - began_ns)
    return loaded


def pick_gpu(spec: Spec) -> Any:
    import torch

    device = devices.pick(spec.text("runtime.device"), torch)
    if device.type != "cuda":
        hint = f"torch sees: {', '.join(devices.seen(torch))}; runtime=pytorch and runtime=vllm run on a CPU"
        raise DeviceError(f"TensorRT-LLM needs an NVIDIA GPU; runtime.device is {device}", hint)
    return device


def prepare_environment(spec: Spec) -> None:
    if spec.count("runtime.tensor_parallel_size", 1) == 1:
        # The engine in this process, as far as it can: profilers in and around it see it.
        os.environ.setdefault("TLLM_WORKER_USE_SINGLE_PROCESS", "1")
    elif spec.pass_name == "torch_profiler":
        raise WorkloadError(
            "with runtime.tensor_parallel_size above 1 TensorRT-LLM runs in other processes, which torch.profiler "
            "does not see", "profiling=nsys records all of them",
        )
    if spec.pass_name in ("nsys", "ncu"):
        os.environ.setdefault("TLLM_LLMAPI_ENABLE_NVTX", "1")


def engine_arguments(spec: Spec, made: engines.Checkpoint) -> Dict[str, Any]:
    from tensorrt_llm.llmapi import CudaGraphConfig, KvCacheConfig

    cache: Dict[str, Any] = {
        "enable_block_reuse": spec.flag("runtime.enable_block_reuse", False),
        "free_gpu_memory_fraction": float(spec.get("runtime.free_gpu_memory_fraction", 0.9)),
    }
    dtype = spec.text("runtime.kv_cache_dtype", "auto")
    if dtype != "auto":
        cache["dtype"] = dtype
    batch_size = spec.count("runtime.batch_size")
    arguments: Dict[str, Any] = {
        **engines.model_arguments(spec, made),
        "max_batch_size": batch_size,
        "kv_cache_config": KvCacheConfig(**cache),
        "cuda_graph_config": CudaGraphConfig(max_batch_size=batch_size)
        if spec.flag("runtime.cuda_graph", True) else None,
    }
    if spec.get("runtime.max_seq_len", None) is not None:
        arguments["max_seq_len"] = spec.count("runtime.max_seq_len")
    return arguments


def tell(spec: Spec, events: Events, loaded: Loaded, made: engines.Checkpoint, load_ns: int) -> None:
    import torch

    engines.tell(
        spec, events, made, made.config, text_config_of(made.config), dtype=str(made.dtype).replace("torch.", ""),
        device=str(loaded.device), device_name=devices.name(torch, loaded.device),
        compile=spec.flag("runtime.cuda_graph", True), load_ns=load_ns,
    )
