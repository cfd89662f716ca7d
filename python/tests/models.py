"""The three checkpoints of the tests, made once a process, and a model loaded as the workload does."""

import atexit
import functools
import shutil
import tempfile
from pathlib import Path
from typing import Any, Dict, List, Optional

from rooflens import tiny
from rooflens.runtimes.pytorch import inputs, model
from rooflens.runtimes.pytorch.decode import Decoder, Generated
from rooflens.runtimes.pytorch.ranges import NoRanges
from rooflens.runtimes.pytorch.sampling import TokenChoice
from rooflens.workload.clock import HostClock
from rooflens.workload.dataset import Sample
from rooflens.workload.events import Events
from rooflens.workload.spec import Spec
from tests.support import config

# Ragged on purpose: a batch of them is padded.
PROMPTS = ["Ba ce di.", "A much longer one, with 17 numbers and more of them: 3, 1, 4, 1, 5.", "Do re mi fa so."]


@functools.cache
def root() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="rooflens-models-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@functools.cache
def checkpoint(kind: str) -> Path:
    folder = root() / kind
    folder.mkdir()
    tiny.MAKERS[kind](folder)
    return folder


def spec_for(kind: str, changes: Optional[Dict[str, Any]] = None) -> Spec:
    values = {"model.path": str(checkpoint(kind)), "model.weights": "checkpoint", "model.dtype": "fp32"}
    record = {"config": config({**values, **(changes or {})}), "project": "/", "pass": "measure"}
    return Spec.of({**record, "output": str(root() / "output")})


@functools.cache
def loaded(kind: str) -> model.Loaded:
    spec = spec_for(kind)
    with Events.open(spec.output) as events:
        return model.load(spec, events)


def texts(count: int) -> List[Sample]:
    return [Sample(f"{i}.txt", Path(f"{i}.txt"), PROMPTS[i], False) for i in range(count)]


def pictures(count: int) -> List[Sample]:
    """Noise of different sizes: the same question, but sequences of different length."""
    import numpy
    from PIL import Image

    samples = []
    for i in range(count):
        path = root() / f"picture-{i}.png"
        noise = numpy.random.default_rng(i).integers(0, 255, (56 + 28 * i, 84, 3), dtype=numpy.uint8)
        Image.fromarray(noise).save(path)
        samples.append(Sample(path.name, path, "What is in it?", True))
    return samples


def decode(spec: Spec, kind: str, batch: inputs.Batch, seed: int = 0) -> Generated:
    which = loaded(kind)
    decoder = Decoder(which, TokenChoice(spec, which), HostClock(), NoRanges())
    return decoder.run(batch, spec.max_new_tokens, seed, "0.0")


def generate(kind: str, batch: inputs.Batch, new_tokens: int, seed: int = 0, **options: Any) -> List[List[int]]:
    import torch

    which = loaded(kind)
    mask = batch.mask[:, : batch.width] if batch.mask is not None else torch.ones_like(batch.input_ids)
    torch.manual_seed(seed)
    made = which.model.generate(
        input_ids=batch.input_ids, attention_mask=mask, max_new_tokens=new_tokens, **batch.extra, **options
    )
    return made[:, batch.width :].tolist()
