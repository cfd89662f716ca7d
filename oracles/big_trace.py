"""Traces that take seconds to read, made from a real one."""

import subprocess
import sys
from pathlib import Path

# A vLLM prefill step of gpt-oss-120b on B200, with Python stacks.
REAL = "kineto/tracelens/b200/eager_trace.json.gz"


def maker(corpus: Path) -> Path:
    return corpus.parent / "tools/make-big-trace"


def make(corpus: Path, file: Path, megabytes: int) -> Path:
    argv = [sys.executable, str(maker(corpus)), str(corpus / REAL), str(file), str(megabytes)]
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
    return file


def job(trace: Path, folder: Path, ranks: int) -> Path:
    """A job whose ranks are all this trace: the time of a large one, the disk space of one."""
    folder.mkdir()
    for rank in range(ranks):
        (folder / f"rank-{rank}.json").hardlink_to(trace)
    return folder
