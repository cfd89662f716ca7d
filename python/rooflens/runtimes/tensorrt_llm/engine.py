"""Starts TensorRT-LLM on the same model, the same weights and the same format as any other runtime."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Any, Dict

from rooflens import devices
from rooflens.runtimes import engines
from rooflens.runtimes.pytorch.model import folder_of_model, load_tokenizer, text_config_of
from rooflens.workload.errors import DeviceError, WorkloadError
from rooflens.workload.events import Events
from rooflens.workload.spec import Spec


@dataclass
class Loaded:
    """A running engine."""

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

    engines.tell_model(
        spec, events, made, made.config, text_config_of(made.config), dtype=str(made.dtype).replace("torch.", ""),
        device=str(loaded.device), device_name=devices.name(torch, loaded.device),
        compile=spec.flag("runtime.cuda_graph", True), load_ns=load_ns,
    )
