"""`with rooflens.profile(...)` around a user's torch code, and the pytest fixture `rooflens_budget`.

    WORKLOAD/bin/python oracles/check_profile.py --wheel target/wheels/rooflens-0.1.0-….whl --users VENV/bin/python

Needs torch, here on a CPU; pytest is lent by the environment of --users. The wheel is installed into a folder of its own,
and every script runs in a process of its own, as a user's would.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from judged import Judge
from rooflens_cli import existing

PYTEST = ["pytest", "_pytest", "pluggy", "iniconfig", "pygments", "py.py"]
CALLS = 300
SCRIPT = f"""
import torch
import rooflens

layer = torch.nn.Linear(64, 64)
inputs = torch.ones(8, 64)
with rooflens.profile("out") as p:
    with torch.no_grad():
        for _ in range({CALLS}):
            layer(inputs).relu()
print(p.verdict)
print(p.overhead)
"""
TELL = """
import json
print(json.dumps({
    "calls": {row["name"]: row["count"] for row in p.analysis.document["operators"]},
    "rows": len(p.analysis.tables["ops"]), "overhead": vars(p.overhead), "inside": p.overhead.inside_s,
    "trace": p.trace.is_file(), "report": p.report.is_file(), "again": len(rooflens.Run("out").tables["ops"]),
}))
"""
TESTS = """
import pytest, torch

def work(times):
    for _ in range(times):
        torch.ones(4) + 1

def test_within(rooflens_budget):
    with rooflens_budget(operators=500, host_time="10s"):
        work(3)

def test_over(rooflens_budget):
    with rooflens_budget(operators=5):
        work(50)

def test_without_a_device(rooflens_budget):
    with rooflens_budget(launches=10, copies=0, device_time="1ms"):
        work(3)

def test_wrong_time(rooflens_budget):
    with pytest.raises(ValueError, match="4ms"):
        rooflens_budget(device_time="soon")

def test_own_error(rooflens_budget):
    with pytest.raises(KeyError):
        with rooflens_budget(operators=1):
            raise KeyError("mine")
"""


class Here:
    """A folder, with the package on the path."""

    def __init__(self, folder: Path, package: Path):
        self.folder = folder
        path = {"PYTHONPATH": str(package), "PATH": "/usr/bin:/bin", "HOME": str(folder)}
        self.environment = {**path, **{key: os.environ[key] for key in ("OMP_NUM_THREADS",) if key in os.environ}}

    def python(self, code: str) -> str:
        argv = [sys.executable, "-c", code]
        done = subprocess.run(argv, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=300)
        if done.returncode:
            raise SystemExit(f"exit code {done.returncode}: {done.stderr[-2000:]}")
        return done.stdout


def script(here: Here):
    """Ten lines: verdict, counts, report, overhead."""
    said = here.python(SCRIPT + TELL).splitlines()
    told = json.loads(said[-1])
    if not said[0].startswith("CPU-only trace"):
        yield f"the verdict is {said[0]!r}"
    if not re.search(r"Recording [\d,]+ operator calls took about \d+\.\d% of the block", said[1]):
        yield f"the overhead is told as {said[1]!r}"
    for name in ("aten::linear", "aten::relu"):
        if told["calls"].get(name) != CALLS:
            yield f"{name} {told['calls'].get(name)} times, not {CALLS}"
    if not (told["trace"] and told["report"]) or told["rows"] != told["again"] or not told["rows"]:
        yield f"the run is not whole: {told}"
    overhead = told["overhead"]
    if not 0 < overhead["per_operator_ns"] < 1e6 or not 0 < told["inside"] <= overhead["block_s"]:
        yield f"the overhead cannot be: {overhead}"
    if overhead["operators"] < 2 * CALLS or min(overhead["setup_s"], overhead["export_s"], overhead["analysis_s"]) <= 0:
        yield f"the overhead is not whole: {overhead}"


def fixture(here: Here):
    (here.folder / "test_budget.py").write_text(TESTS)
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_budget.py"]
    done = subprocess.run(argv, cwd=here.folder, env=here.environment, capture_output=True, text=True, timeout=300)
    if not re.search(r"\b2 failed, 3 passed", done.stdout):
        yield f"not two failures of five: {done.stdout[-1500:]}{done.stderr[-500:]}"
    over = r"over budget\n  operators: \d+, and the budget is 5\n"
    for line in (over, r"cannot be checked\n  launches: no device was recorded\n"):
        if not re.search(line, done.stdout):
            yield f"it does not say {line!r}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--wheel", type=existing, required=True, metavar="FILE", help="the wheel")
    parser.add_argument("--users", type=Path, required=True, metavar="PYTHON", help="an interpreter with pytest")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder, package = Path(scratch) / "work", Path(scratch) / "package"
        folder.mkdir()
        install = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(package)]
        subprocess.run([sys.executable, *install, str(args.wheel)], check=True)
        ask = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
        lent = Path(subprocess.run([args.users, "-c", ask], capture_output=True, text=True, check=True).stdout.strip())
        for name in PYTEST:
            (package / name).symlink_to(lent / name)
        here = Here(folder, package)
        judge = Judge("check_profile")
        judge.check("a user's script", script(here))
        judge.check("budgets in pytest", fixture(here))
    return judge.finish()


if __name__ == "__main__":
    sys.exit(main())
