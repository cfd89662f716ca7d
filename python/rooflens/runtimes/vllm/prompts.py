"""Prompts and sampling in vLLM's terms, the same tokens as every other runtime gets."""

from __future__ import annotations

from typing import Any, Dict

from rooflens.runtimes.engines import sampling_options, token_ids
from rooflens.runtimes.pytorch.inputs import picture_prompt
from rooflens.runtimes.vllm.engine import Loaded
from rooflens.workload import pictures
from rooflens.workload.dataset import Sample
from rooflens.workload.errors import WorkloadError
from rooflens.workload.spec import Spec


def prepare(spec: Spec, loaded: Loaded, sample: Sample) -> Dict[str, Any]:
    if sample.is_image:
        if loaded.processor is None:
            raise WorkloadError(
                "dataset.kind is image, but the model has no image processor", "set dataset.kind=text"
            )
        # vLLM puts the picture's tokens in itself.
        text = picture_prompt(loaded.processor, sample.text)
        return {"prompt": text, "multi_modal_data": {"image": pictures.open_upright(sample.path).image}}
    return {"prompt_token_ids": token_ids(spec, loaded.tokenizer, sample)}


def no_repeat_ngram_size(spec: Spec) -> int:
    """0 where tokens may repeat."""
    if spec.get("infer.no_repeat_ngram_size", None) is None:
        return 0
    return spec.count("infer.no_repeat_ngram_size", least=0)


def sampling(spec: Spec, seed: int) -> Any:
    from vllm import SamplingParams

    # A temperature of 0 is vLLM's word for greedy.
    options = sampling_options(spec, seed, {"temperature": 0.0})
    if no_repeat_ngram_size(spec):
        # Of the answer alone; transformers looks at the prompt, too.
        options["extra_args"] = {"ngram_size": no_repeat_ngram_size(spec), "window_size": 1 << 30}
    return SamplingParams(**options)
