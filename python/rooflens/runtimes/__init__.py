"""The runtimes that can run a workload, one module each, in the order they are listed."""

import importlib
from dataclasses import dataclass
from typing import Tuple

from rooflens.workload.errors import WorkloadError
from rooflens.workload.events import Events
from rooflens.workload.spec import Spec


@dataclass(frozen=True)
class Runtime:
    """A name of `runtime.name` and the module whose `run(spec, events)` runs it."""

    name: str
    module: str

    def run(self, spec: Spec, events: Events) -> None:
        # Imported only now: another runtime's library may not be installed.
        importlib.import_module(self.module).run(spec, events)


ALL: Tuple[Runtime, ...] = (
    Runtime("pytorch", "rooflens.runtimes.pytorch"),
    Runtime("vllm", "rooflens.runtimes.vllm"),
    Runtime("tensorrt_llm", "rooflens.runtimes.tensorrt_llm"),
    Runtime("command", "rooflens.runtimes.command"),
)


def find(name: str) -> Runtime:
    for runtime in ALL:
        if runtime.name == name:
            return runtime
    known = ", ".join(runtime.name for runtime in ALL)
    raise WorkloadError(f"runtime.name is {name!r}, which is not a runtime", f"one of: {known}")
