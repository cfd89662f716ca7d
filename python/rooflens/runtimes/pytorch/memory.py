"""Memory of device and host: what the allocator says, and its history where that is asked for."""

import contextlib
import json
import pickle
import resource
import sys
from pathlib import Path
from typing import Any, Dict, Iterator, Optional

from rooflens import devices
from rooflens.workload.events import SCHEMA, Events
from rooflens.workload.spec import Spec

NO_GPU = "the model is on the CPU, where torch keeps no such account"


def no_account(device: Any) -> str:
    return NO_GPU if device.type == "cpu" else f"torch keeps no such account of {device.type} devices"


def now(device: Any) -> Dict[str, Any]:
    """The fields of a `memory` event, but for when."""
    import torch

    told = devices.memory(torch, device)
    return {
        "device": told,
        "device_reason": None if told is not None else no_account(device),
        "host_rss_bytes": host_rss_bytes(),
        "host_peak_rss_bytes": host_peak_rss_bytes(),
    }


def host_rss_bytes() -> Optional[int]:
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return None  # not Linux
    return pages * resource.getpagesize()


def host_peak_rss_bytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024  # kibibytes, but on macOS


@contextlib.contextmanager
def history(spec: Spec, device: Any, events: Events) -> Iterator[None]:
    """Records allocations while it lasts, if the torch_profiler pass asks for them."""
    wanted = spec.pass_name == "torch_profiler" and spec.flag("pipeline.torch_profiler.allocator_snapshot", False)
    if not wanted:
        yield
        return
    if device.type != "cuda":
        reason = NO_GPU if device.type == "cpu" else f"torch records allocations of CUDA devices, not of {device.type}"
        events.note("info", "no_allocator_snapshot", f"memory_snapshot.pickle is not written: {reason}")
        yield
        return
    import torch

    torch.cuda.memory._record_memory_history()
    try:
        yield
    finally:
        path = spec.output / "memory_snapshot.pickle"
        with open(path, "wb") as file:
            pickle.dump(torch.cuda.memory._snapshot(), file)
        torch.cuda.memory._record_memory_history(enabled=None)
        events.file(path, "memory_snapshot")


def write(spec: Spec, device: Any, events: Events) -> None:
    record: Dict[str, Any] = {"schema": SCHEMA, **now(device), "memory_stats": None}
    import torch

    stats = getattr(getattr(torch, device.type, None), "memory_stats", None)
    if stats is not None and device.type != "cpu":
        record["memory_stats"] = stats(device)
    path = spec.output / "memory_stats.json"
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    events.file(path, "memory_stats")
