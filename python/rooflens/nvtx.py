"""NVTX ranges by whatever this process has for them: torch, the nvtx package, or NVIDIA's library."""

from __future__ import annotations

import ctypes
import sys
from typing import Any, Optional


class TorchNvtx:
    def __init__(self, nvtx: Any):
        self.push = nvtx.range_push
        self.pop = nvtx.range_pop


class PackageNvtx:
    def __init__(self, nvtx: Any):
        self.push = nvtx.push_range
        self.pop = nvtx.pop_range


class LibraryNvtx:
    def __init__(self, library: Any):
        self._push = library.nvtxRangePushA
        self._push.argtypes = [ctypes.c_char_p]
        self.pop = library.nvtxRangePop

    def push(self, name: str) -> None:
        self._push(name.encode("utf-8", "replace"))


def find() -> Optional[Any]:
    """Something with `push(name)` and `pop()`, or null where nothing takes NVTX ranges."""
    return from_torch() or from_package() or from_library()


def from_torch() -> Optional[Any]:
    torch = sys.modules.get("torch")  # never imported for this: it takes seconds
    if torch is None:
        return None
    try:
        torch.cuda.nvtx.range_push("rooflens")
        torch.cuda.nvtx.range_pop()
    except (RuntimeError, AttributeError):
        return None  # built without CUDA
    return TorchNvtx(torch.cuda.nvtx)


def from_package() -> Optional[Any]:
    try:
        import nvtx
    except ImportError:
        return None
    return PackageNvtx(nvtx)


def from_library() -> Optional[Any]:
    for name in ("libnvToolsExt.so.1", "libnvToolsExt.so"):
        try:
            return LibraryNvtx(ctypes.CDLL(name))
        except (OSError, AttributeError):
            continue
    return None
