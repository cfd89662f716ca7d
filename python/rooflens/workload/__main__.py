"""`python -m rooflens.workload SPEC.json`: runs one pass and exits.

Exit codes: 0 done · 1 the workload failed (the last event says why) · 2 the specification cannot be
read · 130 and 143 stopped by SIGINT and SIGTERM.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import time
from typing import List

from rooflens import runtimes
from rooflens.workload import errors, hello
from rooflens.workload.events import Events
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
            hello.say(spec, events)
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
