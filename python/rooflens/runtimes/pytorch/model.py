"""Loads a model of Hugging Face's layout with transformers, from its folder only."""

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Optional

from rooflens import devices
from rooflens.runtimes.pytorch import deepseek_ocr, weights
from rooflens.workload import pictures as of_pictures
from rooflens.workload.errors import WorkloadError
from rooflens.workload.events import Events
from rooflens.workload.spec import Spec

DTYPES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}
ATTENTION = ("auto", "eager", "sdpa", "flash_attention_2", "flash_attention_3", "flex_attention")


@dataclass
class Loaded:
    """A model ready to run, and what turns prompts into its inputs."""

    # What is called for a step; the model itself, or its compiled form.
    forward: Any
    model: Any
    tokenizer: Any
    # For models that see pictures; null for those that only read.
    processor: Optional[Any]
    device: Any
    compiled: bool
    # What the processor is told about pictures besides its own config.
    preprocess: Dict[str, Any] = field(default_factory=dict)

    def text_of(self, ids: List[int]) -> str:
        return of_pictures.text_of(self.tokenizer, ids)


def load(spec: Spec, events: Events) -> Loaded:
    began_ns = time.monotonic_ns()
    folder = folder_of_model(spec)
    events.emit("loading", what="libraries", path=None)
    import torch
    import transformers

    transformers.utils.logging.disable_progress_bar()  # events tell what is going on
    device = devices.pick(spec.text("runtime.device"), torch)
    events.emit("loading", what="model", path=str(folder))
    config = read_config(spec, folder)
    dtype = pick_dtype(spec.choice("model.dtype", ("auto", *DTYPES)), config)
    kwargs = {"trust_remote_code": spec.flag("model.trust_remote_code", False)}
    attention = spec.choice("runtime.attention", ATTENTION, "auto")
    if attention != "auto":
        kwargs["attn_implementation"] = attention
    source = weights.source(spec, folder)
    if source == "random":
        model = weights.make(config, dtype, spec.count("seed", 0, least=0), kwargs)
    else:
        model = weights.model_class(config, kwargs).from_pretrained(
            folder, **weights.dtype_argument(dtype), **kwargs
        )
    model = model.eval().to(device)
    refuse_unsupported(model)
    compiled = spec.flag("runtime.compile", False)
    tokenizer = load_tokenizer(folder, kwargs["trust_remote_code"])
    pictures = load_processor(folder, kwargs["trust_remote_code"], config, tokenizer)
    if isinstance(pictures, deepseek_ocr.DeepseekOcrProcessor):
        pictures.dtype = model.dtype
    loaded = Loaded(
        forward=torch.compile(model) if compiled else model,
        model=model,
        tokenizer=tokenizer,
        processor=pictures,
        device=device,
        compiled=compiled,
        preprocess=preprocess_options(spec, pictures),
    )
    tell(spec, events, loaded, folder, source, time.monotonic_ns() - began_ns)
    return loaded


def folder_of_model(spec: Spec) -> Path:
    folder = spec.path("model.path")
    if not (folder / "config.json").is_file():
        raise WorkloadError(f"model.path has no config.json: {folder}", "rooflens assets status")
    return folder


def text_config_of(config: Any) -> Any:
    """The config of the text model, which may stand inside."""
    return config.get_text_config() if hasattr(config, "get_text_config") else config


def read_config(spec: Spec, folder: Path) -> Any:
    from transformers import AutoConfig

    return AutoConfig.from_pretrained(folder, trust_remote_code=spec.flag("model.trust_remote_code", False))


def pick_dtype(name: str, config: Any) -> Any:
    import torch

    if name != "auto":
        return getattr(torch, DTYPES[name])
    # transformers 5 calls it dtype, earlier ones torch_dtype; a text model may stand inside.
    inner = getattr(config, "text_config", None)
    for holder, key in ((config, "dtype"), (config, "torch_dtype"), (inner, "dtype"), (inner, "torch_dtype")):
        value = getattr(holder, key, None)
        if value is not None:
            return getattr(torch, value) if isinstance(value, str) else value
    return torch.float32


def is_multimodal(config: Any) -> bool:
    return getattr(config, "vision_config", None) is not None


def load_tokenizer(folder: Path, trust_remote_code: bool) -> Any:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=trust_remote_code)
    # A sequence is continued at its right end, so what fills a batch up stands at the left.
    tokenizer.padding_side = "left"
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.convert_ids_to_tokens(0)
    return tokenizer


def load_processor(folder: Path, trust_remote_code: bool, config: Any, tokenizer: Any) -> Any:
    if not is_multimodal(config):
        return None
    if deepseek_ocr.ARCHITECTURE in (getattr(config, "architectures", None) or []):
        return deepseek_ocr.DeepseekOcrProcessor(tokenizer)
    if not any((folder / name).is_file() for name in ("preprocessor_config.json", "processor_config.json")):
        return None  # it may still be run on text alone
    from transformers import AutoProcessor

    processor = AutoProcessor.from_pretrained(folder, trust_remote_code=trust_remote_code)
    processor.tokenizer.padding_side = "left"
    if processor.tokenizer.pad_token_id is None:
        processor.tokenizer.pad_token = processor.tokenizer.eos_token
    return processor


def preprocess_options(spec: Spec, processor: Any) -> Dict[str, Any]:
    """`model.preprocess`, where the processor knows every key of it."""
    options = {key: value for key, value in (spec.get("model.preprocess", None) or {}).items() if value is not None}
    if not options or processor is None:
        return {}  # a model of text alone has no pictures to prepare
    if hasattr(processor, "check"):
        processor.check(options)
        return options
    images = getattr(processor, "image_processor", processor)
    known = sorted(getattr(getattr(images, "valid_kwargs", None), "__annotations__", {}))
    unknown = [key for key in options if key not in known and not hasattr(images, key)]
    if unknown:
        raise WorkloadError(
            f"{type(images).__name__} has no model.preprocess.{unknown[0]}", f"it takes {', '.join(known)}"
        )
    return options


def refuse_unsupported(model: Any) -> None:
    if getattr(model.config, "is_encoder_decoder", False):
        raise WorkloadError(
            f"{type(model).__name__} has an encoder and a decoder; only decoders are run step by step",
            "run it with your own script: runtime=command",
        )


def tell(spec: Spec, events: Events, loaded: Loaded, folder: Path, source: str, load_ns: int) -> None:
    import torch

    model, text_config = loaded.model, text_config_of(loaded.model.config)
    parameters = list(model.parameters())
    tell_model(
        spec, events, folder, source, text_config, architecture=type(model).__name__,
        parameters=sum(p.numel() for p in parameters),
        parameter_bytes=sum(p.numel() * p.element_size() for p in parameters),
        dtype=str(model.dtype).replace("torch.", ""), device=str(loaded.device),
        device_name=devices.name(torch, loaded.device),
        attention=getattr(text_config, "_attn_implementation", None), compile=loaded.compiled, load_ns=load_ns,
    )


def tell_model(spec: Spec, events: Events, folder: Path, source: str, text_config: Any, **facts: Any) -> None:
    """Emits the event `model`; `facts` are the fields that each runtime knows in its own way."""
    events.emit(
        "model", name=spec.text("model.name"), path=str(folder), config_path=str(folder / "config.json"),
        layers=getattr(text_config, "num_hidden_layers", None), weights=source,
        seed=spec.count("seed", 0, least=0) if source == "random" else None, **facts,
    )
