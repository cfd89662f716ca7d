"""What happened, as rows: the steps and requests of a batch, and the facts of the whole pass."""

from __future__ import annotations

import json
from typing import Any, Dict, List

from rooflens.runtimes.pytorch.decode import Generated, logits_arguments
from rooflens.runtimes.pytorch.inputs import Batch
from rooflens.runtimes.pytorch.model import Loaded
from rooflens.workload.dataset import Round
from rooflens.workload.events import SCHEMA, Events
from rooflens.workload.records import Request, Step
from rooflens.workload.spec import Spec


def steps(round_: Round, batch_index: int, batch: Batch, made: Generated) -> List[Step]:
    """A row for each step; the time of a step lies between two marks."""
    rows = []
    prompt_tokens = sum(batch.lengths)
    for step in range(made.steps):
        is_prefill = step == 0
        rows.append(
            Step(
                round=round_.number,
                kind=round_.kind,
                batch_index=batch_index,
                step=step,
                phase="prefill" if is_prefill else "decode",
                batch=batch.size,
                prefill_tokens=prompt_tokens if is_prefill else 0,
                decode_tokens=0 if is_prefill else batch.size,
                computed_tokens=batch.size * (batch.width if is_prefill else 1),
                kv_tokens=prompt_tokens + step * batch.size,
                cache_length=batch.width + step,
                prompts=" ".join(f"{length}@0" for length in batch.lengths) if is_prefill else "",
                pictures=batch.pictures if is_prefill else "none",
                kv_usage=None,
                waiting=None,
                start_ns=made.marks_ns[step],
                dur_ns=made.marks_ns[step + 1] - made.marks_ns[step],
            )
        )
    return rows


def requests(round_: Round, batch_index: int, ids: List[str], batch: Batch, made: Generated) -> List[Request]:
    return [
        Request(
            round=round_.number,
            kind=round_.kind,
            batch_index=batch_index,
            sample=sample,
            prompt_tokens=length,
            output_tokens=len(tokens),
            start_ns=made.marks_ns[0],
            queued_ns=None,
            token_ns=made.marks_ns[1 : len(tokens) + 1],
            finish="stop" if ended else "length",
        )
        for sample, length, tokens, ended in zip(ids, batch.lengths, made.tokens, made.ended)
    ]


def write(spec: Spec, events: Events, loaded: Loaded, clock_source: str, ranges: Dict[str, Any]) -> None:
    """workload.json: what must be known to read the other files."""
    import torch

    record = {
        "schema": SCHEMA,
        "runtime": "pytorch",
        "pass": spec.pass_name,
        "clock": clock_source,
        "time_of_a_step": "from the mark before its forward pass to the mark after the choice of its token",
        "max_new_tokens": spec.max_new_tokens,
        "batch_size": spec.count("runtime.batch_size"),
        "do_sample": spec.flag("infer.do_sample", False),
        "ignore_eos": spec.flag("infer.ignore_eos", False),
        # Rows that the head is run for: the last of each sequence, or all.
        "logits": "last" if logits_arguments(loaded.model) else "all",
        "threads": torch.get_num_threads(),
        "memory_snapshot": "memory_snapshot.pickle" if (spec.output / "memory_snapshot.pickle").exists() else None,
        **ranges,
    }
    path = spec.output / "workload.json"
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    events.file(path, "workload")
