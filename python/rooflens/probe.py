"""Marks the phases of a program of your own, so that a profile of it can be told apart:

    from rooflens import probe

    with probe.phase("prefill"):
        ...
    with probe.phase("decode"):
        for token in range(n):
            with probe.step():
                ...

In a profile they are `rooflens.prefill`, `rooflens.decode` and `rooflens.decode[1]`, `[2]` and so on:
as NVTX ranges under Nsight, as `record_function` under torch.profiler, as events for `rooflens run`.
When none of them is there, a mark costs a fraction of a microsecond. torch is not needed, and never
imported.
"""

import atexit
import json
import os
import sys
import threading
import time
from typing import Any, ContextManager, List, Optional, Tuple

from rooflens import nvtx as nvtx_backends
from rooflens.workload.events import encode, inherited_fd, write_whole

# Nsight tells a process that it is watched by the library that it should load.
NVTX_VARIABLES = ("NVTX_INJECTION64_PATH", "NVTX_INJECTION32_PATH", "NSYS_PROFILING_SESSION_ID")

__all__ = ["phase", "step", "flush"]


class _Nothing:
    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


class _Phases(threading.local):
    """The open phases of a thread, outermost first: each its name and the number of its last step."""

    def __init__(self) -> None:
        self.open: List[List[Any]] = []


class _Mark:
    def __init__(self, name: str, is_step: bool):
        self._name = name
        self._is_step = is_step

    def __enter__(self) -> None:
        self._number = _next_number() if self._is_step else None
        if self._is_step:
            self._name = _phases.open[-1][0] if _phases.open else "step"
        else:
            _phases.open.append([self._name, 0])
        label = f"rooflens.{self._name}" + (f"[{self._number}]" if self._is_step else "")
        if _nvtx is not None:
            _nvtx.push(label)
        torch = sys.modules.get("torch")
        self._record = torch.profiler.record_function(label) if torch is not None and _profiled(torch) else None
        if self._record is not None:
            self._record.__enter__()
        self._start_ns = time.monotonic_ns()

    def __exit__(self, *_: object) -> None:
        end_ns = time.monotonic_ns()
        if self._record is not None:
            self._record.__exit__(None, None, None)
        if _nvtx is not None:
            _nvtx.pop()
        if not self._is_step:
            _phases.open.pop()
        if _pipe is not None:
            _waiting.append((self._name, self._number, self._start_ns, end_ns - self._start_ns))
            if not _phases.open:
                flush()  # outside of every phase: no time of anybody's is taken


def phase(name: str) -> ContextManager[None]:
    """A part of the work with a name: prefill, decode, vision, or any other."""
    return _Mark(name, False) if _is_watched() else _nothing


def step() -> ContextManager[None]:
    """A step of the phase it stands in, numbered from 1: `decode[1]` is the first decode step."""
    return _Mark("", True) if _is_watched() else _nothing


def flush() -> None:
    """Hands on the events that wait; it happens by itself after each outermost phase and at the end."""
    global _pipe
    waiting, _waiting[:] = list(_waiting), []
    for name, number, start_ns, dur_ns in waiting:
        record = {"event": "phase", "t_ns": start_ns + dur_ns, "phase": name, "step": number}
        try:
            if _pipe is not None:
                write_whole(_pipe, encode({**record, "start_ns": start_ns, "dur_ns": dur_ns, "pid": os.getpid()}))
        except OSError:
            _pipe = None  # nobody reads any more


def _next_number() -> int:
    counter = _phases.open[-1] if _phases.open else _outside
    counter[1] += 1
    return counter[1]


def _profiled(torch: Any) -> bool:
    return torch._C._autograd._profiler_enabled()


def _is_watched() -> bool:
    if _wants_trace:
        _begin_trace()
    if _pipe is not None or _nvtx is not None:
        return True
    torch = sys.modules.get("torch")
    return torch is not None and _profiled(torch)


def _begin_trace() -> None:
    """The trace that `rooflens run` asks for lasts from the first mark after torch is there to the end of the process.

    ROOFLENS_TRACE_OPTIONS may hold record_shapes, profile_memory and with_stack as a JSON object.
    """
    global _wants_trace
    if "torch" not in sys.modules:
        return
    from torch import profiler

    _wants_trace = False
    session = profiler.profile(**json.loads(os.environ.get("ROOFLENS_TRACE_OPTIONS") or "{}"))
    session.start()

    def stop() -> None:
        session.stop()
        session.export_chrome_trace(os.environ["ROOFLENS_TRACE"])

    atexit.register(stop)


_nothing: ContextManager[None] = _Nothing()
_phases = _Phases()
_outside: List[Any] = ["step", 0]
_waiting: List[Tuple[str, Optional[int], int, int]] = []
_pipe = inherited_fd()
_nvtx = nvtx_backends.find() if any(name in os.environ for name in NVTX_VARIABLES) else None
_wants_trace = bool(os.environ.get("ROOFLENS_TRACE"))
if _pipe is not None:
    atexit.register(flush)
