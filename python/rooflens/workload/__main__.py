"""`python -m rooflens.workload SPEC.json`: runs one pass and exits.

Exit codes: 0 done · 1 the workload failed (the last event says why) · 2 the specification cannot be
read · 130 and 143 stopped by SIGINT and SIGTERM.
"""

import faulthandler
import json
import os
import platform
import re
import signal
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import Dict, List, Optional

import rooflens
from rooflens import runtimes
from rooflens.workload import clock, errors
from rooflens.workload.events import SCHEMA, Events
from rooflens.workload.spec import Spec


class Stopped(BaseException):
    """A signal asked the workload to stop. Not an Exception, so that no library swallows it."""

    def __init__(self, number: int):
        super().__init__(number)
        self.number = number


def stop(number: int, _frame: object) -> None:
    # Once only: what is saved on the way out must not be interrupted by an impatient second signal.
    signal.signal(number, signal.SIG_IGN)
    raise Stopped(number)


PACKAGES = ("torch", "transformers", "tokenizers", "safetensors", "accelerate", "vllm", "tensorrt-llm", "triton", "flash-attn", "numpy")


def version(package: str) -> Optional[str]:
    """The installed version, by the package's own record: importing it would take seconds."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


# Where a runtime's wheel keeps the commit it was built from, and what names it there.
COMMITS = {
    "torch": ("torch/version.py", r"^git_version = '([0-9a-f]+)'"),
    "vllm": ("vllm/_version.py", r"^__commit_id__ = commit_id = '(\w+)'"),
    "tensorrt-llm": ("tensorrt_llm/version.py", r"^__commit__ = '(\w+)'"),
}


def build(package: str) -> Optional[str]:
    """The commit that a runtime was built from, where its wheel or whoever installed it kept it."""
    try:
        installed = metadata.distribution(package)
        origin = json.loads(installed.read_text("direct_url.json") or "{}")
        commit = origin.get("vcs_info", {}).get("commit_id")
        if commit:
            return str(commit)
        name, pattern = COMMITS[package]
        text = Path(str(installed.locate_file(name))).read_text(encoding="utf-8")
        found = re.search(pattern, text, re.MULTILINE)
        return found.group(1) if found else None
    except (metadata.PackageNotFoundError, OSError, ValueError):
        return None


def say_hello(spec: Spec, events: Events) -> None:
    versions: Dict[str, Optional[str]] = {package: version(package) for package in PACKAGES}
    events.emit(
        "hello",
        schema=SCHEMA,
        rooflens=rooflens.__version__,
        pid=os.getpid(),
        runtime=spec.text("runtime.name"),
        python=platform.python_version(),
        executable=sys.executable,
        platform=platform.platform(),
        versions=versions,
        builds={package: build(package) for package in COMMITS},
        clock=clock.anchor(),
        **{"pass": spec.pass_name},
    )


def main(arguments: List[str]) -> int:
    if len(arguments) != 1:
        print("usage: python -m rooflens.workload SPEC.json", file=sys.stderr)
        return 2
    faulthandler.enable()  # a segmentation fault leaves a Python stack on stderr
    try:
        spec = Spec.read(arguments[0])
    except errors.WorkloadError as error:
        print(f"error: {error}\nhint: {error.hint}", file=sys.stderr)
        return 2
    os.environ.setdefault("HF_HUB_OFFLINE", "1")  # a model is a folder; nothing is ever fetched
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    began_ns = time.monotonic_ns()
    with Events.open(spec.output) as events:
        try:
            say_hello(spec, events)
            runtimes.find(spec.text("runtime.name")).run(spec, events)
        except Stopped as stopped:
            events.emit("stopped", signal=signal.Signals(stopped.number).name, stage=events.stage)
            return 128 + stopped.number
        except Exception as error:
            events.emit("error", stage=events.stage, **errors.describe(error))
            return 1
        events.emit("done", dur_ns=time.monotonic_ns() - began_ns)
    return 0


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    sys.exit(code)
