"""Pictures as a model is to see them: upright, in RGB; what is recorded of each; and answers that name boxes in them."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List

from rooflens.workload.errors import WorkloadError

ORIENTATION = 0x0112  # the tag of EXIF


@dataclass(frozen=True)
class Picture:
    """An open picture. `record` goes into predictions.jsonl, so that boxes of an answer find their pixels."""

    image: Any
    record: Dict[str, Any] = field(default_factory=dict)


def open_upright(path: Path) -> Picture:
    """Turned as its EXIF data say, as every viewer shows it: a model that sees it so answers with boxes there."""
    from PIL import Image, ImageOps, UnidentifiedImageError

    try:
        with Image.open(path) as stored:
            orientation = stored.getexif().get(ORIENTATION, 1)
            image = ImageOps.exif_transpose(stored).convert("RGB")
    except UnidentifiedImageError:
        raise WorkloadError(f"not an image: {path}", "set dataset.patterns to image files only")
    record = {
        "width": image.width, "height": image.height, "orientation": orientation, "exif_transposed": True,
        "input_width": None, "input_height": None,
    }
    return Picture(image, record)


# Marks of boxes are special tokens, and must stay in the text.
# DeepSeek-OCR's and DeepSeek-VL2's, then those of Qwen2-VL and its successors.
MARKS = frozenset(
    [
        "<|ref|>", "<|/ref|>", "<|det|>", "<|/det|>",
        "<|object_ref_start|>", "<|object_ref_end|>", "<|box_start|>", "<|box_end|>",
        "<|quad_start|>", "<|quad_end|>",
    ]
)  # fmt: skip


def text_of(tokenizer: Any, ids: List[int]) -> str:
    """The answer without special tokens, except the marks of boxes."""
    marks = {tokenizer.convert_tokens_to_ids(mark) for mark in MARKS}
    marks -= {None, tokenizer.unk_token_id}
    if marks.isdisjoint(ids):
        return tokenizer.decode(ids, skip_special_tokens=True)
    special = set(tokenizer.all_special_ids) - marks
    return tokenizer.decode([token for token in ids if token not in special], skip_special_tokens=False)
