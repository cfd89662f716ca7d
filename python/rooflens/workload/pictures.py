"""Pictures as a model is to see them: upright, in RGB; and what is recorded of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict

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
