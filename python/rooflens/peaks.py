"""What the machine at hand can do: the best matrix multiplication of each format, the best bandwidth.

    python -m rooflens.peaks [--device auto] [--seconds 10]

Prints one JSON document. A rate is that of the fastest run: the question is what can be reached, not
what usually is. What a device cannot do is listed with the reason, never as zero.

Exit codes: 0 done · 1 failed · 3 torch or the device is not there; stderr says what helps.
"""

import argparse
import json
import os
import platform
import statistics
import sys
import time
from typing import Any, Callable, Dict, List, Optional

from rooflens import devices

#: Exit code: something is not installed, or not there.
MISSING = 3
#: Sides of the square matrices that are tried, smallest first.
SIDES = (512, 1024, 2048, 4096, 8192, 16384)
#: A larger side is not tried where one multiplication would take longer than this part of its time.
MOST_OF_BUDGET = 0.5
#: Large enough that no cache holds it.
BANDWIDTH_BYTES = 1 << 30


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m rooflens.peaks", description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="auto", help="cpu, cuda, cuda:1, auto")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long to measure, in all")
    arguments = parser.parse_args()
    try:
        import torch
    except ImportError as error:
        print(f"error: {error}\nhint: {sys.executable} -m pip install torch", file=sys.stderr)
        return MISSING
    name = arguments.device
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        if device.type not in ("cpu", "cuda"):
            raise RuntimeError("peaks can only be measured on cpu and cuda")
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).split("\n")[0]
        print(f"error: {name} cannot be used: {reason}\nhint: --device cpu; rooflens doctor --deep", file=sys.stderr)
        return MISSING
    print(json.dumps(measured(torch, device, arguments.seconds)))
    return 0


def measured(torch: Any, device: Any, seconds: float) -> Dict[str, Any]:
    """Half of the time for multiplications, half for bandwidth."""
    skipped: List[Dict[str, str]] = []
    formats = multiplications(torch, device)
    matmul = []
    for dtype, prepare in formats.items():
        try:
            matmul.append(best_matmul(torch, device, dtype, prepare, seconds / 2 / len(formats)))
        except (RuntimeError, TypeError, NotImplementedError, AttributeError) as error:
            skipped.append({"what": f"matmul {dtype}", "reason": str(error).split("\n")[0][:200]})
    return {
        "schema": 1,
        "device": about(torch, device),
        "matmul": matmul,
        "bandwidth": bandwidths(torch, device, seconds / 2),
        "skipped": skipped,
        "versions": {"torch": torch.__version__, "python": platform.python_version()},
    }


def about(torch: Any, device: Any) -> Dict[str, Any]:
    if device.type == "cuda":
        properties = torch.cuda.get_device_properties(device)
        return {
            "kind": "gpu",
            "name": properties.name,
            "arch": getattr(properties, "gcnArchName", None) or f"sm_{properties.major}{properties.minor}",
            "compute_units": properties.multi_processor_count,
            "memory_bytes": properties.total_memory,
            "threads": None,
        }
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else None
    return {
        "kind": "cpu",
        "name": devices.processor(),
        "arch": platform.machine(),
        "compute_units": os.cpu_count(),
        "memory_bytes": memory,
        "threads": torch.get_num_threads(),
    }


def multiplications(torch: Any, device: Any) -> Dict[str, Callable[[int], Callable[[], Any]]]:
    """For each format, what prepares a multiplication of matrices of a given side."""

    def plain(dtype: Any) -> Callable[[int], Callable[[], Any]]:
        def prepare(side: int) -> Callable[[], Any]:
            left = torch.randn(side, side, device=device).to(dtype)
            right = torch.randn(side, side, device=device).to(dtype)
            out = torch.empty(side, side, device=device, dtype=dtype)
            return lambda: torch.mm(left, right, out=out)

        return prepare

    def precise(allow: bool) -> Callable[[int], Callable[[], Any]]:
        def prepare(side: int) -> Callable[[], Any]:
            torch.backends.cuda.matmul.allow_tf32 = allow
            return plain(torch.float32)(side)

        return prepare

    def whole(side: int) -> Callable[[], Any]:
        left = torch.randint(-8, 8, (side, side), device=device, dtype=torch.int8)
        right = torch.randint(-8, 8, (side, side), device=device, dtype=torch.int8).t()
        return lambda: torch._int_mm(left, right)

    def eighth(side: int) -> Callable[[], Any]:
        kind = torch.float8_e4m3fn
        left = torch.randn(side, side, device=device).to(kind)
        right = torch.randn(side, side, device=device).to(kind).t()
        one = torch.ones((), device=device)
        return lambda: torch._scaled_mm(left, right, scale_a=one, scale_b=one, out_dtype=torch.bfloat16)

    formats = {"fp32": precise(False), "bf16": plain(torch.bfloat16), "fp16": plain(torch.float16), "int8": whole}
    if device.type == "cuda":
        formats.update({"tf32": precise(True), "fp8": eighth})
    return formats


def best_matmul(torch: Any, device: Any, dtype: str, prepare: Callable, seconds: float) -> Dict[str, Any]:
    best: Optional[Dict[str, Any]] = None
    end = time.monotonic() + seconds
    for side in SIDES:
        times = timed(torch, device, prepare(side), seconds / len(SIDES))
        rate = 2 * side**3 / (min(times) / 1e9)
        if best is None or rate > best["flops_per_s"]:
            best = {"dtype": dtype, "side": side, **summary(times), "flops_per_s": rate}
        # Twice the side takes eight times as long.
        if 8 * min(times) / 1e9 > MOST_OF_BUDGET * max(end - time.monotonic(), 0):
            break
    assert best is not None
    return best


def bandwidths(torch: Any, device: Any, seconds: float) -> List[Dict[str, Any]]:
    """Bytes that must cross between memory and chip. What caches fetch besides is not counted."""
    count = BANDWIDTH_BYTES // 4
    source = torch.ones(count, device=device, dtype=torch.float32)
    target = torch.zeros_like(source)
    kinds = {
        "copy": (2, lambda: target.copy_(source)),
        "scale": (2, lambda: torch.mul(source, 2.0, out=target)),
        "read": (1, lambda: source.sum()),
    }
    found = []
    for kind, (passes, work) in kinds.items():
        times = timed(torch, device, work, seconds / len(kinds))
        moved = passes * BANDWIDTH_BYTES
        found.append({"kind": kind, "bytes": moved, **summary(times), "bytes_per_s": moved / (min(times) / 1e9)})
    return found


def summary(times: List[int]) -> Dict[str, int]:
    return {"runs": len(times), "best_ns": min(times), "median_ns": int(statistics.median(times))}


def timed(torch: Any, device: Any, work: Callable[[], Any], seconds: float) -> List[int]:
    """Nanoseconds of each run; at least three, the first of all, which prepares things, left out."""
    wait = (lambda: torch.cuda.synchronize(device)) if device.type == "cuda" else (lambda: None)
    work()
    wait()
    times: List[int] = []
    end = time.monotonic() + seconds
    while len(times) < 3 or time.monotonic() < end:
        begin = time.perf_counter_ns()
        work()
        wait()
        times.append(time.perf_counter_ns() - begin)
    return times


if __name__ == "__main__":
    sys.exit(main())
