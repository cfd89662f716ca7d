"""A fixture that fails a test whose torch code launches, copies or computes more than it may:

    def test_decode_step(rooflens_budget):
        with rooflens_budget(launches=300, copies=2, device_time="4ms"):
            model(**inputs)

The code runs under torch.profiler. `launches` are kernels that the host launches one by one, a graph replay counts as
one; `copies` are copies between host and device, and within the device; `device_time` is the time that devices were
busy. `operators` and `host_time` (calls of operators, and their time on the host) can be checked without a device.
"""

import re
import tempfile
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Type, Union

import pytest

from rooflens.profiling import Profile

if TYPE_CHECKING:
    from rooflens._rooflens import Analysis

_UNITS = {"ns": 1, "us": 1_000, "µs": 1_000, "ms": 1_000_000, "s": 1_000_000_000}


def nanoseconds(time: Union[float, str]) -> float:
    if not isinstance(time, str):
        return time * 1e9
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*(ns|us|µs|ms|s)\s*", time)
    if found is None:
        raise ValueError(f"{time!r} is not a time: write it as 4ms or 250us")
    return float(found.group(1)) * _UNITS[found.group(2)]


def spent(analysis: "Analysis") -> Dict[str, Optional[float]]:
    """What a trace counts against a budget. None is what it cannot say, since no device was recorded."""
    document = analysis.document
    devices = document["devices"]
    has_device = bool(devices)
    copies = [kernel for kernel in document["kernels"] if kernel["kind"] == "memcpy"]
    operators = document["operators"]
    return {
        "launches": _launches(document["launches"]) if has_device else None,
        "copies": float(sum(copy["count"] for copy in copies)) if has_device else None,
        "device_time": float(sum(device["busy_ns"] for device in devices)) if has_device else None,
        "operators": float(sum(operator["count"] for operator in operators)),
        "host_time": float(sum(operator["self_ns"] for operator in operators)),
    }


def _launches(calls: Optional[Dict[str, Any]]) -> Optional[float]:
    """Kernels launched one by one, and graph replays. What is launched during a capture only makes the graph."""
    if calls is None:
        return None
    return float(calls["launches"] - calls["captured_launches"] + calls["graph_launches"])


def exceeded(limits: Dict[str, float], analysis: "Analysis") -> List[str]:
    found = spent(analysis)
    lines = []
    for name, limit in limits.items():
        value = found[name]
        show = _time if name.endswith("_time") else _count
        if value is not None and value > limit:
            lines.append(f"{name}: {show(value)}, and the budget is {show(limit)}")
    return lines


def unchecked(limits: Dict[str, float], analysis: "Analysis") -> List[str]:
    """A line for each limit that the trace says nothing about."""
    found = spent(analysis)
    reason = "no launch calls were recorded" if analysis.document["devices"] else "no device was recorded"
    return [f"{name}: {reason}" for name in limits if found[name] is None]


def failure(limits: Dict[str, float], analysis: "Analysis") -> Optional[str]:
    """What a test that is not within its limits prints."""
    parts = {"over budget": exceeded(limits, analysis), "cannot be checked": unchecked(limits, analysis)}
    lines = [line for heading, found in parts.items() if found for line in (heading, *(f"  {one}" for one in found))]
    return "\n".join([*lines, f"  {analysis.verdict}"]) if lines else None


def _count(value: float) -> str:
    return f"{value:,.0f}"


def _time(value: float) -> str:
    """Nanoseconds in the largest unit that leaves a whole number before the point."""
    unit = next((unit for unit in ("s", "ms", "µs") if value >= _UNITS[unit]), "ns")
    return f"{value / _UNITS[unit]:,.3f}".rstrip("0").rstrip(".") + f" {unit}"


class Budget:
    """A block that may not spend more than this."""

    def __init__(self, limits: Dict[str, float]) -> None:
        self.limits = limits
        self._folder = tempfile.TemporaryDirectory()
        self.profile = Profile(Path(self._folder.name) / "run")

    def __enter__(self) -> Profile:
        return self.profile.__enter__()

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], traceback: Optional[TracebackType]
    ) -> None:
        try:
            self.profile.__exit__(kind, error, traceback)
            message = failure(self.limits, self.profile.analysis) if kind is None else None
        finally:
            self._folder.cleanup()
        if message is not None:
            pytest.fail(message, pytrace=False)


def budget(
    *,
    launches: Optional[int] = None,
    copies: Optional[int] = None,
    device_time: Optional[Union[float, str]] = None,
    operators: Optional[int] = None,
    host_time: Optional[Union[float, str]] = None,
) -> Budget:
    """A block of torch code that may not spend more than this. Times are text with a unit, or seconds."""
    given: Dict[str, Any] = {
        "launches": launches,
        "copies": copies,
        "device_time": None if device_time is None else nanoseconds(device_time),
        "operators": operators,
        "host_time": None if host_time is None else nanoseconds(host_time),
    }
    limits = {name: float(limit) for name, limit in given.items() if limit is not None}
    if not limits:
        raise ValueError(f"a budget needs one of {', '.join(given)}")
    for name, limit in limits.items():
        # Written so that it also refuses nan.
        if not limit >= 0:
            raise ValueError(f"{name} is negative or not a number: a limit is 0 or more")
    return Budget(limits)


@pytest.fixture
def rooflens_budget() -> Callable[..., Budget]:
    """Fails a test if its torch code exceeds a limit: `with rooflens_budget(launches=300): model(**inputs)`."""
    return budget
