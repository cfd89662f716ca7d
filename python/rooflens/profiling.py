"""Takes a trace of your own torch code, and analyses it:

    import rooflens

    with rooflens.profile("out") as p:
        model.generate(**inputs)
    print(p.verdict)

`out` becomes a run directory: the trace, tables, findings and a report to open in a browser. `p.analysis` is what
`rooflens.analyze` answers. `p.overhead` says what profiling cost.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, List, Optional, Type, Union

if TYPE_CHECKING:
    from rooflens._rooflens import Analysis

__all__ = ["Overhead", "Profile", "profile"]

# Operator calls that are timed to learn what recording one costs. About twenty milliseconds.
CALIBRATION_CALLS = 2000


@dataclasses.dataclass(frozen=True)
class Overhead:
    """What profiling cost. What happened inside the block is an estimate, the rest was measured."""

    #: Cost of recording one operator call, from a loop with and without the profiler, in nanoseconds.
    per_operator_ns: float
    #: Operator calls that were recorded.
    operators: int
    #: Wall time of the block, with the profiler on.
    block_s: float
    #: Before the block: starting the profiler and the calibration.
    setup_s: float
    #: After the block: stopping the profiler and writing the trace.
    export_s: float
    #: Reading and analysing the trace.
    analysis_s: float

    @property
    def inside_s(self) -> float:
        """Time that recording added to the block."""
        return min(self.per_operator_ns * self.operators * 1e-9, self.block_s)

    @property
    def inside_share(self) -> float:
        """The same as a part of the block, 0 to 1."""
        return self.inside_s / self.block_s if self.block_s > 0 else 0.0

    def __str__(self) -> str:
        return (
            f"Recording {self.operators:,} operator calls added about {self.inside_share:.1%} to the block"
            f" ({self.per_operator_ns / 1000:.1f} µs per call, {_time(self.inside_s)} of {_time(self.block_s)})."
            f" Starting the profiler took {_time(self.setup_s)}, writing the trace {_time(self.export_s)},"
            f" analysing it {_time(self.analysis_s)}."
        )


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.1f} ms"


class Profile:
    """A block of torch code under torch.profiler. See `rooflens.profile`."""

    def __init__(
        self,
        output: Union[str, "os.PathLike[str]"],
        *,
        steps: bool = False,
        record_shapes: bool = True,
        profile_memory: bool = False,
        with_stack: bool = False,
        **known: Any,
    ) -> None:
        self.output = Path(output)
        self._steps = steps
        self._options = {"record_shapes": record_shapes, "profile_memory": profile_memory, "with_stack": with_stack}
        # What is known of the model, for `rooflens.analyze`.
        self._known = known
        self._session: Any = None
        self._analysis: Optional["Analysis"] = None
        self._overhead: Optional[Overhead] = None

    @property
    def trace(self) -> Path:
        """The trace, as torch.profiler wrote it."""
        return self.output / "raw" / "torch_profiler" / "trace.json.gz"

    @property
    def analysis(self) -> "Analysis":
        """What `rooflens.analyze` answers for the trace."""
        if self._analysis is None:
            raise RuntimeError("there is no analysis before the block has ended, or where it failed")
        return self._analysis

    @property
    def verdict(self) -> str:
        """Where the time goes, in one or two sentences."""
        return self.analysis.verdict

    @property
    def overhead(self) -> Overhead:
        """What profiling cost."""
        if self._overhead is None:
            raise RuntimeError("the overhead is known when the block has ended")
        return self._overhead

    @property
    def report(self) -> Path:
        """The page to open in a browser."""
        return self.output / "report" / "index.html"

    def step(self) -> None:
        """Ends a step, as `torch.profiler.profile.step`: the trace also has the begun step behind the last call. Needs
        `steps=True`."""
        if not self._steps:
            raise RuntimeError('steps are marked with rooflens.profile("out", steps=True)')
        if self._session is not None:
            self._session.step()

    def __enter__(self) -> "Profile":
        from rooflens._rooflens import check_output
        from torch.profiler import profile as torch_profile

        # Nothing is profiled where nothing could be written.
        check_output(self.output)
        started = time.perf_counter()
        activities = _activities()
        self._per_operator_ns = _calibrate(activities)
        options = dict(self._options)
        if self._steps:
            options["schedule"] = _always
        self._session = torch_profile(activities=activities, **options)
        self._session.__enter__()
        self._began = time.perf_counter()
        self._setup_s = self._began - started
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], traceback: Optional[TracebackType]
    ) -> None:
        from rooflens._rooflens import analyze

        ended = time.perf_counter()
        session, self._session = self._session, None
        session.__exit__(None, None, None)
        # What failed is the caller's: half a trace would be an answer to another question.
        if kind is not None:
            return
        # Told before writing, which frees it.
        operators = sum(1 for event in session.profiler.kineto_results.events() if _is_operator(event))
        with tempfile.TemporaryDirectory() as folder:
            written = Path(folder) / self.trace.name
            session.export_chrome_trace(str(written))
            exported = time.perf_counter()
            self._analysis = analyze(written, output=self.output, **self._known)
            self.trace.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(str(written), str(self.trace))
        self._overhead = Overhead(
            per_operator_ns=self._per_operator_ns,
            operators=operators,
            block_s=ended - self._began,
            setup_s=self._setup_s,
            export_s=exported - ended,
            analysis_s=time.perf_counter() - exported,
        )


def profile(
    output: Union[str, "os.PathLike[str]"],
    *,
    steps: bool = False,
    record_shapes: bool = True,
    profile_memory: bool = False,
    with_stack: bool = False,
    **known: Any,
) -> Profile:
    """Profiles a block of torch code and analyses it, into the run directory `output`.

    `steps=True` lets `p.step()` mark steps. `record_shapes`, `profile_memory` and `with_stack` are those of
    torch.profiler. What is known of the model (`model`, `hardware`, `tp`, `batch`, `context`, `dtype`) goes to
    `rooflens.analyze`. A block that raises leaves nothing behind.
    """
    return Profile(
        output, steps=steps, record_shapes=record_shapes, profile_memory=profile_memory, with_stack=with_stack, **known
    )


def _always(_: int) -> Any:
    from torch.profiler import ProfilerAction

    return ProfilerAction.RECORD


def _activities() -> List[Any]:
    """The processor, and the accelerator that torch has."""
    import torch
    from torch.profiler import ProfilerActivity

    activities = [ProfilerActivity.CPU]
    for name in ("cuda", "xpu", "hpu", "mtia"):
        backend = getattr(torch, name, None)
        if hasattr(ProfilerActivity, name.upper()) and backend is not None and backend.is_available():
            activities.append(getattr(ProfilerActivity, name.upper()))
    return activities


def _calibrate(activities: List[Any]) -> float:
    """What recording one operator call costs, in nanoseconds: a loop of small additions with and without."""
    import torch
    from torch.profiler import profile as torch_profile

    ones = torch.ones(1)

    def loop() -> int:
        began = time.perf_counter_ns()
        for _ in range(CALIBRATION_CALLS):
            ones.add_(1)
        return time.perf_counter_ns() - began

    # The first session of a process sets the machinery up, which would otherwise be in the trace.
    with torch_profile(activities=activities):
        loop()
    bare = min(loop(), loop())
    with torch_profile(activities=activities):
        recorded = min(loop(), loop())
    return max(recorded - bare, 0) / CALIBRATION_CALLS


def _is_operator(event: Any) -> bool:
    return "CPU" in str(event.device_type())

