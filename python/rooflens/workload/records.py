"""The tables a workload leaves: steps.csv, requests.jsonl, tokens.jsonl, predictions.jsonl.

They are written between batches, never inside a timed region, and flushed each time.
"""

import csv
import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import IO, Any, Dict, List, Optional

from rooflens.workload.events import SCHEMA, Events, encode
from rooflens.workload.spec import Spec


@dataclass(frozen=True)
class Step:
    """One forward pass. What is not known is null, an empty cell in steps.csv."""

    round: int
    # warmup, measured, profiled, predicted.
    kind: str
    # Number of the batch in its round; null where an engine makes batches of its own.
    batch_index: Optional[int]
    # Number of the token it makes for its batch (prefill 0), or of the engine's step in its round.
    step: int
    # prefill, decode, mixed.
    phase: str
    # Sequences in it.
    batch: int
    # Prompt tokens read, padding not counted.
    prefill_tokens: int
    # Sequences that go on by one token.
    decode_tokens: int
    # Tokens that went through the model, padding counted.
    computed_tokens: Optional[int]
    # Tokens attended to, over all sequences, padding not counted; those of this step are among them.
    kv_tokens: Optional[int]
    # Positions in the cache after it, for each sequence, padding counted.
    cache_length: Optional[int]
    # The prompts that are read, padding not counted: tokens of each and, after the @, those of it that stand in
    # the cache already, as `17@0 24@512`. Empty where none is read.
    prompts: str
    # Patches of each picture, rows and columns, as `4x6 6x6`; `none` where there is none.
    pictures: Optional[str]
    # Part of the cache that is taken, 0 to 1.
    kv_usage: Optional[float]
    # Requests that wait for their turn.
    waiting: Optional[int]
    start_ns: int
    dur_ns: int


@dataclass(frozen=True)
class Request:
    """One sequence, and when each of its tokens was there."""

    round: int
    kind: str
    batch_index: Optional[int]
    sample: str
    prompt_tokens: int
    output_tokens: int
    # When the prompt was given to the runtime.
    start_ns: int
    # From there to its first step; null where nothing queues.
    queued_ns: Optional[int]
    token_ns: List[int]
    # length: as many as asked for; stop: the end-of-text token.
    finish: str


@dataclass(frozen=True)
class Tokens:
    round: int
    sample: str
    # The seed set before its batch: with it, `model.generate` draws the same tokens.
    seed: int
    prompt_ids: List[int]
    output_ids: List[int]
    text: str


class Records:
    def __init__(self, output: Path, keeps_predictions: bool):
        self._output = output
        self._files: Dict[str, IO[str]] = {}
        self._steps = csv.writer(self._open("steps.csv"), lineterminator="\n")
        self._steps.writerow([field.name for field in fields(Step)])
        self._open("requests.jsonl")
        self._open("tokens.jsonl")
        if keeps_predictions:
            self._open("predictions.jsonl")

    def _open(self, name: str) -> IO[str]:
        # Line ends as everywhere else, whatever csv and the platform prefer.
        self._files[name] = open(self._output / name, "w", encoding="utf-8", newline="")
        return self._files[name]

    def __enter__(self) -> "Records":
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files.values():
            file.close()

    def add_steps(self, steps: List[Step]) -> None:
        self._steps.writerows(asdict(step).values() for step in steps)
        self._files["steps.csv"].flush()

    def add_requests(self, requests: List[Request]) -> None:
        self._add("requests.jsonl", [asdict(request) for request in requests])

    def add_tokens(self, tokens: List[Tokens]) -> None:
        self._add("tokens.jsonl", [asdict(record) for record in tokens])

    def add_predictions(self, predictions: List[Dict[str, Any]]) -> None:
        if "predictions.jsonl" in self._files:
            self._add("predictions.jsonl", predictions)

    def _add(self, name: str, records: List[Dict[str, Any]]) -> None:
        for record in records:
            self._files[name].write(encode(record).decode())
        self._files[name].flush()

    def tell(self, events: Events) -> None:
        for name in self._files:
            events.file(self._output / name, name.split(".")[0])


def write_facts(spec: Spec, events: Events, clock: str, **facts: Any) -> None:
    """workload.json: what must be known to read the other files."""
    record = {
        "schema": SCHEMA,
        "runtime": spec.text("runtime.name"),
        "pass": spec.pass_name,
        "clock": clock,
        "max_new_tokens": spec.max_new_tokens,
        "batch_size": spec.count("runtime.batch_size"),
        "do_sample": spec.flag("infer.do_sample", False),
        "ignore_eos": spec.flag("infer.ignore_eos", False),
        **facts,
    }
    path = spec.output / "workload.json"
    path.write_text(json.dumps(record, indent=1, default=str) + "\n", encoding="utf-8")
    events.file(path, "workload")
