"""Pictures for DeepSeek-OCR: its code has no processor of its own, only `infer`, which prepares and generates at once.

A picture becomes a square view of it, filled up with grey, and with `crop_mode` a grid of crops where it is larger than
one. Every `downsample_ratio`² patches are a token; a token ends each row, and one more stands behind the view.
"""

import math
from dataclasses import dataclass, fields
from typing import Any, Dict, List, Tuple

from rooflens.workload.errors import WorkloadError

ARCHITECTURE = "DeepseekOCRForCausalLM"
GREY = 127
# How many crops the model's own code makes of a picture.
CROPS = (2, 9)
# Up to this size a picture that is not cropped is resized as it is, without filling up.
STRETCHED = 640


@dataclass
class Preprocess:
    """`model.preprocess`, with what `infer` has by default."""

    base_size: int = 1024
    image_size: int = 640
    crop_mode: bool = True
    patch_size: int = 16
    downsample_ratio: int = 4

    @classmethod
    def read(cls, options: Dict[str, Any]) -> "Preprocess":
        known = {field.name: type(field.default) for field in fields(cls)}
        for key, value in options.items():
            if key not in known:
                raise WorkloadError(f"DeepSeek-OCR has no model.preprocess.{key}", f"it takes {', '.join(known)}")
            is_wrong = type(value) is not known[key] or (known[key] is int and value < 1)
            if is_wrong:
                wanted = "true or false" if known[key] is bool else "a whole number of at least 1"
                raise WorkloadError(f"model.preprocess.{key} is {value!r}, not {wanted}", f"set model.preprocess.{key}")
        return cls(**options)

    def side(self, pixels: int) -> int:
        return math.ceil((pixels // self.patch_size) / self.downsample_ratio)


class DeepseekOcrProcessor:
    image_token = "<image>"
    chat_template = None

    def __init__(self, tokenizer: Any):
        self.tokenizer = tokenizer
        self.image_token_id = tokenizer.convert_tokens_to_ids(self.image_token)
        # That of the model, which its code does not convert to.
        self.dtype: Any = None

    def check(self, options: Dict[str, Any]) -> None:
        Preprocess.read(options)

    def __call__(self, text: List[str], images: List[Any], padding: bool, return_tensors: str, **options: Any) -> Any:
        import torch

        preprocess = Preprocess.read(options)
        parts = [self._one(preprocess, prompt, image) for prompt, image in zip(text, images)]
        width = max(len(ids) for ids, *_ in parts)
        rows, masks, picture_masks = [], [], []
        for ids, is_picture, *_ in parts:
            left = width - len(ids)
            rows.append([self.tokenizer.pad_token_id] * left + ids)
            masks.append([0] * left + [1] * len(ids))
            picture_masks.append([False] * left + is_picture)
        return {
            "input_ids": torch.tensor(rows),
            "attention_mask": torch.tensor(masks),
            "images": [(crops, view) for _, _, crops, view, _ in parts],
            "images_seq_mask": torch.tensor(picture_masks),
            "images_spatial_crop": torch.tensor([grid for *_, grid in parts]),
            "views": " ".join(views_of(preprocess, crops, view) for _, _, crops, view, _ in parts),
        }

    def _one(self, preprocess: Preprocess, prompt: str, image: Any) -> Tuple[Any, ...]:
        import torch

        before, _, after = prompt.partition(self.image_token)
        if self.image_token in after:
            raise WorkloadError("the prompt has more than one image", "set dataset.prompt with one <image>")
        grid, crops = (1, 1), []
        if preprocess.crop_mode and max(image.size) > preprocess.image_size:
            grid, crops = cut(image, preprocess.image_size)
        pixels = preprocess.base_size if preprocess.crop_mode else preprocess.image_size
        is_stretched = not preprocess.crop_mode and preprocess.image_size <= STRETCHED
        view = image.resize((pixels, pixels)) if is_stretched else fill_up(image, pixels)
        side, crop_side = preprocess.side(pixels), preprocess.side(preprocess.image_size)
        tokens = side * (side + 1) + 1
        if crops:
            tokens += crop_side * grid[1] * (crop_side * grid[0] + 1)
        encode = lambda words: self.tokenizer.encode(words, add_special_tokens=False)  # noqa: E731
        first, last = [self.tokenizer.bos_token_id] + encode(before), encode(after)
        ids = first + [self.image_token_id] * tokens + last
        is_picture = [False] * len(first) + [True] * tokens + [False] * len(last)
        # Without crops the model's code wants zeros, and looks whether there is anything else.
        nothing = torch.zeros((1, 3, preprocess.base_size, preprocess.base_size), dtype=self.dtype)
        stacked = torch.stack([self._tensor(crop) for crop in crops]) if crops else nothing
        return ids, is_picture, stacked, self._tensor(view)[None], list(grid)

    def _tensor(self, image: Any) -> Any:
        """Channels first, from -1 to 1."""
        import numpy
        import torch

        pixels = torch.from_numpy(numpy.array(image)).permute(2, 0, 1)
        return (pixels.to(torch.float32) / 255 - 0.5).div(0.5).to(self.dtype or torch.float32)


def views_of(preprocess: Preprocess, crops: Any, view: Any) -> str:
    """Patches of what the encoder looks at, as steps.csv has them."""
    looked = [view.shape[-1]] + ([crops.shape[-1]] * len(crops) if crops.any() else [])
    return " ".join(f"{pixels // preprocess.patch_size}x{pixels // preprocess.patch_size}" for pixels in looked)


def fill_up(image: Any, pixels: int) -> Any:
    from PIL import ImageOps

    return ImageOps.pad(image, (pixels, pixels), color=(GREY, GREY, GREY))


def cut(image: Any, pixels: int) -> Tuple[Tuple[int, int], List[Any]]:
    """The grid nearest to the picture's shape, and its crops row by row."""
    columns, rows = nearest_grid(*image.size, pixels)
    resized = image.resize((columns * pixels, rows * pixels))
    corners = [(column * pixels, row * pixels) for row in range(rows) for column in range(columns)]
    return (columns, rows), [resized.crop((x, y, x + pixels, y + pixels)) for x, y in corners]


def nearest_grid(width: int, height: int, pixels: int) -> Tuple[int, int]:
    least, most = CROPS
    sides = range(1, most + 1)
    grids = sorted({(i, j) for i in sides for j in sides if least <= i * j <= most}, key=lambda grid: grid[0] * grid[1])
    best, difference = (1, 1), math.inf
    for columns, rows in grids:
        distance = abs(width / height - columns / rows)
        # Of equally near ones the larger, where the picture fills half of it.
        is_fuller = distance == difference and width * height > 0.5 * pixels * pixels * columns * rows
        if distance < difference or is_fuller:
            best, difference = (columns, rows), distance
    return best
