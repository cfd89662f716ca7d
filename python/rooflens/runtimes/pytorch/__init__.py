"""PyTorch with transformers: prefill and decode, one step at a time, each timed by itself."""

from __future__ import annotations

import contextlib
import time
from typing import Any, ContextManager, List

from rooflens.runtimes.pytorch import facts, inputs, memory, model, profiler, ranges
from rooflens.runtimes.pytorch.decode import Decoder, Generated
from rooflens.runtimes.pytorch.sampling import TokenChoice
from rooflens.workload import clock, dataset
from rooflens.workload.dataset import Round
from rooflens.workload.events import Events
from rooflens.workload.records import Records, Tokens
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
    facts.write(spec, events, loaded, workload.clock.source, workload.marks.about)


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

        records.add_steps(facts.steps(round_, number, batch, made))
        requests = facts.requests(round_, number, ids, batch, made)
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
