"""vLLM's own engine, offline and in this process: its scheduler makes the steps, we look on."""

from __future__ import annotations

import contextlib
import json
import time
from typing import Any, ContextManager, Dict, Iterator, List, Optional

from rooflens.runtimes.pytorch import memory
from rooflens.runtimes.vllm import engine, prompts
from rooflens.runtimes.vllm.scheduler import Watch
from rooflens.workload import dataset, grounding, pictures
from rooflens.workload.dataset import Round, Sample
from rooflens.workload.events import SCHEMA, Events
from rooflens.workload.records import Records, Request, Tokens
from rooflens.workload.spec import Spec


def run(spec: Spec, events: Events) -> None:
    events.stage = "loading the dataset"
    samples = dataset.load(spec)
    # The engine batches by itself: all samples of a round are one lot for it.
    rounds = dataset.rounds(spec, samples, batch_size=len(samples))

    events.stage = "loading the model"
    loaded = engine.load(spec, events)
    events.emit(
        "dataset", name=spec.text("dataset.name"), kind=spec.text("dataset.kind"), samples=len(samples),
        batch_size=spec.count("runtime.batch_size"), rounds=len(rounds),
    )
    events.emit("memory", when="loaded", **memory.now(loaded.device))

    events.stage = "preparing the prompts"
    workload = Workload(spec, events, loaded)
    with Records(spec.output, spec.keeps_predictions) as records:
        for round_ in rounds:
            events.stage = f"running round {round_.number} ({round_.kind})"
            with workload.watched(round_):
                workload.run_round(round_, records)
        events.stage = "writing results"
        events.emit("memory", when="end", **memory.now(loaded.device))
        memory.write(spec, loaded.device, events)
    records.tell(events)
    workload.write_facts()


