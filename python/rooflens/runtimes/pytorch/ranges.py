"""Names in a profile: which step, which stage, which part of the model.

| name | around |
| --- | --- |
| `rooflens.batch[ROUND.BATCH]` | all steps of a batch |
| `rooflens.prefill` | the forward pass over the prompts and the choice of the first token |
| `rooflens.decode[N]` | the same for the token number N, from 1 |
| `rooflens.vision`, `rooflens.projector`, `rooflens.language` | the parts of a model that sees |
| `rooflens.vision.sam`, `rooflens.vision.clip` | the encoders of one that has two, as DeepSeek-OCR |
| `module:PATH` | every module by its path in the model, such as `module:model.layers.3.self_attn` |
| `rooflens.capture` | the phase to be captured; the CUDA profiler is started and stopped with it |
"""

import contextlib
from typing import Any, Callable, ContextManager, Dict, Iterator, List, Optional, Tuple

from rooflens import nvtx
from rooflens.runtimes.pytorch.model import Loaded
from rooflens.workload.spec import Spec

# What models call their parts. The outermost module of such a name is the stage.
STAGES: Tuple[Tuple[str, Tuple[str, ...]], ...] = (
    ("rooflens.vision", ("visual", "vision_tower", "vision_model", "vision_encoder", "image_encoder")),
    ("rooflens.projector", ("multi_modal_projector", "mm_projector", "projector", "connector", "aligner", "merger")),
    ("rooflens.language", ("language_model", "text_model")),
)

# Where a module of the first name stands, `vision_model` beside it is the second of two encoders.
ENCODERS = {"sam_model": "rooflens.vision.sam", "vision_model": "rooflens.vision.clip"}

NOTHING: ContextManager[None] = contextlib.nullcontext()


class NoRanges:
    """For passes whose times count: costs nothing."""

    about: Dict[str, Any] = {"ranges": False, "modules": 0, "modules_reason": "no profiler in this pass"}

    def on(self, *_: Any) -> ContextManager[Any]:
        return NOTHING

    batch = prefill = decoding = decode = on


class Ranges:
    """Ranges for a profiler, between `on` and its end only: warm-up rounds stay unnamed."""

    def __init__(self, make: Callable[[str], ContextManager[Any]], with_modules: bool, captured: Optional[str]):
        self._make = make
        self._with_modules = with_modules
        # prefill, decode, round, or null where nothing is gated.
        self._captured = captured
        self._is_on = False
        self.about: Dict[str, Any] = {"ranges": True, "modules": 0, "modules_reason": None}

    @contextlib.contextmanager
    def on(self, loaded: Loaded) -> Iterator[None]:
        hooks = self._name_modules(loaded)
        self._is_gpu = loaded.device.type == "cuda"
        self._is_on = True
        try:
            with self._gate("round"):
                yield
        finally:
            self._is_on = False
            for hook in hooks:
                hook.remove()

    def batch(self, label: str) -> ContextManager[Any]:
        return self._named(f"rooflens.batch[{label}]")

    @contextlib.contextmanager
    def prefill(self) -> Iterator[None]:
        with self._gate("prefill"), self._named("rooflens.prefill"):
            yield

    def decoding(self) -> ContextManager[Any]:
        return self._gate("decode")

    def decode(self, step: int) -> ContextManager[Any]:
        return self._named(f"rooflens.decode[{step}]")

    def _named(self, name: str) -> ContextManager[Any]:
        return self._make(name) if self._is_on else NOTHING

    @contextlib.contextmanager
    def _gate(self, phase: str) -> Iterator[None]:
        if not self._is_on or phase != self._captured:
            yield
            return
        import torch

        if self._is_gpu:
            torch.cuda.synchronize()
            torch.cuda.profiler.start()
        with self._make("rooflens.capture"):
            yield
            if self._is_gpu:
                torch.cuda.synchronize()
        if self._is_gpu:
            torch.cuda.profiler.stop()

    def _name_modules(self, loaded: Loaded) -> List[Any]:
        if loaded.compiled:
            self.about["modules_reason"] = "torch.compile melts modules together: set runtime.compile=false"
            return []
        hooks: List[Any] = []
        stages = find_stages(loaded.model)
        for path, module in loaded.model.named_modules():
            labels = [stages[path]] if path in stages else []
            if path and self._with_modules:
                labels.append(f"module:{path}")
                self.about["modules"] += 1
            for label in labels:
                hooks += self._hook(module, label)
        if not self._with_modules:
            self.about["modules_reason"] = "pipeline.torch_profiler.with_modules is false"
        return hooks

    def _hook(self, module: Any, label: str) -> List[Any]:
        open_ranges: List[ContextManager[Any]] = []  # a stack, as a module may call itself

        def enter(*_: Any) -> None:
            opened = self._make(label)
            opened.__enter__()
            open_ranges.append(opened)

        def leave(*_: Any) -> None:
            if open_ranges:
                open_ranges.pop().__exit__(None, None, None)

        # The first label is the outermost: entered first, left last.
        return [
            module.register_forward_pre_hook(enter),
            module.register_forward_hook(leave, prepend=True, always_call=True),
        ]


def find_stages(model: Any) -> Dict[str, str]:
    """Paths of the outermost modules that are a stage."""
    found: Dict[str, str] = {}
    if getattr(model.config, "vision_config", None) is None:
        return found
    for label, names in STAGES:
        for path, _ in model.named_modules():
            inside = any(path.startswith(other + ".") for other, its in found.items() if its == label)
            if path.split(".")[-1] in names and not inside:
                found[path] = label
    for path, _ in model.named_modules():
        around, _, name = path.rpartition(".")
        if name == "sam_model":
            prefix = f"{around}." if around else ""
            found.update({f"{prefix}{encoder}": label for encoder, label in ENCODERS.items()})
    return found


def for_pass(spec: Spec, _loaded: Loaded) -> Any:
    if spec.pass_name in ("measure", "predict", "cublas_log"):
        return NoRanges()
    if spec.pass_name == "torch_profiler":
        from torch.profiler import record_function

        return Ranges(record_function, spec.flag("pipeline.torch_profiler.with_modules", True), None)
    key = "pipeline.nsys.capture" if spec.pass_name == "nsys" else "pipeline.ncu.phase"
    captured = spec.get(key, None)
    # Another range than a phase is there by itself: the profiler around us waits for its name.
    return Ranges(nvtx_maker(), True, captured or "round")


def nvtx_maker() -> Callable[[str], ContextManager[Any]]:
    backend = nvtx.find()

    @contextlib.contextmanager
    def named(name: str) -> Iterator[None]:
        backend.push(name)
        try:
            yield
        finally:
            backend.pop()

    return named if backend is not None else lambda _name: contextlib.nullcontext()
