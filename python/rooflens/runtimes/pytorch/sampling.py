"""Which token comes next: the same one that `model.generate` would take."""

from typing import Any, Dict, List, Optional, Tuple

from rooflens.runtimes.pytorch.model import Loaded
from rooflens.workload.spec import Spec

# Keys of `infer` that are transformers' own, handed on when they are set.
HANDED_ON = (
    "temperature", "top_p", "top_k", "min_p", "typical_p", "repetition_penalty", "no_repeat_ngram_size",
)


class TokenChoice:
    """Greedy or sampled. `infer` goes before the model's generation_config.json, as in `generate`."""

    def __init__(self, spec: Spec, loaded: Loaded):
        self.do_sample = spec.flag("infer.do_sample", False)
        self._loaded = loaded
        self._options: Dict[str, Any] = {"do_sample": self.do_sample}
        for key in HANDED_ON:
            if spec.get(f"infer.{key}", None) is not None:
                self._options[key] = spec.get(f"infer.{key}")
        self._ignore_eos = spec.flag("infer.ignore_eos", False)

    def begin(self, input_ids: Any, new_tokens: int) -> "Chooser":
        model = self._loaded.model
        config, _ = model._prepare_generation_config(None, **self._options, max_new_tokens=new_tokens)
        if self._ignore_eos:
            config.eos_token_id = None
        if config.pad_token_id is None:
            config.pad_token_id = self._loaded.tokenizer.pad_token_id
        model._prepare_special_tokens(config, True, device=input_ids.device)
        processors = model._get_logits_processor(
            generation_config=config,
            input_ids_seq_length=input_ids.shape[1],
            encoder_input_ids=input_ids,
            prefix_allowed_tokens_fn=None,
            logits_processor=[],
            device=input_ids.device,
            model_kwargs={},
        )
        return Chooser(input_ids, processors, self.do_sample, config._eos_token_tensor, config._pad_token_tensor)


class Chooser:
    """The choice for one batch, from its first token to its last."""

    def __init__(self, input_ids: Any, processors: Any, do_sample: bool, eos: Optional[Any], pad: Optional[Any]):
        import torch

        self._torch = torch
        self._processors = processors if len(processors) else None
        self._sequences = input_ids if self._processors else None
        self._do_sample = do_sample
        self._eos = eos
        self._pad = pad
        self._going_on = torch.ones(input_ids.shape[0], dtype=torch.long, device=input_ids.device)
        self.is_over = False

    def next(self, logits: Any) -> Any:
        """The next token of each sequence, from the logits of its last position."""
        torch = self._torch
        # In single precision, as in `generate`: rounding decides between tokens that are close.
        scores = logits[:, -1].to(copy=True, dtype=torch.float32)
        if self._processors is not None:
            scores = self._processors(self._sequences, scores)
        if self._do_sample:
            tokens = torch.multinomial(torch.softmax(scores, dim=-1), num_samples=1).squeeze(1)
        else:
            tokens = torch.argmax(scores, dim=-1)
        if self._eos is not None:
            tokens = tokens * self._going_on + self._pad * (1 - self._going_on)
            self._going_on = self._going_on & ~torch.isin(tokens, self._eos)
            # Only here must the host know what the device found.
            self.is_over = not bool(self._going_on.any())
        if self._processors is not None:
            self._sequences = torch.cat([self._sequences, tokens[:, None]], dim=-1)
        return tokens

    def ends(self, made: Any) -> List[Tuple[int, bool]]:
        """For each row of tokens, how many are its own and whether the last of them ended it."""
        if self._eos is None:
            return [(made.shape[1], False)] * made.shape[0]
        is_end = self._torch.isin(made, self._eos)
        return [(int(row.nonzero()[0, 0]) + 1, True) if row.any() else (len(row), False) for row in is_end]
