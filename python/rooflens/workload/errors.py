"""Failures, told so that somebody can act on them: what happened, and what helps."""

import traceback
from typing import Any, Dict, Optional

# The end of a traceback names the place; its beginning is our own driver.
TRACEBACK_LINES = 40


class WorkloadError(Exception):
    """A failure whose cause is known; `hint` says what to do about it."""

    def __init__(self, message: str, hint: Optional[str] = None):
        super().__init__(message)
        self.hint = hint


class DeviceError(WorkloadError):
    """The machine, or torch on it, has no such device: nothing is wrong with the workload."""


def describe(error: BaseException) -> Dict[str, Any]:
    """The fields of an `error` event, but for its stage."""
    lines = "".join(traceback.format_exception(type(error), error, error.__traceback__)).splitlines()
    return {
        "class": type(error).__name__,
        "message": str(error) or repr(error),
        "traceback": lines[-TRACEBACK_LINES:],
        "hint": hint(error),
    }


def hint(error: BaseException) -> Optional[str]:
    """What helps, where that is known; null otherwise."""
    if isinstance(error, WorkloadError):
        return error.hint
    text = str(error)
    if isinstance(error, ModuleNotFoundError):
        return f"install {error.name} into the interpreter that runtime.python names, or name another one"
    if type(error).__name__ == "OutOfMemoryError" or "out of memory" in text.lower():
        return "lower runtime.batch_size or infer.max_new_tokens, or choose a smaller model.dtype"
    if isinstance(error, MemoryError):
        return "the host's memory is full: lower runtime.batch_size or take a smaller model"
    if "trust_remote_code" in text:
        return "the model comes with code of its own: set model.trust_remote_code=true if you trust it"
    if "CUDA" in text and "driver" in text.lower():
        return "torch does not match the driver: rooflens doctor"
    if "safetensors" in text or "no file named" in text.lower():
        return "model.path has no weights: link them (rooflens assets status) or set model.weights=random"
    return None
