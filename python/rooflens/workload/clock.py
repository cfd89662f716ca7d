"""Times of steps: marks between them, taken at next to no cost and read when all is over.

All times are nanoseconds of the monotonic clock (CLOCK_MONOTONIC on Linux, the same for every
process of a machine). `anchor` tells how it stands to Unix time, which profilers write.
"""

import time
from typing import Any, Dict, List

from rooflens import devices


def anchor(tries: int = 20) -> Dict[str, int]:
    """The same moment on both clocks; `uncertainty_ns` is how far apart they may have been read."""
    best = None
    for _ in range(tries):
        before = time.monotonic_ns()
        unix = time.time_ns()
        after = time.monotonic_ns()
        if best is None or after - before < best[0]:
            best = (after - before, before + (after - before) // 2, unix)
    return {"monotonic_ns": best[1], "unix_ns": best[2], "uncertainty_ns": best[0]}


class HostClock:
    """For devices that have done their work when a call returns: the CPU."""

    source = "host"

    def start(self, most_marks: int) -> None:
        del most_marks
        self._marks: List[int] = []
        self.mark = lambda append=self._marks.append, now=time.monotonic_ns: append(now())
        self.mark()

    def finish(self) -> List[int]:
        """All marks; the first is the start."""
        return self._marks


class EventClock:
    """Events of a device: it notes when it gets there, and the host never waits in between."""

    def __init__(self, device: Any):
        import torch

        self._backend = getattr(torch, device.type)
        self._wait = lambda: devices.synchronize(torch, device)
        self.source = f"{device.type}_events"

    def start(self, most_marks: int) -> None:
        # Made beforehand: creating an event takes longer than recording it.
        self._events = [self._backend.Event(enable_timing=True) for _ in range(most_marks + 1)]
        self._used = 0
        self._wait()
        # The device is idle, so the first event happens as soon as the host records it.
        self._origin_ns = time.monotonic_ns()
        self.mark()

    def mark(self) -> None:
        self._events[self._used].record()
        self._used += 1

    def finish(self) -> List[int]:
        self._wait()
        first = self._events[0]
        return [
            self._origin_ns + round(first.elapsed_time(event) * 1e6)  # elapsed_time is in ms
            for event in self._events[: self._used]
        ]


class WaitingClock(HostClock):
    """For devices without events: each mark waits for the device, which takes time of its own."""

    source = "host_after_synchronize"

    def __init__(self, device: Any):
        import torch

        self._wait = lambda: devices.synchronize(torch, device)

    def start(self, most_marks: int) -> None:
        del most_marks
        self._marks = []
        self.mark()

    def mark(self) -> None:
        self._wait()
        self._marks.append(time.monotonic_ns())


def for_device(device: Any) -> Any:
    if device.type == "cpu":
        return HostClock()
    import torch

    has_events = hasattr(getattr(torch, device.type), "Event")
    return EventClock(device) if has_events else WaitingClock(device)
