"""Prompts as a batch of tokens: padded at the left, with masks and positions for every step to come."""

import inspect
from dataclasses import dataclass, field, replace
from typing import Any, Dict, List, Optional

from rooflens.runtimes.pytorch.model import Loaded, text_config_of
from rooflens.workload import pictures
from rooflens.workload.dataset import Sample
from rooflens.workload.errors import WorkloadError
from rooflens.workload.events import Events
from rooflens.workload.spec import Spec


@dataclass
class Batch:
    """What a batch needs from its first step to its last; nothing is left to compute in between."""

    input_ids: Any
    # [sequences, prompt + new tokens], or null where nothing is padded: models are faster without.
    mask: Optional[Any]
    # [..., prompt + new tokens], or null where the model counts for itself.
    positions: Optional[Any]
    # Pictures and the like, for the prefill alone.
    extra: Dict[str, Any]
    # Tokens of each prompt, padding not counted.
    lengths: List[int]
    texts: List[str] = field(default_factory=list)
    # What predictions.jsonl says of each picture; null for a text.
    records: List[Optional[Dict[str, Any]]] = field(default_factory=list)
    # Patches of each picture, where the processor has another way to tell than image_grid_thw.
    views: Optional[str] = None

    @property
    def size(self) -> int:
        return len(self.lengths)

    @property
    def width(self) -> int:
        return self.input_ids.shape[1]

    @property
    def pictures(self) -> Optional[str]:
        """Patches of each picture, as steps.csv has them; null where the processor does not tell."""
        if self.views is not None:
            return self.views
        if not any(key.startswith("pixel_values") for key in self.extra):
            return "none"
        grids = self.extra.get("image_grid_thw")
        if grids is None:
            return None
        return " ".join(f"{rows}x{columns}" for frames, rows, columns in grids.tolist() for _ in range(frames))

    def to(self, device: Any) -> "Batch":
        def move(value: Any) -> Any:
            if isinstance(value, (list, tuple)):
                return type(value)(move(item) for item in value)
            return value.to(device) if hasattr(value, "to") else value

        moved = {name: move(getattr(self, name)) for name in ("input_ids", "mask", "positions")}
        return replace(self, extra={key: move(value) for key, value in self.extra.items()}, **moved)

    def prompt_ids(self) -> List[List[int]]:
        rows = self.input_ids.tolist()
        return [row[len(row) - length :] for row, length in zip(rows, self.lengths)]


def prepare(spec: Spec, loaded: Loaded, samples: List[Sample], new_tokens: int) -> Batch:
    if not samples[0].is_image:
        return assemble(loaded, dict(encode_texts(spec, loaded, samples)), new_tokens, samples)
    opened = [pictures.open_upright(sample.path) for sample in samples]
    encoded = dict(encode_pictures(loaded, samples, [picture.image for picture in opened]))
    batch = assemble(loaded, encoded, new_tokens, samples)
    batch.views = encoded.get("views")
    batch.records = [{**picture.record, **size} for picture, size in zip(opened, input_sizes(loaded, batch))]
    return batch


def input_sizes(loaded: Loaded, batch: Batch) -> List[Dict[str, int]]:
    """Pixels of each picture as the processor resized it, where it tells: some models answer in these."""
    grids = batch.extra.get("image_grid_thw")
    patch = getattr(getattr(loaded.processor, "image_processor", None), "patch_size", None)
    if grids is None or not isinstance(patch, int):
        return [{} for _ in range(batch.size)]
    return [{"input_width": columns * patch, "input_height": rows * patch} for _, rows, columns in grids.tolist()]


def encode_texts(spec: Spec, loaded: Loaded, samples: List[Sample]) -> Any:
    as_chat = is_chat(spec, samples[0])
    texts = [chat_text(loaded.tokenizer, sample) if as_chat else sample.text for sample in samples]
    # A chat template brings its own begin-of-text token.
    return loaded.tokenizer(texts, padding=True, add_special_tokens=not as_chat, return_tensors="pt")


