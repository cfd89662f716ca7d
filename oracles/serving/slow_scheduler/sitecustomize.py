"""Python imports this at its start, where its folder is on PYTHONPATH: steps of vLLM's scheduler take longer.

SLOW_SCHEDULER_EVERY=N: every N-th step; SLOW_SCHEDULER_FILE: a file with the seconds, read at each of them, so that
they can be changed while the server runs.
"""

import importlib.abc
import importlib.machinery
import os
import sys
import time
from pathlib import Path

SCHEDULER = "vllm.v1.core.sched.scheduler"


class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name != SCHEDULER:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            module.Scheduler.schedule = slowed(module.Scheduler.schedule)

        spec.loader.exec_module = exec_module
        return spec


def slowed(schedule):
    every, seconds = int(os.environ["SLOW_SCHEDULER_EVERY"]), Path(os.environ["SLOW_SCHEDULER_FILE"])
    steps = 0

    def slow(self, *args, **kwargs):
        nonlocal steps
        steps += 1
        if steps % every == 0:
            time.sleep(float(seconds.read_text()))
        return schedule(self, *args, **kwargs)

    return slow


if "SLOW_SCHEDULER_FILE" in os.environ:
    sys.meta_path.insert(0, Finder())
