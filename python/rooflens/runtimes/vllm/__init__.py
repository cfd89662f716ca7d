"""vLLM's own engine, offline and in this process: its scheduler makes the steps, we look on."""

import contextlib
import os
import time
from dataclasses import dataclass
from typing import Any, ContextManager, Dict, Iterator, List, Optional

from rooflens import devices
from rooflens.runtimes import engines
from rooflens.runtimes.engines import Answered
from rooflens.runtimes.pytorch import deepseek_ocr
from rooflens.runtimes.pytorch.inputs import picture_prompt
from rooflens.runtimes.pytorch.model import folder_of_model, load_processor, load_tokenizer, preprocess_options
from rooflens.runtimes.vllm.scheduler import Watch
from rooflens.workload import pictures
from rooflens.workload.dataset import Round, Sample
from rooflens.workload.errors import WorkloadError
from rooflens.workload.events import Events
from rooflens.workload.records import Step
from rooflens.workload.spec import Spec


def run(spec: Spec, events: Events) -> None:
    engines.run(spec, events, Workload)


class Workload(engines.EngineWorkload):
    def __init__(self, spec: Spec, events: Events):
        super().__init__(spec, events)
        self.loaded = load(spec, events)
        self.engine = self.loaded.engine
        self.device = self.loaded.device
        self.watch = Watch(self.engine, events, spec.text("dataset.kind") == "image")

    def prompt(self, sample: Sample) -> Any:
        if not sample.is_image:
            return {"prompt_token_ids": engines.token_ids(self.spec, self.loaded.tokenizer, sample)}
        if self.loaded.processor is None:
            raise WorkloadError("dataset.kind is image, but the model has no image processor", "set dataset.kind=text")
        # vLLM puts the picture's tokens in itself.
        text = picture_prompt(self.loaded.processor, sample.text)
        return {"prompt": text, "multi_modal_data": {"image": pictures.open_upright(sample.path).image}}

    def sampling(self, seed: int) -> Any:
        from vllm import SamplingParams

        # A temperature of 0 is vLLM's word for greedy.
        options = engines.sampling_options(self.spec, seed, {"temperature": 0.0})
        if self.spec.get("infer.no_repeat_ngram_size", None) is not None:
            size = self.spec.count("infer.no_repeat_ngram_size", least=0)
            # Of the answer alone; transformers looks at the prompt, too. 0 lets tokens repeat.
            options.update({"extra_args": {"ngram_size": size, "window_size": 1 << 30}} if size else {})
        return SamplingParams(**options)

    def steps(self, round_: Round) -> List[Step]:
        return self._rows

    @contextlib.contextmanager
    def _profiled(self) -> Iterator[None]:
        self.engine.start_profile()
        try:
            yield
        finally:
            self.events.emit("working", what="exporting the trace")
            self.engine.stop_profile()
            for path in sorted((self.spec.output / TRACES).rglob("*.json*")):
                self.events.file(path, "kineto")

    def watched(self, round_: Round) -> ContextManager[Any]:
        is_asked = self.spec.pass_name == "torch_profiler" or is_gated(self.spec)
        if round_.kind == "profiled" and is_asked:
            return self._profiled()
        return contextlib.nullcontext()

    def generate(self, round_: Round, prompts: List[Any], params: List[Any]) -> List[Answered]:
        names = [f"{round_.number}.{i}" for i in range(len(prompts))]
        start_ns: Dict[str, int] = {}
        engine_ids: Dict[str, str] = {}
        outputs: Dict[str, Any] = {}
        token_ns: Dict[str, List[int]] = {}
        for name, prompt, wanted in zip(names, prompts, params):
            start_ns[name] = time.monotonic_ns()
            # Newer engines give a request a name of their own and tell it.
            engine_ids[name] = self.engine.add_request(name, prompt, wanted) or name
            token_ns[name] = []
        self.watch.begin()
        while self.engine.has_unfinished_requests():
            made = self.engine.step()
            now_ns = time.monotonic_ns()
            self.watch.stepped(now_ns)
            for output in made:
                times = token_ns[output.request_id]
                times += [now_ns] * (len(output.outputs[0].token_ids) - len(times))
                outputs[output.request_id] = output
        end_ns = time.monotonic_ns()
        # Reading the schedule tells when each request was first in a step, too.
        self._rows = self.watch.steps(round_)
        first_ns = {name: self.watch.first_scheduled_ns.get(engine_ids[name]) for name in names}
        return [
            Answered(
                outputs[name], start_ns[name],
                None if first_ns[name] is None else first_ns[name] - start_ns[name], token_ns[name], end_ns,
            )
            for name in names
        ]

    def facts(self) -> Dict[str, Any]:
        cache = self.engine.vllm_config.cache_config
        return {
            "time_of_a_step": "from the schedule, or the end of the step before, until its tokens are handed out",
            "kv_blocks": cache.num_gpu_blocks,
            "kv_block_tokens": cache.block_size,
            "async_scheduling": self.engine.vllm_config.scheduler_config.async_scheduling,
            "scheduler_facts": self.watch.is_on,
        }


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
        device = torch.device("cpu")  # only the host's memory can be measured
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
    """Whether the engine starts and stops a profiler around this process."""
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
    engines.tell(
        spec, events, made, config.hf_config, config.hf_text_config,
        dtype=str(config.dtype).replace("torch.", ""), device=str(loaded.device),
        device_name=torch.cuda.get_device_name() if is_gpu else devices.processor(),
        compile=not spec.flag("runtime.enforce_eager", False), load_ns=load_ns,
    )
