"""Events: what the workload tells while it runs, a JSON object a line.

They go to OUTPUT/events.jsonl, and to the file descriptor that ROOFLENS_EVENTS_FD names. A line is
written by one system call and never kept back, so whatever kills the process, all that was told
before stands there whole.
"""

import json
import os
import time
from pathlib import Path
from typing import Any, Dict, Optional, Tuple

SCHEMA = 1
FD_VARIABLE = "ROOFLENS_EVENTS_FD"

# Every event and its fields, beside `event` and `t_ns` that all have. README.md explains them.
FIELDS: Dict[str, Tuple[str, ...]] = {
    "hello": (
        "schema", "rooflens", "pid", "pass", "runtime", "python", "executable", "platform", "versions",
        "builds", "clock",
    ),
    "loading": ("what", "path"),
    "working": ("what",),
    "model": (
        "name", "path", "config_path", "architecture", "parameters", "parameter_bytes", "dtype", "device",
        "device_name", "layers", "attention", "compile", "weights", "seed", "load_ns",
    ),
    "dataset": ("name", "kind", "samples", "batch_size", "rounds"),
    "round_begin": ("round", "kind", "epoch", "batches"),
    "batch_begin": ("round", "batch", "samples"),
    "batch_end": (
        "round", "batch", "samples", "prompt_tokens", "output_tokens", "start_ns", "first_token_ns", "end_ns",
    ),
    "round_end": ("round", "kind", "dur_ns"),
    "memory": ("when", "device", "device_reason", "host_rss_bytes", "host_peak_rss_bytes"),
    "file": ("path", "kind", "bytes"),
    "note": ("severity", "code", "message"),
    "phase": ("phase", "step", "start_ns", "dur_ns", "pid"),
    "process": ("argv", "cwd", "pid", "exit_code", "dur_ns"),
    "stopped": ("signal", "stage"),
    "error": ("stage", "class", "message", "traceback", "hint"),
    "done": ("dur_ns",),
}


class Events:
    """The writer. `stage` is what the workload is at, for a failure to name."""

    def __init__(self, file: int, pipe: Optional[int], output: Path):
        self.stage = "starting"
        self.output = output
        self._file = file
        self._pipe = pipe

    @classmethod
    def open(cls, output: Path) -> "Events":
        output.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND
        return cls(os.open(output / "events.jsonl", flags, 0o644), inherited_fd(), output)

    def __enter__(self) -> "Events":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    def emit(self, event: str, **fields: Any) -> None:
        unknown = set(fields) ^ set(FIELDS[event])
        if unknown:
            raise TypeError(f"event {event}: missing or unknown fields {sorted(unknown)}")
        line = encode({"event": event, "t_ns": time.monotonic_ns(), **fields})
        write_whole(self._file, line)
        if self._pipe is not None:
            try:
                write_whole(self._pipe, line)
            except OSError:
                self._pipe = None  # nobody reads any more; the file goes on

    def file(self, path: Path, kind: str) -> None:
        """Tells that a file is complete. Its path is told from the output folder."""
        self.emit("file", path=os.path.relpath(path, self.output), kind=kind, bytes=path.stat().st_size)

    def note(self, severity: str, code: str, message: str) -> None:
        self.emit("note", severity=severity, code=code, message=message)


def inherited_fd() -> Optional[int]:
    """The descriptor to report to, if whoever started the process gave one."""
    text = os.environ.get(FD_VARIABLE)
    if not text:
        return None
    try:
        descriptor = int(text)
        # Kept from processes that libraries start: the reader sees the end when this process ends.
        os.set_inheritable(descriptor, False)
    except (ValueError, OSError):
        return None
    return descriptor


def encode(record: Dict[str, Any]) -> bytes:
    return (json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n").encode("utf-8", "replace")


def write_whole(descriptor: int, line: bytes) -> None:
    while line:
        line = line[os.write(descriptor, line):]
