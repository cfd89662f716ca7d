"""Answers that name boxes: the marks around these are special tokens, and must stay in the text."""

from __future__ import annotations

from typing import Any, List

# DeepSeek-OCR's and DeepSeek-VL2's, then those of Qwen2-VL and its successors.
MARKS = frozenset(
    [
        "<|ref|>", "<|/ref|>", "<|det|>", "<|/det|>",
        "<|object_ref_start|>", "<|object_ref_end|>", "<|box_start|>", "<|box_end|>",
        "<|quad_start|>", "<|quad_end|>",
    ]
)  # fmt: skip


def text_of(tokenizer: Any, ids: List[int]) -> str:
    """The answer without special tokens, but for the marks of boxes."""
    marks = {tokenizer.convert_tokens_to_ids(mark) for mark in MARKS}
    marks -= {None, tokenizer.unk_token_id}
    if marks.isdisjoint(ids):
        return tokenizer.decode(ids, skip_special_tokens=True)
    special = set(tokenizer.all_special_ids) - marks
    return tokenizer.decode([token for token in ids if token not in special], skip_special_tokens=False)
