"""Memory of device and host: what the allocator says, and its history where that is asked for."""

from __future__ import annotations

import contextlib
import json
import pickle
import resource
import sys
from pathlib import Path
from typing import Any, Dict, Iterator, Optional

from rooflens.workload.events import SCHEMA, Events
from rooflens.workload.spec import Spec

NO_GPU = "the model is on the CPU, where torch keeps no such account"


def now(device: Any) -> Dict[str, Any]:
    """The fields of a `memory` event, but for when."""
    is_gpu = device.type == "cuda"
    return {
        "device": device_bytes(device) if is_gpu else None,
        "device_reason": None if is_gpu else NO_GPU,
        "host_rss_bytes": host_rss_bytes(),
        "host_peak_rss_bytes": host_peak_rss_bytes(),
    }


def device_bytes(device: Any) -> Dict[str, int]:
    import torch

    free, total = torch.cuda.mem_get_info(device)
    return {
        "allocated_bytes": torch.cuda.memory_allocated(device),
        "peak_allocated_bytes": torch.cuda.max_memory_allocated(device),
        "reserved_bytes": torch.cuda.memory_reserved(device),
        "peak_reserved_bytes": torch.cuda.max_memory_reserved(device),
        "free_bytes": free,
        "total_bytes": total,
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
        events.note("info", "no_allocator_snapshot", f"memory_snapshot.pickle is not written: {NO_GPU}")
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
    if device.type == "cuda":
        import torch

        record["memory_stats"] = torch.cuda.memory_stats(device)
    path = spec.output / "memory_stats.json"
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    events.file(path, "memory_stats")
