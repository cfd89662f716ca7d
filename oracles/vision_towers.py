"""How to show one image to the vision tower of each family, at a size given in patches.

Towers look at their grid's values, so they run with real tensors on the CPU; the made configs
are small enough for that.
"""

import torch

GRIDS = [(1, 8, 12), (2, 6, 10)]  # frames, rows, columns of patches


def images(model):
    """(description, call) of every image that the model's tower is measured with."""
    make = TOWERS.get(model.config.model_type)
    has_tower = getattr(model.config, "vision_config", None) is not None
    return make(model, model.config.vision_config) if make and has_tower else []


def grid_images(model, vision):
    """Qwen: patches of any grid, flattened with the frames they span."""
    width = vision.in_channels * vision.temporal_patch_size * vision.patch_size**2
    for grid in GRIDS:
        pixels = torch.zeros(grid[0] * grid[1] * grid[2], width)
        thw = torch.tensor([grid])
        yield {"grid": list(grid)}, lambda p=pixels, g=thw: model.get_image_features(p, g)


def kimi_images(model, vision):
    """One frame: the tower averages over frames, the model's own split does not expect it."""
    for grid in [(1, rows, columns) for _, rows, columns in GRIDS]:
        pixels = torch.zeros(grid[0] * grid[1] * grid[2], 3, vision.patch_size, vision.patch_size)
        thw = torch.tensor([grid])
        yield {"grid": list(grid)}, lambda p=pixels, g=thw: model.get_image_features(p, g)


def square_image(model, vision):
    """Siglip-like towers: one size, that of the config."""
    size = vision.image_size
    pixels = torch.zeros(1, 3, size, size)
    yield {"height": size, "width": size}, lambda: model.get_image_features(pixels)


def llama4_image(model, vision):
    pixels = torch.zeros(1, 3, vision.image_size, vision.image_size)

    def call():
        seen = model.get_image_features(pixels).last_hidden_state
        model.multi_modal_projector(seen.view(-1, seen.shape[-1]))

    yield {"height": vision.image_size, "width": vision.image_size}, call


def gemma4_image(model, vision):
    rows, columns = 6, 9
    pixels = torch.zeros(1, rows * columns, 3 * vision.patch_size**2)
    places = torch.tensor([[[x, y] for y in range(rows) for x in range(columns)]])
    yield {"grid": [1, rows, columns]}, lambda: model.get_image_features(pixels, places)


def lfm2_image(model, vision):
    rows, columns = 6, 8
    pixels = torch.zeros(1, rows * columns, 3 * vision.patch_size**2)
    shape, mask = torch.tensor([[rows, columns]]), torch.ones(1, rows * columns, dtype=torch.long)
    yield {"grid": [1, rows, columns]}, lambda: model.get_image_features(pixels, shape, mask)


def mllama_image(model, vision):
    tiles, size = vision.max_num_tiles, vision.image_size
    pixels = torch.zeros(1, 1, tiles, 3, size, size)

    def call():
        seen = model.model.vision_model(
            pixel_values=pixels, aspect_ratio_ids=torch.ones(1, 1, dtype=torch.long),
            aspect_ratio_mask=torch.ones(1, 1, tiles, dtype=torch.long)).last_hidden_state
        model.model.multi_modal_projector(seen)

    yield {"tiles": tiles, "height": size, "width": size}, call


TOWERS = {
    "gemma3": square_image, "gemma4": gemma4_image, "kimi_k25": kimi_images,
    "lfm2_vl": lfm2_image, "llama4": llama4_image, "mllama": mllama_image,
    "qwen2_5_vl": grid_images, "qwen3_5": grid_images, "qwen3_5_moe": grid_images,
    "qwen3_vl": grid_images, "qwen3_vl_moe": grid_images, "step3p7": square_image,
}
