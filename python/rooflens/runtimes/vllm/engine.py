"""Starts the engine on the same model, the same weights and the same format as any other runtime."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Any, Dict, Optional

from rooflens import devices
from rooflens.runtimes import engines
from rooflens.runtimes.pytorch import deepseek_ocr
from rooflens.runtimes.pytorch.model import folder_of_model, load_processor, load_tokenizer, preprocess_options
from rooflens.workload.errors import WorkloadError
from rooflens.workload.events import Events
from rooflens.workload.spec import Spec

# Folder for the profiler's traces, inside the output folder.
TRACES = "traces"

NO_REPEAT_NGRAM = "vllm.model_executor.models.deepseek_ocr:NGramPerReqLogitsProcessor"

# Only where the environment says nothing else.
ENVIRONMENT = {
    # The engine's core in this process: every step can be seen, and nothing is left behind.
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_DO_NOT_TRACK": "1",
}


@dataclass
class Loaded:
    engine: Any
    tokenizer: Any
    processor: Optional[Any]
    device: Any


def load(spec: Spec, events: Events) -> Loaded:
    began_ns = time.monotonic_ns()
    folder = folder_of_model(spec)
    for key, value in ENVIRONMENT.items():
        os.environ.setdefault(key, value)
    events.emit("loading", what="libraries", path=None)
    import torch
    from vllm.engine.arg_utils import EngineArgs
    from vllm.v1.engine.llm_engine import LLMEngine

    made = engines.checkpoint(spec, events, folder)
    trust = spec.flag("model.trust_remote_code", False)
    events.emit("loading", what="engine", path=str(made.where))
    arguments = engine_arguments(spec, made, EngineArgs)
    tokenizer = load_tokenizer(folder, trust)
    pictures = load_processor(folder, trust, made.config, tokenizer)
    arguments.update(picture_arguments(preprocess_options(spec, pictures), pictures))
    engine = LLMEngine.from_engine_args(EngineArgs(**arguments))
    device = torch.device(getattr(engine.vllm_config.device_config, "device_type", "cpu"))
    if device.type not in ("cpu", "cuda"):
        device = torch.device("cpu")  # the host's memory is all that can be told
    loaded = Loaded(engine, tokenizer, pictures, device)
    tell(spec, events, loaded, made, time.monotonic_ns() - began_ns)
    return loaded


def picture_arguments(options: Dict[str, Any], pictures: Any) -> Dict[str, Any]:
    """`model.preprocess` as vLLM takes it."""
    if isinstance(pictures, deepseek_ocr.DeepseekOcrProcessor):
        # vLLM counts the picture's tokens by constants: other sizes would not fit them.
        if deepseek_ocr.Preprocess.read(options) != deepseek_ocr.Preprocess():
            raise WorkloadError(
                "vLLM runs DeepSeek-OCR at its default sizes only",
                "do not change model.preprocess, or set runtime=pytorch",
            )
        return {}
    return {"mm_processor_kwargs": options} if options else {}


def engine_arguments(spec: Spec, made: engines.Checkpoint, known: Any) -> Dict[str, Any]:
    device = spec.text("runtime.device")
    if device.split(":")[0] not in ("auto", "cpu", "cuda"):
        raise WorkloadError(f"runtime.device is {device!r}, which is not known", "one of: auto, cpu, cuda")
    arguments: Dict[str, Any] = {
        **engines.model_arguments(spec, made),
        "seed": spec.count("seed", 0, least=0),
        "max_num_seqs": spec.count("runtime.batch_size"),
        "gpu_memory_utilization": float(spec.get("runtime.gpu_memory_utilization", 0.9)),
        "kv_cache_dtype": spec.text("runtime.kv_cache_dtype", "auto"),
        "enable_prefix_caching": spec.flag("runtime.enable_prefix_caching", False),
        "enforce_eager": spec.flag("runtime.enforce_eager", False),
        # The line that vLLM logs every few seconds is not for us, and it takes time.
        "disable_log_stats": True,
    }
    if spec.get("runtime.max_model_len", None) is not None:
        arguments["max_model_len"] = spec.count("runtime.max_model_len")
    if spec.get("infer.no_repeat_ngram_size", None):
        # vLLM has it for DeepSeek-OCR, and it works for any model.
        arguments["logits_processors"] = [NO_REPEAT_NGRAM]
    if spec.pass_name == "torch_profiler":
        arguments.update(profiler_arguments(spec, known))
    elif is_gated(spec):
        from vllm.config import ProfilerConfig

        # Starts and stops the CUDA profiler, which nsys and ncu can wait for.
        arguments["profiler_config"] = ProfilerConfig(profiler="cuda")
        os.environ.setdefault("VLLM_NVTX_SCOPES_FOR_PROFILING", "1")
    return arguments


def is_gated(spec: Spec) -> bool:
    """Whether a profiler around us is told by the engine when to look."""
    import torch

    return spec.pass_name in ("nsys", "ncu") and torch.cuda.is_available()


def profiler_arguments(spec: Spec, known: Any) -> Dict[str, Any]:
    folder = spec.output / TRACES
    folder.mkdir(exist_ok=True)
    options = spec.profiler_options
    if "profiler_config" not in known.__dataclass_fields__:  # before vLLM 0.13
        names = {"profile_memory": "WITH_PROFILE_MEMORY"}
        os.environ["VLLM_TORCH_PROFILER_DIR"] = str(folder)
        for key, value in options.items():
            os.environ[f"VLLM_TORCH_PROFILER_{names.get(key, key.upper())}"] = str(int(value))
        return {}
    from vllm.config import ProfilerConfig

    wanted = {
        "profiler": "torch",
        "torch_profiler_dir": str(folder),
        "torch_profiler_with_stack": options["with_stack"],
        "torch_profiler_with_flops": options["with_flops"],
        "torch_profiler_record_shapes": options["record_shapes"],
        "torch_profiler_with_memory": options["profile_memory"],
        # Names of steps then hold the tokens in the cache, too.
        "detailed_trace_annotation": True,
    }
    fields = getattr(ProfilerConfig, "__dataclass_fields__", wanted)
    return {"profiler_config": ProfilerConfig(**{key: value for key, value in wanted.items() if key in fields})}


def tell(spec: Spec, events: Events, loaded: Loaded, made: engines.Checkpoint, load_ns: int) -> None:
    import torch

    config = loaded.engine.vllm_config.model_config
    is_gpu = loaded.device.type == "cuda"
    engines.tell_model(
        spec, events, made, config.hf_config, config.hf_text_config,
        dtype=str(config.dtype).replace("torch.", ""), device=str(loaded.device),
        device_name=torch.cuda.get_device_name() if is_gpu else devices.processor(),
        compile=not spec.flag("runtime.enforce_eager", False), load_ns=load_ns,
    )