class Workload:
    """A running engine, and what a round over the samples needs of it."""

    def __init__(self, spec: Spec, events: Events, loaded: engine.Loaded):
        self.spec = spec
        self.events = events
        self.engine = loaded.engine
        self.loaded = loaded
        self.watch = Watch(loaded.engine, events, spec.text("dataset.kind") == "image")
        self.seed = spec.count("seed", 0, least=0)
        self._prompts: Dict[str, Any] = {}
        self._epochs_told: set = set()

    @contextlib.contextmanager
    def _profiled(self) -> Iterator[None]:
        self.engine.start_profile()
        try:
            yield
        finally:
            self.engine.stop_profile()
            for path in sorted((self.spec.output / engine.TRACES).rglob("*.json*")):
                self.events.file(path, "kineto")

    def watched(self, round_: Round) -> ContextManager[Any]:
        is_asked = self.spec.pass_name == "torch_profiler" or engine.is_gated(self.spec)
        if round_.kind == "profiled" and is_asked:
            return self._profiled()
        return contextlib.nullcontext()

    def run_round(self, round_: Round, records: Records) -> None:
        samples = [sample for batch in round_.batches for sample in batch]
        for sample in samples:
            if sample.id not in self._prompts:
                self._prompts[sample.id] = prompts.prepare(self.spec, self.loaded, sample)
        params = [prompts.sampling(self.spec, self.seed + i) for i in range(len(samples))]
        ids = [sample.id for sample in samples]
        self.events.emit("round_begin", round=round_.number, kind=round_.kind, epoch=round_.epoch, batches=1)
        if self.spec.progress == "batch":
            self.events.emit("batch_begin", round=round_.number, batch=0, samples=ids)

        start_ns, outputs, token_ns, engine_ids = self._generate(round_, samples, params)
        end_ns = time.monotonic_ns()

        records.add_steps(self.watch.steps(round_))
        requests = []
        for i, sample in enumerate(samples):
            name = f"{round_.number}.{i}"
            first_ns = self.watch.first_scheduled_ns.get(engine_ids[name])
            queued_ns = None if first_ns is None else first_ns - start_ns[name]
            requests.append(request_of(round_, sample, outputs[name], token_ns[name], start_ns[name], queued_ns))
        records.add_requests(requests)
        if round_.kind != "warmup" and round_.epoch not in self._epochs_told:
            self._epochs_told.add(round_.epoch)
            self._keep_tokens(round_, samples, outputs, records)
        if self.spec.progress == "batch":
            self.events.emit(
                "batch_end", round=round_.number, batch=0, samples=ids,
                prompt_tokens=sum(r.prompt_tokens for r in requests),
                output_tokens=sum(r.output_tokens for r in requests), start_ns=min(start_ns.values()),
                first_token_ns=min(r.token_ns[0] for r in requests if r.token_ns), end_ns=end_ns,
            )
        self.events.emit("round_end", round=round_.number, kind=round_.kind, dur_ns=end_ns - min(start_ns.values()))

    def _generate(self, round_: Round, samples: List[Sample], params: List[Any]) -> Any:
        """Gives all prompts to the engine and steps it until they are answered. Only notes times."""
        start_ns: Dict[str, int] = {}
        engine_ids: Dict[str, str] = {}
        outputs: Dict[str, Any] = {}
        token_ns: Dict[str, List[int]] = {}
        for i, sample in enumerate(samples):
            name = f"{round_.number}.{i}"
            start_ns[name] = time.monotonic_ns()
            # Newer engines give a request a name of their own and tell it.
            engine_ids[name] = self.engine.add_request(name, self._prompts[sample.id], params[i]) or name
            token_ns[name] = []
        self.watch.begin()
        while self.engine.has_unfinished_requests():
            made = self.engine.step()
            now_ns = time.monotonic_ns()
            self.watch.stepped(now_ns)
            for output in made:
                times = token_ns[output.request_id]
                times += [now_ns] * (len(output.outputs[0].token_ids) - len(times))
                outputs[output.request_id] = output
        return start_ns, outputs, token_ns, engine_ids

    def _keep_tokens(self, round_: Round, samples: List[Sample], outputs: Dict[str, Any], records: Records) -> None:
        for i, sample in enumerate(samples):
            output = outputs[f"{round_.number}.{i}"]
            answer = output.outputs[0]
            ids = list(answer.token_ids)
            prompt_ids = list(output.prompt_token_ids)
            records.add_tokens([Tokens(round_.number, sample.id, self.seed + i, prompt_ids, ids, answer.text)])
            text = grounding.text_of(self.loaded.tokenizer, ids)
            record = {"sample": sample.id, "prompt": sample.text, "answer": text, "tokens": len(ids)}
            record["picture"] = pictures.open_upright(sample.path).record if sample.is_image else None
            records.add_predictions([{"round": round_.number, **record}])

    def write_facts(self) -> None:
        cache = self.engine.vllm_config.cache_config
        record = {
            "schema": SCHEMA,
            "runtime": "vllm",
            "pass": self.spec.pass_name,
            "clock": "host",
            "time_of_a_step": "from the schedule, or the end of the step before, until its tokens are handed out",
            "max_new_tokens": self.spec.max_new_tokens,
            "batch_size": self.spec.count("runtime.batch_size"),
            "do_sample": self.spec.flag("infer.do_sample", False),
            "ignore_eos": self.spec.flag("infer.ignore_eos", False),
            "kv_blocks": cache.num_gpu_blocks,
            "kv_block_tokens": cache.block_size,
            "async_scheduling": self.engine.vllm_config.scheduler_config.async_scheduling,
            "scheduler_facts": self.watch.is_on,
        }
        path = self.spec.output / "workload.json"
        path.write_text(json.dumps(record, indent=1, default=str) + "\n", encoding="utf-8")
        self.events.file(path, "workload")


def request_of(
    round_: Round, sample: Sample, output: Any, token_ns: List[int], start_ns: int, queued_ns: Optional[int]
) -> Request:
    answer = output.outputs[0]
    return Request(
        round=round_.number, kind=round_.kind, batch_index=None, sample=sample.id,
        prompt_tokens=len(output.prompt_token_ids), output_tokens=len(answer.token_ids), start_ns=start_ns,
        queued_ns=queued_ns, token_ns=token_ns, finish=answer.finish_reason or "unknown",
    )
