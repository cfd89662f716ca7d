"""NVTX ranges by whatever this process has for them: torch, the nvtx package, or NVIDIA's library."""

import ctypes
import sys
from typing import Any, Callable, NamedTuple, Optional


class Nvtx(NamedTuple):
    push: Callable[[str], Any]
    pop: Callable[[], Any]


def find() -> Optional[Nvtx]:
    """What takes NVTX ranges here, or null."""
    return from_torch() or from_package() or from_library()


def from_torch() -> Optional[Nvtx]:
    torch = sys.modules.get("torch")  # never imported for this: it takes seconds
    if torch is None:
        return None
    try:
        torch.cuda.nvtx.range_push("rooflens")
        torch.cuda.nvtx.range_pop()
    except (RuntimeError, AttributeError):
        return None  # built without CUDA
    return Nvtx(torch.cuda.nvtx.range_push, torch.cuda.nvtx.range_pop)


def from_package() -> Optional[Nvtx]:
    try:
        import nvtx
    except ImportError:
        return None
    return Nvtx(nvtx.push_range, nvtx.pop_range)


def from_library() -> Optional[Nvtx]:
    for name in ("libnvToolsExt.so.1", "libnvToolsExt.so"):
        try:
            library = ctypes.CDLL(name)
            push, pop = library.nvtxRangePushA, library.nvtxRangePop
        except (OSError, AttributeError):
            continue
        push.argtypes = [ctypes.c_char_p]
        return Nvtx(lambda text: push(text.encode("utf-8", "replace")), pop)
    return None
