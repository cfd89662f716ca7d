"""The first event: who runs, with which versions, and how its clock stands to the world's."""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from importlib import metadata
from pathlib import Path
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
        builds={package: build(package) for package in COMMITS},
        clock=clock.anchor(),
        **{"pass": spec.pass_name},
    )
