"""What vLLM's scheduler decides, step by step: who is in it, with how many tokens, how full the cache is.

The scheduler is looked at, not changed: its two methods that begin and end a step also note the time.
"""

import time
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

from rooflens.workload.dataset import Round
from rooflens.workload.events import Events
from rooflens.workload.records import Step


@dataclass
class Scheduled:
    """A step from its schedule to its end. The schedule itself is read only after the round."""

    decision: Any
    start_ns: int
    # With what the step itself needs, before a finished request gives its part back.
    kv_usage: Optional[float]
    waiting: int
    end_ns: Optional[int] = None
    is_executed: bool = False


class Watch:
    def __init__(self, engine: Any, events: Events, sees_pictures: bool):
        self.is_on = False
        # How pictures were cut is the engine's own affair.
        self._pictures = None if sees_pictures else "none"
        self.first_scheduled_ns: Dict[str, int] = {}
        self._running: List[Scheduled] = []
        self._ended: List[Scheduled] = []
        core = getattr(getattr(engine, "engine_core", None), "engine_core", None)
        self._scheduler = getattr(core, "scheduler", None)
        if self._scheduler is None or not hasattr(self._scheduler, "update_from_output"):
            events.note(
                "warning", "no_scheduler_facts",
                "the engine's scheduler is out of sight (another process, or another version): no rows in steps.csv",
            )
            return
        self._wrap()

    def _wrap(self) -> None:
        scheduler, running = self._scheduler, self._running
        schedule, update = scheduler.schedule, scheduler.update_from_output

        def watched_schedule(*args: Any, **kwargs: Any) -> Any:
            start_ns = time.monotonic_ns()
            decision = schedule(*args, **kwargs)
            if decision.total_num_scheduled_tokens:
                running.append(Scheduled(decision, start_ns, self._kv_usage(), len(scheduler.waiting)))
            return decision

        def watched_update(decision: Any, *args: Any, **kwargs: Any) -> Any:
            result = update(decision, *args, **kwargs)
            for step in running:
                if step.decision is decision:
                    step.is_executed = True
            return result

        scheduler.schedule, scheduler.update_from_output = watched_schedule, watched_update
        self.is_on = True

    def begin(self) -> None:
        self._running.clear()
        self._ended.clear()
        self.first_scheduled_ns = {}

    def stepped(self, now_ns: int) -> None:
        """The engine handed out tokens: what it executed until now ends here."""
        while self._running and self._running[0].is_executed:
            step = self._running.pop(0)
            step.end_ns = now_ns
            self._ended.append(step)

    def _kv_usage(self) -> Optional[float]:
        manager = getattr(self._scheduler, "kv_cache_manager", None)
        return getattr(manager, "usage", None)

    def steps(self, round_: Round) -> List[Step]:
        """The rows of the round that just ended; also learns when each request was first in a step."""
        rows: List[Step] = []
        prompt_lengths: Dict[str, int] = {}
        last_end_ns = 0
        for number, step in enumerate(self._ended):
            # With asynchronous scheduling a step is decided while the one before it still runs.
            start_ns = max(step.start_ns, last_end_ns)
            last_end_ns = step.end_ns or start_ns
            for request in step.decision.scheduled_new_reqs:
                self.first_scheduled_ns.setdefault(request.req_id, start_ns)
                # Of a picture's prompt, newer versions tell the embedded length only.
                prompt_lengths[request.req_id] = len(request.prompt_token_ids or ())
            prefill, decode, kv_tokens, requests, prompts = count(step.decision, prompt_lengths)
            phase = "mixed" if prefill and decode else ("prefill" if prefill else "decode")
            rows.append(
                Step(
                    round=round_.number, kind=round_.kind, batch_index=None, step=number, phase=phase,
                    batch=requests, prefill_tokens=prefill, decode_tokens=decode,
                    computed_tokens=prefill + decode, kv_tokens=kv_tokens, cache_length=None,
                    prompts=prompts, pictures=self._pictures if prefill else "none",
                    kv_usage=step.kv_usage, waiting=step.waiting, start_ns=start_ns,
                    dur_ns=last_end_ns - start_ns,
                )
            )
        return rows


def count(decision: Any, prompt_lengths: Dict[str, int]) -> Tuple[int, int, int, int, str]:
    """Prompt tokens, tokens beyond the prompts, tokens attended to, sequences, and the prompts one by one."""
    computed = {request.req_id: request.num_computed_tokens for request in decision.scheduled_new_reqs}
    cached = decision.scheduled_cached_reqs
    computed.update(zip(cached.req_ids, cached.num_computed_tokens))
    prefill = decode = kv_tokens = 0
    prompts: List[str] = []
    for request, tokens in decision.num_scheduled_tokens.items():
        before = computed.get(request, 0)
        kv_tokens += before + tokens
        of_prompt = min(tokens, max(0, prompt_lengths.get(request, 0) - before))
        prefill += of_prompt
        decode += tokens - of_prompt
        if of_prompt:
            prompts.append(f"{tokens}@{before}")
    return prefill, decode, kv_tokens, len(decision.num_scheduled_tokens), " ".join(prompts)
