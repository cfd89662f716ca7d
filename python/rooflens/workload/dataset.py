"""The samples, and the rounds over them."""

import random
from dataclasses import dataclass
from pathlib import Path
from typing import List, Optional

from rooflens.workload import jsonl
from rooflens.workload.errors import WorkloadError
from rooflens.workload.spec import Spec

# What is asked about a picture when dataset.prompt says nothing.
PICTURE_PROMPT = "Describe this picture."


@dataclass(frozen=True)
class Sample:
    """A prompt. `id` is its path from the dataset's root; of a line of a JSONL file, `path:line`."""

    id: str
    path: Path
    # What the model is asked; of an image sample, what is asked about the picture.
    text: str
    is_image: bool
    # A chat, for the model's chat template to render; null where the prompt is `text` alone.
    messages: Optional[List[jsonl.Message]] = None


@dataclass(frozen=True)
class Round:
    """A pass over the samples of one epoch, cut into batches."""

    number: int
    # warmup, measured, profiled or predicted.
    kind: str
    epoch: int
    batches: List[List[Sample]]


def load(spec: Spec) -> List[Sample]:
    root = spec.path("dataset.root")
    if not root.is_dir():
        raise WorkloadError(f"dataset.root is not a folder: {root}", "rooflens assets status")
    kind = spec.choice("dataset.kind", ("text", "image", "jsonl"))
    names = list_names(spec, root)
    if kind == "jsonl":
        samples = [sample for name in names for sample in read_lines(spec, root, name)]
        refuse_mixture(samples)
    else:
        samples = [read(spec, root, name, kind == "image") for name in names]
    if not samples:
        raise WorkloadError(f"no sample in {root}", f"dataset.patterns is {spec.get('dataset.patterns', None)}")
    return samples


def list_names(spec: Spec, root: Path) -> List[str]:
    if spec.get("dataset.filelist", None) is not None:
        filelist = spec.path("dataset.filelist")
        if not filelist.is_file():
            raise WorkloadError(f"dataset.filelist is not a file: {filelist}", "rooflens assets subset creates one")
        lines = filelist.read_text(encoding="utf-8").splitlines()
        return [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    patterns = spec.names("dataset.patterns")
    found = {path for pattern in patterns for path in root.glob(pattern) if path.is_file()}
    return sorted(path.relative_to(root).as_posix() for path in found)


def find(root: Path, name: str) -> Path:
    path = root / name
    if not path.is_file():
        raise WorkloadError(f"a sample is missing: {path}", "rooflens assets verify")
    return path


def read_lines(spec: Spec, root: Path, name: str) -> List[Sample]:
    path, field = find(root, name), spec.get("dataset.field", None)
    samples = []
    for place, prompt in jsonl.prompts(path, name, "prompt" if field is None else spec.text("dataset.field")):
        if isinstance(prompt, str):
            samples.append(Sample(place, path, prompt, False))
        else:
            text = "\n".join(f"{message['role']}: {message['content']}" for message in prompt)
            samples.append(Sample(place, path, text, False, prompt))
    return samples


def refuse_mixture(samples: List[Sample]) -> None:
    """A batch is either texts or chats: a chat template brings its own special tokens."""
    for sample in samples[1:]:
        if (sample.messages is None) != (samples[0].messages is None):
            words = ["a text" if one.messages is None else "a chat" for one in (samples[0], sample)]
            raise WorkloadError(
                f"the prompt of {sample.id} is {words[1]}, that of {samples[0].id} is {words[0]}",
                "a dataset has prompts or chats, not both: select the files with dataset.patterns",
            )


def read(spec: Spec, root: Path, name: str, is_image: bool) -> Sample:
    path = find(root, name)
    if is_image:
        return Sample(name, path, spec.text("dataset.prompt", PICTURE_PROMPT), True)
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise WorkloadError(f"a prompt is not UTF-8 text: {path}", "set dataset.kind=image for images")
    text = text[:-1] if text.endswith("\n") else text  # editors end a file with it; nobody asks it
    if not text:
        raise WorkloadError(f"a prompt is empty: {path}", "exclude it from dataset.filelist or dataset.patterns")
    return Sample(name, path, text, False)


def epoch(spec: Spec, samples: List[Sample], number: int) -> List[Sample]:
    drawn = list(samples)
    if spec.flag("dataset.sampling.shuffle", False):
        random.Random(f"{spec.get('dataset.sampling.seed', 0)}:{number}").shuffle(drawn)
    most = spec.get("dataset.sampling.samples_per_epoch", None)
    return drawn if most is None else drawn[: spec.count("dataset.sampling.samples_per_epoch")]


def rounds(spec: Spec, samples: List[Sample], batch_size: int) -> List[Round]:
    """What this pass goes through: warm-up rounds first, then the ones that count."""
    epochs = range(spec.count("dataset.sampling.epochs", 1))
    warmup = [0] * spec.count("warmup_rounds", 0, least=0)
    if spec.pass_name == "measure":
        plan = [("warmup", e) for e in warmup]
        plan += [("measured", e) for _ in range(spec.count("repeats", 1)) for e in epochs]
    elif spec.pass_name == "predict":
        plan = [("predicted", e) for e in epochs]
    else:
        # One round is enough to attribute time, and a profiler's output grows with every step.
        plan = [("warmup", e) for e in warmup] + [("profiled", 0)]
    result = []
    for number, (kind, e) in enumerate(plan):
        drawn = epoch(spec, samples, e)
        batches = [drawn[i : i + batch_size] for i in range(0, len(drawn), batch_size)]
        result.append(Round(number, kind, e, batches))
    return result
