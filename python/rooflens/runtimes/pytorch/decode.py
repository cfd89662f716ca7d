"""The loop: one forward pass over the prompts, then one for every further token.

It is kept bare. Whatever can be made before the first step (masks, positions, events) is made there;
whatever is told is told after the last. The time between two marks is the time of a step, all of it.
"""

import contextlib
import inspect
from dataclasses import dataclass
from typing import Any, Dict, List

from rooflens.runtimes.pytorch.inputs import Batch
from rooflens.runtimes.pytorch.model import Loaded
from rooflens.runtimes.pytorch.sampling import TokenChoice
from rooflens.workload.errors import WorkloadError

# What models call the state that they hand from a step to the next.
CACHES = ("past_key_values", "cache_params", "state")


@dataclass
class Generated:
    """What came of a batch: the tokens of each sequence, and the marks between steps."""

    tokens: List[List[int]]
    # Whether the last of them was the end-of-text token.
    ended: List[bool]
    marks_ns: List[int]

    @property
    def steps(self) -> int:
        return len(self.marks_ns) - 1


def logits_arguments(model: Any) -> List[str]:
    """What asks for logits of the last position, which are all that is needed; older models name it otherwise."""
    accepted = inspect.signature(model.forward).parameters
    return [key for key in ("logits_to_keep", "num_logits_to_keep") if key in accepted]


class Decoder:
    """Runs batches through a model. `ranges` names the steps for a profiler, or does nothing."""

    def __init__(self, loaded: Loaded, choice: TokenChoice, clock: Any, ranges: Any):
        self._loaded = loaded
        self._choice = choice
        self._clock = clock
        self._ranges = ranges
        self._common: Dict[str, Any] = {"use_cache": True, "return_dict": True}
        self._common.update({key: 1 for key in logits_arguments(loaded.model)})

    def run(self, batch: Batch, new_tokens: int, seed: int, label: str) -> Generated:
        import torch

        torch.manual_seed(seed)
        chooser = self._choice.begin(batch.input_ids, new_tokens)
        forward, clock, ranges = self._loaded.forward, self._clock, self._ranges
        made = []
        with torch.inference_mode(), ranges.batch(label):
            clock.start(new_tokens)
            with ranges.prefill():
                outputs = forward(
                    input_ids=batch.input_ids, **self._at(batch, 0, batch.width), **batch.extra, **self._common
                )
                tokens = chooser.next(outputs.logits)
            clock.mark()
            made.append(tokens)
            cache_name = find_cache(outputs)
            cache = outputs[cache_name]
            with ranges.decoding(), decode_kernels(self._loaded):
                for step in range(1, new_tokens):
                    if chooser.is_over:
                        break
                    end = batch.width + step
                    with ranges.decode(step):
                        outputs = forward(
                            input_ids=tokens[:, None],
                            **{cache_name: cache},
                            **self._at(batch, end - 1, end),
                            **self._common,
                        )
                        tokens = chooser.next(outputs.logits)
                    clock.mark()
                    made.append(tokens)
            marks_ns = clock.finish()
        rows = torch.stack(made, dim=1)
        ends = chooser.ends(rows)
        tokens_made = [row[:length] for row, (length, _) in zip(rows.tolist(), ends)]
        return Generated(tokens_made, [ended for _, ended in ends], marks_ns)

    def _at(self, batch: Batch, begin: int, end: int) -> Dict[str, Any]:
        """Mask and positions of the tokens from `begin` to `end`: views, nothing is copied."""
        where: Dict[str, Any] = {}
        if batch.mask is not None:
            where["attention_mask"] = batch.mask[:, :end]
        if batch.positions is not None:
            where["position_ids"] = batch.positions[..., begin:end]
        return where


def find_cache(outputs: Any) -> str:
    for name in CACHES:
        if outputs.get(name) is not None:
            return name
    raise WorkloadError("the model returns no KV cache, so it cannot be run token by token", "runtime=command")


def decode_kernels(loaded: Loaded) -> Any:
    """Kernels for few tokens, where transformers would change to them for decoding: MoE on a GPU."""
    switch = getattr(loaded.model, "_optimize_model_for_decode", None)
    return switch() if switch is not None and loaded.device.type != "cpu" else contextlib.nullcontext()
