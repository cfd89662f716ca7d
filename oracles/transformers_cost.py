"""What Transformers itself builds and runs: makes the goldens of the configs in fixtures/cost.

    python transformers_cost.py make [--only TEXT] [--out DIR]

Needs requirements-transformers.txt. Models are built on the meta device: no weights, no arithmetic, only shapes, so a
model of a trillion parameters takes seconds. FLOPs are those of `torch.utils.flop_counter.FlopCounterMode` over the
eager implementation.
"""

import argparse
import contextlib
import glob
import json
import logging
import re
import sys
from collections import Counter
from pathlib import Path


logging.disable(logging.WARNING)

import encoder_decoders  # noqa: E402
import torch  # noqa: E402
import vision_towers  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402
from transformers import (  # noqa: E402
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
    masking_utils,
)
from transformers.models.auto.configuration_auto import CONFIG_MAPPING  # noqa: E402
from oracle import REPOSITORY

GOLDENS = REPOSITORY / "fixtures/cost"
PREFILLS = [(1, 64), (2, 97), (3, 5)]  # batch, new tokens
DECODES = [(1, 64), (2, 97), (3, 7)]  # batch, tokens in the cache
SAME_CLASS = {"kimi_k2": "deepseek_v3"}  # the files say so in `architectures`
# `time_step_limit` holds an infinity, which files write in ways that the classes refuse.
NOT_ARCHITECTURE = ("auto_map", "quantization_config", "architectures", "time_step_limit")


class NoAutocast(contextlib.nullcontext):
    """The meta device has no autocast; it changes types, not shapes."""

    def __init__(self, *_args, **_kwargs):
        super().__init__()


torch.autocast = NoAutocast
# Looks at the positions' values, which the meta device does not have.
masking_utils.find_packed_sequence_indices = lambda *_args, **_kwargs: None


def build(config: dict, device="meta", automatic=AutoModelForCausalLM):
    """The causal model of a config.json; the conditional-generation model if there is none."""
    config = json.loads(json.dumps(config))  # the classes write into what they are given
    model_type = config.pop("model_type")
    for key in NOT_ARCHITECTURE:
        config.pop(key, None)
    settings = CONFIG_MAPPING[SAME_CLASS.get(model_type, model_type)](**config)
    options = {
        "dtype": torch.bfloat16 if device == "meta" else torch.float32,
        "attn_implementation": "eager",
        "experts_implementation": "batched_mm",  # grouped_mm has no FLOP formula in torch
    }
    automatic = encoder_decoders.CLASSES.get(model_type, automatic)
    with torch.device(device):
        try:
            model = automatic.from_config(settings, **options)
        except ValueError as error:
            if "Unrecognized configuration class" not in str(error):
                raise
            model = AutoModelForImageTextToText.from_config(settings, **options)
        model = encoder_decoders.finished(model, {"model_type": model_type, **config})
    return model.eval()


def forward(model, batch: int, new: int, **options):
    with model.device, torch.no_grad():
        return model(input_ids=torch.zeros(batch, new, dtype=torch.long), **options)


def prefill(model, batch: int, new: int) -> FlopCounterMode:
    with FlopCounterMode(display=False) as counter:
        forward(model, batch, new, use_cache=False)
    return counter


def decode(model, batch: int, past: int) -> tuple[FlopCounterMode, dict]:
    """One token a sequence after `past` cached ones, and what the cache held before it."""
    filled = forward(model, batch, past, use_cache=True)
    name = "past_key_values" if "past_key_values" in filled else "cache_params"
    held = cache_elements(filled[name])
    with FlopCounterMode(display=False) as counter:
        forward(model, batch, 1, use_cache=True, **{name: filled[name]})
    return counter, held


def cache_elements(cache) -> dict[str, int]:
    """Elements by the cache's own attribute names, summed over layers; K = V stored once."""
    found = Counter()
    for layer in [cache, *cache.layers]:
        seen = set()
        for name, value in vars(layer).items():
            for tensor in tensors(value):
                if tensor.dim() > 1 and id(tensor) not in seen:
                    seen.add(id(tensor))
                    found[name] += tensor.numel()
    return {name: count for name, count in sorted(found.items()) if count}


