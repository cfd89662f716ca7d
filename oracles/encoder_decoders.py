"""How to run an encoder-decoder model: the input goes through the encoder, the decoder starts with
its start token (Whisper: with a prompt) and attends to what the encoder gave.
"""

import torch
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoModelForSeq2SeqLM, AutoModelForSpeechSeq2Seq

CLASSES = {
    **dict.fromkeys(("t5", "mt5", "umt5", "bart", "mbart"), AutoModelForSeq2SeqLM),
    "whisper": AutoModelForSpeechSeq2Seq,
}
# These configuration classes tie the head whatever the file says; the checkpoints whose file says
# false have a head of their own, and `from_pretrained` keeps it: it never ties weights that differ.
OWN_HEAD = ("t5", "mt5", "umt5")
# Batch, tokens that the encoder reads, tokens in the decoder's cache.
DECODES = [(1, 53, 64), (2, 20, 97), (3, 111, 7)]


def finished(model, config: dict):
    if config["model_type"] in OWN_HEAD and config.get("tie_word_embeddings") is False:
        model.lm_head.weight = torch.nn.Parameter(torch.empty_like(model.lm_head.weight))
    return model


def encoder_input(model, batch: int, tokens: int) -> dict:
    """Tokens, or the frames of sound that a Whisper model always reads: two a position."""
    if model.config.model_type == "whisper":
        frames = 2 * model.config.max_source_positions
        shape = (batch, model.config.num_mel_bins, frames)
        return {"input_features": torch.zeros(shape, dtype=model.dtype)}
    return {"input_ids": torch.zeros(batch, tokens, dtype=torch.long)}


def run(model, batch: int, new: int, **options):
    tokens = torch.zeros(batch, new, dtype=torch.long)
    return model(decoder_input_ids=tokens, **options)


def prefill(model, batch: int, tokens: int) -> FlopCounterMode:
    """The input through the encoder and the decoder's first pass."""
    new = tokens if model.config.model_type == "whisper" else 1
    with model.device, torch.no_grad(), FlopCounterMode(display=False) as counter:
        run(model, batch, new, use_cache=False, **encoder_input(model, batch, tokens))
    return counter


def decode(model, batch: int, tokens: int, past: int) -> tuple[FlopCounterMode, dict]:
    """One token a sequence after `past` of the decoder, and what the caches held before it."""
    with model.device, torch.no_grad():
        filled = run(model, batch, past, use_cache=True, **encoder_input(model, batch, tokens))
        caches = filled.past_key_values
        held = {
            prefix + name: sum(getattr(layer, name).numel() for layer in cache.layers)
            for prefix, cache in (("", caches.self_attention_cache),
                                  ("cross_", caches.cross_attention_cache))
            for name in ("keys", "values")
        }
        seen = (filled.encoder_last_hidden_state,)
        with FlopCounterMode(display=False) as counter:
            run(model, batch, 1, use_cache=True, past_key_values=caches, encoder_outputs=seen)
    return counter, held
