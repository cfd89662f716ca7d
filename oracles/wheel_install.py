"""The wheel under test: where it is, and a folder that has it installed."""

import argparse
import os
import subprocess
import sys
from pathlib import Path

from rooflens_cli import arguments, existing


def wheel_arguments(description: str) -> argparse.ArgumentParser:
    """Those of every oracle, and `--wheel`."""
    parser = arguments(description)
    parser.add_argument("--wheel", type=existing, required=True, metavar="FILE", help="as bash .ci/wheel builds it")
    return parser


def install(wheel: Path, folder: Path) -> Path:
    """Installs the wheel into a folder for PYTHONPATH, beside whatever this interpreter has."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps"]
    subprocess.run([*pip, "--target", str(folder), str(wheel)], check=True)
    return folder


def environment(installed: Path, **more: str) -> dict[str, str]:
    """An environment that has the installed wheel, and no network."""
    return {**os.environ, "PYTHONPATH": str(installed), "HF_HUB_OFFLINE": "1", **more}
