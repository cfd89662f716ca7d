"""The first event: who runs, with which versions, and how its clock stands to the world's."""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata
from typing import Dict, Optional

import rooflens
from rooflens.workload import clock
from rooflens.workload.events import SCHEMA, Events
from rooflens.workload.spec import Spec

PACKAGES = ("torch", "transformers", "tokenizers", "safetensors", "accelerate", "vllm", "tensorrt-llm", "triton", "flash-attn", "numpy")


def version(package: str) -> Optional[str]:
    """The installed version, by the package's own record: importing it would take seconds."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def say(spec: Spec, events: Events) -> None:
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
        clock=clock.anchor(),
        **{"pass": spec.pass_name},
    )