def tensors(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from tensors(item)


def flops(counter: FlopCounterMode) -> dict:
    by_operator = {str(name): count for name, count in counter.get_flop_counts()["Global"].items()}
    return {"total": counter.get_total_flops(), "by_aten": by_operator}


def flops_by_module(counter: FlopCounterMode) -> dict[str, int]:
    """FLOPs a module does itself, without its children, summed over the layers' numbers."""
    totals = {
        name: sum(counts.values())
        for name, counts in counter.get_flop_counts().items() if name != "Global"
    }
    own = dict(totals)
    for name, total in totals.items():
        parent = name.rpartition(".")[0]
        while parent and parent not in own:
            parent = parent.rpartition(".")[0]
        if parent:
            own[parent] -= total
    merged = Counter()
    for name, total in own.items():
        merged[re.sub(r"\.\d+(?=\.|$)", ".*", name.partition(".")[2]) or "(model)"] += total
    return {name: total for name, total in merged.items() if total}


def parameters(model) -> dict:
    """Counts with the conventions of the corpus's param_truth.csv."""
    sizes = {name: tensor.numel() for name, tensor in model.named_parameters()}
    total = sum(sizes.values())
    vision = sum(size for name, size in sizes.items() if re.search("vision|visual", name))
    routed = sum(size for name, size in sizes.items() if re.search(r"\.experts\.", name))
    embedding = sum(
        size for name, size in sizes.items()
        if re.search(r"(^|\.)(embed_tokens|embed_tokens_per_layer|embeddings)\.weight$", name)
        and not re.search("vision|visual|audio", name)
    )
    head = model.get_output_embeddings().weight
    tied = head is model.get_input_embeddings().weight
    experts, chosen = routing(model.config.get_text_config())
    active = total - vision - (routed - routed * chosen // experts if routed else 0)
    return {
        "total": total, "active": active, "embedding": embedding, "routed_experts": routed,
        "active_without_embedding": active if tied else active - embedding,
        "vision": vision, "lm_head": head.numel(), "tied": tied,
        "audio": sum(size for name, size in sizes.items() if "audio" in name),
    }


def routing(config) -> tuple[int, int]:
    """Experts and experts a token, under whatever name the family's class has for them."""
    experts = first(config, "num_local_experts", "n_routed_experts", "num_experts")
    return experts, first(config, "num_experts_per_tok", "top_k_experts", "moe_top_k")


def first(config, *names) -> int:
    return next((value for name in names if (value := getattr(config, name, None))), 0)


def shown(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"


def golden(config: dict) -> dict:
    try:
        return measured(config, build(config))
    except NotImplementedError:  # an operator that needs values: the small models have some
        return measured(config, build(config, device="cpu"))


def measured(config: dict, model) -> dict:
    if config["model_type"] in encoder_decoders.CLASSES:
        return of_both(config, model)
    workloads = []
    for batch, new in PREFILLS:
        counter = prefill(model, batch, new)
        workloads.append({"batch": batch, "prefill": new, "flops": flops(counter)})
    for batch, past in DECODES:
        try:
            counter, held = decode(model, batch, past)
        except NotImplementedError:
            raise
        except Exception as error:  # what does not run is absent, with a reason
            workloads.append({"batch": batch, "past": past, "absent": shown(error)})
        else:
            workloads.append({
                "batch": batch, "past": past, "flops": flops(counter), "cache_elements": held})
    result = numbers(config, model, workloads, prefill(model, *PREFILLS[0]))
    seen = vision(config)
    return {**result, "vision": seen} if seen else result


def of_both(config: dict, model) -> dict:
    """The numbers of an encoder-decoder model: what a prompt takes in both, and a decode step."""
    workloads = []
    for batch, tokens in PREFILLS:
        counter = encoder_decoders.prefill(model, batch, tokens)
        workloads.append({"batch": batch, "prefill": tokens, "flops": flops(counter)})
    for batch, tokens, past in encoder_decoders.DECODES:
        counter, held = encoder_decoders.decode(model, batch, tokens, past)
        read = {} if config["model_type"] == "whisper" else {"encoder_tokens": tokens}
        workloads.append({
            "batch": batch, "past": past, **read, "flops": flops(counter), "cache_elements": held})
    return numbers(config, model, workloads, encoder_decoders.prefill(model, *PREFILLS[0]))


def numbers(config: dict, model, workloads: list[dict], first: FlopCounterMode) -> dict:
    return {
        "config": {**config, "architectures": [type(model).__name__]},
        "class": type(model).__name__, "params": parameters(model), "workloads": workloads,
        "modules": {"batch": PREFILLS[0][0], "prefill": PREFILLS[0][1],
                    "flops": flops_by_module(first)},
    }


def vision(config: dict) -> list[dict]:
    """The tower and the projector behind it, for one image of each size."""
    if "vision_config" not in config:
        return []
    model, found = build(config, device="cpu", automatic=AutoModelForImageTextToText), []
    for image, call in vision_towers.images(model):
        with torch.no_grad(), FlopCounterMode(display=False) as counter:
            call()
        found.append({
            "image": image, "flops": flops(counter), "modules": flops_by_module(counter),
            "params": parameters(model)["vision"]})
    return found


def make(only: str, out: Path) -> int:
    out.mkdir(parents=True, exist_ok=True)
    failed = 0
    for path in sorted(GOLDENS.glob(f"*{glob.escape(only)}*.json")):
        name, config = path.stem, json.loads(path.read_text())["config"]
        if SAME_CLASS.get(config["model_type"], config["model_type"]) not in CONFIG_MAPPING:
            print(f"skipped {name}: Transformers has no {config['model_type']}")
            continue
        try:
            found = golden(config)
        except Exception as error:
            failed += 1
            print(f"failed  {name}: {shown(error)}", flush=True)
            continue
        (out / f"{name}.json").write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
        absent = {w["absent"] for w in found["workloads"] if "absent" in w}
        print(f"wrote   {name}", *(f"(decode absent: {why})" for why in absent), flush=True)
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["make"])
    parser.add_argument("--only", default="", metavar="TEXT", help="names that contain TEXT")
    parser.add_argument("--out", type=Path, default=GOLDENS, metavar="PATH")
    args = parser.parse_args()
    return make(args.only, args.out)


if __name__ == "__main__":
    sys.exit(main())
