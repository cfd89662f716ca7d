"""PyTorch with transformers: prefill and decode, one step at a time, each timed by itself."""

import contextlib
import time
from typing import Any, ContextManager, List

from rooflens.runtimes.pytorch import inputs, memory, model, profiler, ranges
from rooflens.runtimes.pytorch.decode import Decoder, Generated, logits_arguments
from rooflens.runtimes.pytorch.sampling import TokenChoice
from rooflens.workload import clock, dataset
from rooflens.workload.dataset import Round
from rooflens.workload.events import Events
from rooflens.workload.records import Records, Request, Step, Tokens, write_facts
from rooflens.workload.spec import Spec


def run(spec: Spec, events: Events) -> None:
    events.stage = "loading the dataset"
    batch_size = spec.count("runtime.batch_size")
    samples = dataset.load(spec)
    rounds = dataset.rounds(spec, samples, batch_size)

    events.stage = "loading the model"
    loaded = model.load(spec, events)
    events.emit(
        "dataset", name=spec.text("dataset.name"), kind=spec.text("dataset.kind"),
        samples=len(samples), batch_size=batch_size, rounds=len(rounds),
    )
    events.emit("memory", when="loaded", **memory.now(loaded.device))

    workload = Workload(spec, events, loaded)
    events.stage = "preparing the prompts"
    workload.prepare(rounds)
    with Records(spec.output, spec.keeps_predictions) as records, memory.history(spec, loaded.device, events):
        for round_ in rounds:
            events.stage = f"running round {round_.number} ({round_.kind})"
            with workload.watched(round_):
                workload.run_round(round_, records)
        events.stage = "writing results"
        events.emit("memory", when="end", **memory.now(loaded.device))
        memory.write(spec, loaded.device, events)
    records.tell(events)
    snapshot = "memory_snapshot.pickle"
    write_facts(
        spec, events, workload.clock.source,
        time_of_a_step="from the mark before its forward pass to the mark after the choice of its token",
        # Rows that the head is run for: the last of each sequence, or all.
        logits="last" if logits_arguments(loaded.model) else "all",
        threads=threads(), memory_snapshot=snapshot if (spec.output / snapshot).exists() else None,
        **workload.marks.about,
    )


def threads() -> int:
    import torch

    return torch.get_num_threads()


class Workload:
    """A loaded model and all that a round over the samples needs."""

    def __init__(self, spec: Spec, events: Events, loaded: model.Loaded):
        self.spec = spec
        self.events = events
        self.loaded = loaded
        self.clock = clock.for_device(loaded.device)
        self.seed = spec.count("seed", 0, least=0)
        self.marks = ranges.for_pass(spec, loaded)
        self.choice = TokenChoice(spec, loaded)
        self._batches: dict = {}
        self._epochs_told: set = set()

    def prepare(self, rounds: List[Round]) -> None:
        """Tokenises every batch beforehand: it is no part of what is timed."""
        for round_ in rounds:
            for number, samples in enumerate(round_.batches):
                if (round_.epoch, number) not in self._batches:
                    batch = inputs.prepare(self.spec, self.loaded, samples, self.spec.max_new_tokens)
                    self._batches[round_.epoch, number] = batch
                    inputs.note_long(batch, self.loaded, self.events)

    def watched(self, round_: Round) -> ContextManager[Any]:
        """The profiler that this round is under, if any."""
        if round_.kind != "profiled":
            return contextlib.nullcontext()
        if self.spec.pass_name == "torch_profiler":
            return profiler.profiled(self.spec, self.events, self.loaded, self.marks)
        return self.marks.on(self.loaded)

    def run_round(self, round_: Round, records: Records) -> None:
        began_ns = time.monotonic_ns()
        self.events.emit(
            "round_begin", round=round_.number, kind=round_.kind, epoch=round_.epoch, batches=len(round_.batches)
        )
        for number, samples in enumerate(round_.batches):
            self.run_batch(round_, number, [sample.id for sample in samples], records)
        self._epochs_told.update([round_.epoch] if round_.kind != "warmup" else [])
        self.events.emit(
            "round_end", round=round_.number, kind=round_.kind, dur_ns=time.monotonic_ns() - began_ns
        )

    def run_batch(self, round_: Round, number: int, ids: List[str], records: Records) -> None:
        per_batch = self.spec.progress == "batch"
        if per_batch:
            self.events.emit("batch_begin", round=round_.number, batch=number, samples=ids)
        batch = self._batches[round_.epoch, number].to(self.loaded.device)
        decoder = Decoder(self.loaded, self.choice, self.clock, self.marks)
        seed = self.seed + number
        made = decoder.run(batch, self.spec.max_new_tokens, seed, f"{round_.number}.{number}")

        records.add_steps(steps_of(round_, number, batch, made))
        requests = requests_of(round_, number, ids, batch, made)
        records.add_requests(requests)
        if round_.kind != "warmup" and round_.epoch not in self._epochs_told:
            self.keep_tokens(round_, ids, batch, made, seed, records)
        if per_batch:
            self.events.emit(
                "batch_end", round=round_.number, batch=number, samples=ids,
                prompt_tokens=sum(batch.lengths), output_tokens=sum(len(tokens) for tokens in made.tokens),
                start_ns=made.marks_ns[0], first_token_ns=made.marks_ns[1], end_ns=made.marks_ns[-1],
            )

    def keep_tokens(
        self, round_: Round, ids: List[str], batch: inputs.Batch, made: Generated, seed: int, records: Records
    ) -> None:
        kept = [
            Tokens(round_.number, sample, seed, prompt, output, self.loaded.text_of(output))
            for sample, prompt, output in zip(ids, batch.prompt_ids(), made.tokens)
        ]
        records.add_tokens(kept)
        records.add_predictions(
            [
                {
                    "round": t.round, "sample": t.sample, "prompt": prompt, "answer": t.text,
                    "tokens": len(t.output_ids), "picture": picture,
                }
                for t, prompt, picture in zip(kept, batch.texts, batch.records)
            ]
        )


def steps_of(round_: Round, batch_index: int, batch: inputs.Batch, made: Generated) -> List[Step]:
    """A row for each step; the time of a step lies between two marks."""
    rows = []
    prompt_tokens = sum(batch.lengths)
    for step in range(made.steps):
        is_prefill = step == 0
        rows.append(
            Step(
                round=round_.number, kind=round_.kind, batch_index=batch_index, step=step,
                phase="prefill" if is_prefill else "decode", batch=batch.size,
                prefill_tokens=prompt_tokens if is_prefill else 0, decode_tokens=0 if is_prefill else batch.size,
                computed_tokens=batch.size * (batch.width if is_prefill else 1),
                kv_tokens=prompt_tokens + step * batch.size, cache_length=batch.width + step,
                prompts=" ".join(f"{length}@0" for length in batch.lengths) if is_prefill else "",
                pictures=batch.pictures if is_prefill else "none", kv_usage=None, waiting=None,
                start_ns=made.marks_ns[step], dur_ns=made.marks_ns[step + 1] - made.marks_ns[step],
            )
        )
    return rows


def requests_of(round_: Round, batch_index: int, ids: List[str], batch: inputs.Batch, made: Generated) -> List[Request]:
    return [
        Request(
            round=round_.number, kind=round_.kind, batch_index=batch_index, sample=sample, prompt_tokens=length,
            output_tokens=len(tokens), start_ns=made.marks_ns[0], queued_ns=None,
            token_ns=made.marks_ns[1 : len(tokens) + 1], finish="stop" if ended else "length",
        )
        for sample, length, tokens, ended in zip(ids, batch.lengths, made.tokens, made.ended)
    ]
