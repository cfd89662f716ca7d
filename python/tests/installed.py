"""The wheel, for tests of what its native module does.

The source tree has no native module. ROOFLENS_WHEEL names a built wheel; programs of these tests run elsewhere, so that
they import what it has. ROOFLENS_PYTEST_FROM names the site-packages of an interpreter that has pytest, where this one
has not.
"""

import importlib.util
import json
import os
import subprocess
import sys
import textwrap
import unittest
import zipfile
from pathlib import Path
from typing import Any, Dict, List, Optional

from tests.support import ALL, HAS_TORCH, temporary_folder

# What pytest consists of, besides what torch brings along.
PYTEST = ("pytest", "_pytest", "py.py", "pluggy", "iniconfig")


def find() -> Optional[Path]:
    wheel = os.environ.get("ROOFLENS_WHEEL")
    if wheel is None:
        return None
    folder = temporary_folder()
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def find_pytest() -> Optional[Path]:
    """A folder from which pytest can be imported, and little else."""
    named = os.environ.get("ROOFLENS_PYTEST_FROM")
    spec = importlib.util.find_spec("pytest")
    if named is None and (spec is None or spec.origin is None):
        return None
    site = Path(named) if named is not None else Path(str(spec.origin)).parents[1]
    links = temporary_folder()
    for name in PYTEST:
        (links / name).symlink_to(site / name)
    return links


WHEEL = find()
needs_wheel = unittest.skipUnless(WHEEL or ALL, "ROOFLENS_WHEEL names no wheel")
needs_wheel_and_torch = unittest.skipUnless(
    (WHEEL and HAS_TORCH) or ALL, "the wheel or torch is missing"
)


def run(argv: List[str], folder: Path, *paths: Path) -> "subprocess.CompletedProcess[str]":
    """Runs Python in a folder, with the wheel and other paths to import from."""
    search = os.pathsep.join(str(path) for path in (WHEEL, *paths) if path is not None)
    # What it leaves behind goes with the folder; and pytest cuts lines to the width of the screen.
    own = {"PYTHONPATH": search, "TMPDIR": str(folder), "COLUMNS": "200"}
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", **own}
    return subprocess.run([sys.executable, *argv], cwd=folder, env=environment, capture_output=True, text=True)


def facts(script: str, folder: Path, *paths: Path) -> Dict[str, Any]:
    done = run(["-c", textwrap.dedent(script)], folder, *paths)
    if done.returncode:
        raise AssertionError(done.stderr[-3000:])
    found: Dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
