"""Takes a trace of your own torch code, and analyses it:

    import rooflens

    with rooflens.profile("out") as p:
        model.generate(**inputs)
    print(p.verdict)

`out` becomes a run directory: the trace, tables, findings and a report to open in a browser. `p.analysis` is what
`rooflens.analyze` answers. `p.overhead` says what profiling cost.
"""

import dataclasses
import gzip
import inspect
import os
import re
import shutil
import statistics
import tempfile
import time
import warnings
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Type, Union

if TYPE_CHECKING:
    from rooflens._rooflens import Analysis

__all__ = ["Overhead", "Profile", "profile"]

# Layers that are timed to learn what recording an operator call costs, and how often. Some tens of milliseconds.
CALIBRATION_LAYERS = 12
CALIBRATION_ROUNDS = 7
# Memory that is touched between two layers. A model's weights and Python code push the profiler's data out of the
# caches; without this, recording appears to be cheaper than it is in a model. About the size of an L2 cache.
CALIBRATION_COPY_BYTES = 2 << 20

# Arguments of `rooflens.analyze` that only matter for the lower bound.
MODEL_ARGUMENTS = ("model", "hardware", "tp", "batch", "context", "dtype", "force")

# What an analysis writes to a run directory. The trace in raw/ is written after it.
ANALYSIS_OUTPUTS = ("tables", "findings", "report", "model.json")