def is_chat(spec: Spec, sample: Sample) -> bool:
    """Whether the chat template renders the prompt: always where the sample is a list of messages."""
    return sample.messages is not None or spec.flag("infer.chat_template", False)


def chat_text(tokenizer: Any, sample: Sample) -> str:
    if sample.messages is not None and not getattr(tokenizer, "chat_template", None):
        raise WorkloadError(
            f"{sample.id} is a chat, but the model's tokenizer has no chat template",
            "choose a model with a chat template, or a field that is a string: dataset.field=…",
        )
    messages = sample.messages or [{"role": "user", "content": sample.text}]
    return tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)


def encode_pictures(loaded: Loaded, samples: List[Sample], images: List[Any]) -> Any:
    if loaded.processor is None:
        raise WorkloadError(
            "dataset.kind is image, but the model has no image processor",
            "choose a model with preprocessor_config.json and a vision_config, or dataset.kind=text",
        )
    texts = [picture_prompt(loaded.processor, sample.text) for sample in samples]
    return loaded.processor(text=texts, images=images, padding=True, return_tensors="pt", **loaded.preprocess)


def picture_prompt(processor: Any, text: str) -> str:
    image_token = getattr(processor, "image_token", "<image>")
    if image_token in text:
        return text  # the prompt says where the picture stands
    if getattr(processor, "chat_template", None):
        content = [{"type": "image"}, {"type": "text", "text": text}]
        return processor.apply_chat_template(
            [{"role": "user", "content": content}], tokenize=False, add_generation_prompt=True
        )
    return f"{image_token}{text}"


def assemble(loaded: Loaded, encoded: Dict[str, Any], new_tokens: int, samples: List[Sample]) -> Batch:
    import torch

    input_ids = encoded.pop("input_ids")
    mask = encoded.pop("attention_mask")
    accepted = inspect.signature(loaded.model.forward).parameters
    extra = {key: value for key, value in encoded.items() if value is not None and key in accepted}
    lengths = mask.sum(dim=1).tolist()
    positions = count_positions(loaded.model, input_ids, mask, extra) if "position_ids" in accepted else None
    if positions is not None:
        # Every new token stands one after the last, whatever pictures did to the count before it.
        following = positions[..., -1:] + torch.arange(1, new_tokens + 1)
        positions = torch.cat([positions, following], dim=-1)
    is_padded = bool((mask == 0).any())
    full_mask = torch.cat([mask, mask.new_ones((len(lengths), new_tokens))], dim=1) if is_padded else None
    texts = [sample.text for sample in samples]
    return Batch(input_ids, full_mask, positions, extra, lengths, texts, [None] * len(texts))


def count_positions(model: Any, input_ids: Any, mask: Any, extra: Dict[str, Any]) -> Optional[Any]:
    """Positions of the prompts' tokens; those of padding are never looked at."""
    prepare_positions = getattr(model, "_prepare_position_ids_for_generation", None)
    if prepare_positions is not None:  # transformers 5: models with positions of their own say them
        on_device = {key: v.to(model.device) if hasattr(v, "to") else v for key, v in extra.items()}
        on_device["attention_mask"] = mask.to(model.device)
        return prepare_positions(input_ids.to(model.device), on_device).cpu()
    if hasattr(model, "get_rope_index") or hasattr(getattr(model, "model", None), "get_rope_index"):
        return None  # counted in its forward pass, from the pictures' sizes
    positions = mask.long().cumsum(-1) - 1
    return positions.masked_fill(mask == 0, 0)


def note_long(batch: Batch, loaded: Loaded, events: Events) -> None:
    most = getattr(text_config_of(loaded.model.config), "max_position_embeddings", None)
    needed = batch.positions.shape[-1] if batch.positions is not None else batch.width
    if most is not None and needed > most:
        message = f"{needed} positions are needed, the model was made for {most}: lower infer.max_new_tokens"
        events.note("warning", "context_exceeded", message)
