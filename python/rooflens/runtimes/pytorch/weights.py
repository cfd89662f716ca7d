"""Random weights: the same from the same seed, in memory or as a checkpoint for other runtimes."""

import hashlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any, Dict

from rooflens.workload.errors import WorkloadError
from rooflens.workload.spec import Spec


# A folder with this file asks for random weights where nothing else is said.
RANDOM_MARK = "weights.random"
CHECKPOINTS = ("*.safetensors", "pytorch_model*.bin")


def source(spec: Spec, folder: Path) -> str:
    """`checkpoint` or `random`. Random weights are never a fallback: somebody has to ask for them."""
    chosen = spec.choice("model.weights", ("auto", "random", "checkpoint"))
    if chosen != "auto":
        return chosen
    if any(True for pattern in CHECKPOINTS for _ in folder.glob(pattern)):
        return "checkpoint"
    if (folder / RANDOM_MARK).is_file():
        return "random"
    raise WorkloadError(
        f"model.path has no weights: {folder}",
        "link them (rooflens assets status), or set model.weights=random",
    )


def model_class(config: Any, kwargs: Dict[str, Any]) -> Any:
    """The class of transformers that makes text from what the config describes."""
    import transformers

    if type(config) in getattr(transformers, "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING", {}):
        return transformers.AutoModelForImageTextToText
    # Code that comes with a model says itself which class is for what.
    by_code = getattr(config, "auto_map", None) or {}
    if kwargs.get("trust_remote_code") and "AutoModelForCausalLM" not in by_code and "AutoModel" in by_code:
        return transformers.AutoModel
    return transformers.AutoModelForCausalLM


def dtype_argument(dtype: Any) -> Dict[str, Any]:
    """`dtype=`, which was `torch_dtype=` before transformers 4.56."""
    import transformers

    major, minor = (int(part) for part in transformers.__version__.split(".")[:2])
    return {"dtype" if (major, minor) >= (4, 56) else "torch_dtype": dtype}


def make(config: Any, dtype: Any, seed: int, kwargs: Dict[str, Any]) -> Any:
    """A model with weights drawn from the seed, always on the CPU: devices draw differently."""
    import torch

    torch.manual_seed(seed)
    return model_class(config, kwargs).from_config(config, **dtype_argument(dtype), **kwargs)


def checkpoint(folder: Path, config: Any, dtype: Any, seed: int, kwargs: Dict[str, Any], cache: Path) -> Path:
    """A folder like `folder` but with those weights in it, made once and kept in `cache`."""
    import transformers

    key = hashlib.sha256()
    for part in ((folder / "config.json").read_bytes(), f"{dtype} {seed} {transformers.__version__}".encode()):
        key.update(part)
    target = cache / f"{folder.name}-{key.hexdigest()[:16]}"
    if target.is_dir():
        return target
    cache.mkdir(parents=True, exist_ok=True)
    # Made aside and moved at the end, so that a run which is stopped leaves no half of it.
    draft = Path(tempfile.mkdtemp(prefix=".making-", dir=cache))
    try:
        make(config, dtype, seed, kwargs).save_pretrained(draft)
        for file in folder.iterdir():
            if file.is_file() and (file.name == "config.json" or not (draft / file.name).exists()):
                shutil.copyfile(file, draft / file.name)
        os.replace(draft, target)
    except OSError:
        if not target.is_dir():  # another process may have been first
            raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return target
