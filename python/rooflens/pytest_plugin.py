"""A fixture that fails a test whose torch code launches, copies or computes more than it may:

    def test_decode_step(rooflens_budget):
        with rooflens_budget(launches=300, copies=2, device_time="4ms"):
            model(**inputs)

The code runs under torch.profiler. `launches` are kernels that the host launches one by one, a graph replay counts as
one; `copies` are copies between host and device, and within the device; `device_time` is the time that devices were
busy. `operators` and `host_time` (calls of operators, and their time on the host) can be checked without a device.
"""

from __future__ import annotations

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
    """A time as text with a unit, or in seconds."""
    if not isinstance(time, str):
        return time * 1e9
    found = re.fullmatch(r"\s*([0-9.]+)\s*(ns|us|µs|ms|s)\s*", time)
    if found is None:
        raise ValueError(f"{time!r} is not a time: write it as 4ms or 250us")
    return float(found.group(1)) * _UNITS[found.group(2)]


def spent(analysis: "Analysis") -> Dict[str, Optional[float]]:
    """What a trace counts against a budget. None is what it cannot tell, for want of a device."""
    document = analysis.document
    devices = document["devices"]
    has_device = bool(devices)
    launches = document["launches"] or {}
    copies = [kernel for kernel in document["kernels"] if kernel["kind"] == "memcpy"]
    operators = document["operators"]
    return {
        "launches": float(launches.get("launches", 0)) if has_device else None,
        "copies": float(sum(copy["count"] for copy in copies)) if has_device else None,
        "device_time": float(sum(device["busy_ns"] for device in devices)) if has_device else None,
        "operators": float(sum(operator["count"] for operator in operators)),
        "host_time": float(sum(operator["self_ns"] for operator in operators)),
    }


def exceeded(limits: Dict[str, float], analysis: "Analysis") -> List[str]:
    """A line for each limit that was exceeded, or that could not be checked."""
    found = spent(analysis)
    lines = []
    for name, limit in limits.items():
        value = found[name]
        show = _milliseconds if name.endswith("_time") else _count
        if value is None:
            lines.append(f"{name}: cannot be checked, since no device was recorded")
        elif value > limit:
            lines.append(f"{name}: {show(value)}, and the budget is {show(limit)}")
    return lines


def _count(value: float) -> str:
    return f"{value:,.0f}"


def _milliseconds(value: float) -> str:
    return f"{value / 1e6:,.3f} ms"


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
            lines = exceeded(self.limits, self.profile.analysis) if kind is None else []
        finally:
            self._folder.cleanup()
        if lines:
            pytest.fail("over budget\n  " + "\n  ".join(lines) + f"\n  {self.profile.verdict}", pytrace=False)


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
    return Budget(limits)


@pytest.fixture
def rooflens_budget() -> Callable[..., Budget]:
    """Makes budgets: see `rooflens.pytest_plugin`."""
    return budget