@dataclasses.dataclass(frozen=True)
class Overhead:
    """What profiling cost. `per_operator_ns`, `inside_s` and `inside_share` are an estimate, the rest was measured.

    The estimate multiplies recorded calls by the cost of one in a small layer on the CPU. It can
    be off by a factor of two, on a busy machine by more: to be sure, time the block with and without the profiler.
    """

    #: Cost of recording one operator call, from a small layer with and without the profiler, in nanoseconds.
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
        """Time that recording took inside the block."""
        return min(self.per_operator_ns * self.operators * 1e-9, self.block_s)

    @property
    def inside_share(self) -> float:
        """The same as a part of the block, 0 to 1."""
        return self.inside_s / self.block_s if self.block_s > 0 else 0.0

    def __str__(self) -> str:
        return (
            f"Recording {self.operators:,} operator calls took about {self.inside_share:.1%} of the block"
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
        from rooflens._rooflens import analyze, check_output
        from torch.profiler import profile as torch_profile

        # Nothing is profiled where nothing could be written or analysed.
        inspect.signature(analyze).bind(self.trace, output=self.output, **self._known)
        check_output(self.output)
        _check_writable(self.output)
        _check_free()
        _check_model(self._known)
        self._analysis = self._overhead = None
        started = time.perf_counter()
        activities = _activities()
        self._per_operator_ns = _calibrate(activities, self._options)
        schedule = _always if self._steps else None
        self._session = torch_profile(activities=activities, schedule=schedule, **self._options)
        self._session.__enter__()
        self._began = time.perf_counter()
        self._setup_s = self._began - started
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], traceback: Optional[TracebackType]
    ) -> None:
        ended = time.perf_counter()
        session, self._session = self._session, None
        session.__exit__(None, None, None)
        # What failed is the caller's: half a trace would be an answer to another question.
        if kind is not None:
            return
        with tempfile.TemporaryDirectory() as folder:
            written = Path(folder) / "trace.json"
            session.export_chrome_trace(str(written))
            exported = time.perf_counter()
            no_lower_bound = self._analyze(written)
            self.trace.parent.mkdir(parents=True, exist_ok=True)
            _compress(written, self.trace)
        self._overhead = Overhead(
            per_operator_ns=self._per_operator_ns,
            operators=sum(operator["count"] for operator in self.analysis.document["operators"]),
            block_s=ended - self._began,
            setup_s=self._setup_s,
            export_s=exported - ended,
            analysis_s=time.perf_counter() - exported,
        )
        # Last, since a filter may turn it into an exception: the run directory is complete.
        if no_lower_bound is not None:
            warnings.warn(self._no_lower_bound(no_lower_bound), UserWarning, stacklevel=2)

    def _analyze(self, written: Path) -> Optional[Exception]:
        """Analyses the trace, if need be without the model: then the answer is why there is no lower bound."""
        from rooflens._rooflens import Error

        try:
            try:
                self._analysis = self._analyzed(written, self._known)
            except Error as error:
                rest = {name: value for name, value in self._known.items() if name not in MODEL_ARGUMENTS}
                if rest == self._known:
                    raise
                self._analysis = self._analyzed(written, rest)
                return error
        except Exception as error:
            _add_to_error(error, f"the trace is {_kept(written, self.trace.name)}")
            raise
        return None

    def _analyzed(self, written: Path, known: Dict[str, Any]) -> "Analysis":
        from rooflens._rooflens import analyze

        before = _modification_times(self.output)
        try:
            return analyze(written, output=self.output, **known)
        except Exception:
            # An earlier run stays if the analysis failed before it wrote anything.
            if _modification_times(self.output) != before:
                _remove_analysis(self.output)
            raise

    def _no_lower_bound(self, error: Exception) -> str:
        reason = re.sub(r"^no lower bound can be computed: |: --hardware sets it$", "", str(error))
        # The words of the command line are arguments here.
        reason = re.sub(r"--(\w+)", r"`\1`", reason)
        # What ran on the CPU alone can only be compared with a CPU.
        device = "h100-sxm" if self.analysis.document["devices"] else "amd-epyc-9654"
        return (
            f"no lower bound can be computed: {reason}. The trace was analysed without the model. To try again without"
            f' profiling, name the device that it ran on, for example: rooflens.analyze("{self.trace}", model=…,'
            f' hardware="{device}").'
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
    `rooflens.analyze`. `model` is checked before the block runs. Where no lower bound can be computed, for example
    since no device was recorded and `hardware` names none, the trace is analysed without the model, and a `UserWarning`
    says why. A block that raises leaves nothing behind.
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


def _check_writable(folder: Path) -> None:
    """Fails where the folder cannot be made, or not be written to. Leaves nothing."""
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    try:
        tempfile.TemporaryDirectory(dir=there).cleanup()
    except OSError as error:
        raise _error(f"cannot write to {there}: {error.strerror}", f"ls -ld {there}", "environment") from error


def _check_free() -> None:
    """Fails while another profiler records in this process: there can be only one."""
    import torch

    if torch._C._autograd._profiler_enabled():
        hint = "leave the other torch.profiler.profile or rooflens.profile block first: they cannot be nested"
        raise _error("torch.profiler is already recording", hint, "usage")


def _check_model(known: Dict[str, Any]) -> None:
    """Fails where the model cannot be read, or the hardware it is to run on is not known."""
    from rooflens._rooflens import cost

    model, hardware = known.get("model"), known.get("hardware")
    if model is not None and hardware is not None:
        cost(model, hardware=hardware)
    elif model is not None:
        cost(model)


def _modification_times(folder: Path) -> Dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


def _remove_analysis(folder: Path) -> None:
    """Removes what an analysis wrote, and the folder where nothing else is in it."""
    for name in ANALYSIS_OUTPUTS:
        path = folder / name
        if path.is_dir():
            shutil.rmtree(path)
        elif path.exists():
            path.unlink()
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def _kept(trace: Path, name: str) -> Path:
    """A compressed copy of a trace that outlives this process."""
    kept = Path(tempfile.mkdtemp(prefix="rooflens-")) / name
    _compress(trace, kept)
    return kept


def _add_to_error(error: Exception, sentence: str) -> None:
    """Adds a sentence to the message, and to the hint of a `rooflens.Error`."""
    error.args = (f"{error}; {sentence}",)
    if hasattr(error, "hint"):
        error.hint = f"{error.hint}; {sentence}" if error.hint else sentence


def _error(fact: str, hint: str, kind: str) -> Exception:
    from rooflens._rooflens import Error

    error = Error(fact)
    error.hint, error.command, error.kind = hint, None, kind
    return error


def _calibrate(activities: List[Any], options: Dict[str, bool]) -> float:
    """What recording one operator call costs, in nanoseconds: a small layer with and without the profiler."""
    import torch
    from torch.profiler import profile as torch_profile

    layer = _small_layer()
    fill_caches = _cache_filler(CALIBRATION_COPY_BYTES)

    def loop() -> int:
        spent = 0
        for _ in range(CALIBRATION_LAYERS):
            fill_caches()
            # Time of this thread, so that other processes matter less.
            began = time.thread_time_ns()
            layer()
            spent += time.thread_time_ns() - began
        return spent

    with torch.no_grad():
        layer()
        # The first session of a process sets the machinery up, which would otherwise be in the trace.
        with torch_profile(activities=activities, **options) as session:
            layer()
        calls = sum(event.name.startswith("aten::") for event in session.events() or ())
        bare = statistics.median([loop() for _ in range(CALIBRATION_ROUNDS)])
        with torch_profile(activities=activities, **options):
            recorded = statistics.median([loop() for _ in range(CALIBRATION_ROUNDS)])
    per_operator: float = max(recorded - bare, 0) / (max(calls, 1) * CALIBRATION_LAYERS)
    return per_operator


def _small_layer() -> Callable[[], Any]:
    """A layer of a language model for one token: nested operators with one to three tensors and lists of them."""
    import torch
    from torch.nn import functional

    # On the CPU, whatever the default device; and no random numbers are drawn, which would change those of the block.
    like: Dict[str, Any] = {"device": "cpu", "dtype": torch.float32}
    inputs, weight, bias = torch.ones(1, 1, 64, **like), torch.ones(64, 64, **like), torch.ones(64, **like)
    cache = torch.ones(1, 2, 16, 32, **like)

    def layer() -> Any:
        normed = inputs * torch.rsqrt(inputs.pow(2).mean(-1, keepdim=True) + 1e-6)
        query = functional.linear(normed, weight, bias).view(1, 1, 2, 32).transpose(1, 2)
        keys = torch.cat((cache, query), dim=2)
        # Not scaled_dot_product_attention: a user may have disabled the kernels that the CPU has.
        scores = torch.softmax(torch.matmul(query, keys.transpose(2, 3)), dim=-1)
        attended = torch.matmul(scores, keys).transpose(1, 2).reshape(1, 1, 64)
        return functional.silu(functional.linear(attended, weight)) + inputs

    return layer


def _cache_filler(size: int) -> Callable[[], None]:
    """Copies memory, not with torch: that would be recorded."""
    source, target = bytes(size // 2), memoryview(bytearray(size // 2))

    def fill() -> None:
        target[:] = source

    return fill


def _compress(trace: Path, to: Path) -> None:
    # torch.profiler can do this, too, but takes ten times as long for a somewhat smaller file.
    with open(trace, "rb") as source, gzip.open(to, "wb", compresslevel=1) as target:
        shutil.copyfileobj(source, target, 1 << 20)
