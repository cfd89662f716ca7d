"""vLLM's own engine, offline and in this process: its scheduler makes the steps, we look on."""

from __future__ import annotations

import contextlib
import time
from typing import Any, ContextManager, Dict, Iterator, List

from rooflens.runtimes import engines
from rooflens.runtimes.engines import Answered
from rooflens.runtimes.pytorch.inputs import picture_prompt
from rooflens.runtimes.vllm import engine
from rooflens.runtimes.vllm.scheduler import Watch
from rooflens.workload import pictures
from rooflens.workload.dataset import Round, Sample
from rooflens.workload.errors import WorkloadError
from rooflens.workload.events import Events
from rooflens.workload.records import Step
from rooflens.workload.spec import Spec


def run(spec: Spec, events: Events) -> None:
    engines.run(spec, events, Workload)


class Workload(engines.EngineWorkload):
    def __init__(self, spec: Spec, events: Events):
        super().__init__(spec, events)
        self.loaded = engine.load(spec, events)
        self.engine = self.loaded.engine
        self.device = self.loaded.device
        self.watch = Watch(self.engine, events, spec.text("dataset.kind") == "image")

    def prompt(self, sample: Sample) -> Any:
        if not sample.is_image:
            return {"prompt_token_ids": engines.token_ids(self.spec, self.loaded.tokenizer, sample)}
        if self.loaded.processor is None:
            raise WorkloadError("dataset.kind is image, but the model has no image processor", "set dataset.kind=text")
        # vLLM puts the picture's tokens in itself.
        text = picture_prompt(self.loaded.processor, sample.text)
        return {"prompt": text, "multi_modal_data": {"image": pictures.open_upright(sample.path).image}}

    def sampling(self, seed: int) -> Any:
        from vllm import SamplingParams

        # A temperature of 0 is vLLM's word for greedy.
        options = engines.sampling_options(self.spec, seed, {"temperature": 0.0})
        if self.spec.get("infer.no_repeat_ngram_size", None) is not None:
            size = self.spec.count("infer.no_repeat_ngram_size", least=0)
            # Of the answer alone; transformers looks at the prompt, too. 0 lets tokens repeat.
            options.update({"extra_args": {"ngram_size": size, "window_size": 1 << 30}} if size else {})
        return SamplingParams(**options)

    def steps(self, round_: Round) -> List[Step]:
        return self._rows

    @contextlib.contextmanager
    def _profiled(self) -> Iterator[None]:
        self.engine.start_profile()
        try:
            yield
        finally:
            self.events.emit("working", what="exporting the trace")
            self.engine.stop_profile()
            for path in sorted((self.spec.output / engine.TRACES).rglob("*.json*")):
                self.events.file(path, "kineto")

    def watched(self, round_: Round) -> ContextManager[Any]:
        is_asked = self.spec.pass_name == "torch_profiler" or engine.is_gated(self.spec)
        if round_.kind == "profiled" and is_asked:
            return self._profiled()
        return contextlib.nullcontext()

    def generate(self, round_: Round, prompts: List[Any], params: List[Any]) -> List[Answered]:
        names = [f"{round_.number}.{i}" for i in range(len(prompts))]
        start_ns: Dict[str, int] = {}
        engine_ids: Dict[str, str] = {}
        outputs: Dict[str, Any] = {}
        token_ns: Dict[str, List[int]] = {}
        for name, prompt, wanted in zip(names, prompts, params):
            start_ns[name] = time.monotonic_ns()
            # Newer engines give a request a name of their own and tell it.
            engine_ids[name] = self.engine.add_request(name, prompt, wanted) or name
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
        end_ns = time.monotonic_ns()
        # Reading the schedule tells when each request was first in a step, too.
        self._rows = self.watch.steps(round_)
        first_ns = {name: self.watch.first_scheduled_ns.get(engine_ids[name]) for name in names}
        return [
            Answered(
                outputs[name], start_ns[name],
                None if first_ns[name] is None else first_ns[name] - start_ns[name], token_ns[name], end_ns,
            )
            for name in names
        ]

    def facts(self) -> Dict[str, Any]:
        cache = self.engine.vllm_config.cache_config
        return {
            "time_of_a_step": "from the schedule, or the end of the step before, until its tokens are handed out",
            "kv_blocks": cache.num_gpu_blocks,
            "kv_block_tokens": cache.block_size,
            "async_scheduling": self.engine.vllm_config.scheduler_config.async_scheduling,
            "scheduler_facts": self.watch.is_on,
        }
