"""Runs the Rust tests, except those of test programs that cover nothing that changed since they last passed.

ROOFLENS_SKIP_NOTHING runs them all. Tests that need the corpus or a library are ignored by default. Here they run, and
fail if it is absent.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from coverage import Coverage
from places import BINARY, MOCK, TREE
from steps import Stage, Step

NEXTEST = ["cargo", "nextest"]
# Slow tests, which .ci/full runs; tests that start PyTorch; and programs that other tests start.
LEFT_OUT = "test(nightly_) + test(/_on_torch$/) + test(started_by_)"


def test_programs() -> dict[str, dict]:
    """Nextest's description of each test program, by its id."""
    argv = [*NEXTEST, "list", "--workspace", "--locked", "--list-type", "binaries-only", "--message-format", "json"]
    listed = subprocess.run([*argv, "--cargo-quiet"], check=True, capture_output=True, text=True).stdout
    return json.loads(listed)["rust-binaries"]


def step(identifier: str, program: dict) -> Step:
    """The tests of one program as a step, whose coverage decides whether they run."""
    folder = Path(program["package-id"].removeprefix("path+file://").split("#")[0]).relative_to(TREE)
    # Tests of the command line and of the mock server start programs.
    programs = (str(BINARY), str(MOCK)) if folder.name in ("rooflens", "rooflens-mock") else ()
    runs = (program["binary-path"], *programs)
    name = f"tests of {identifier}"
    return Step(name=name, command=(), stage=Stage.CHECK, covers=named_files(folder), covers_data=False, runs=runs)


def named_files(folder: Path) -> tuple[str, ...]:
    """Files and folders that the tests of a crate can read: the crate's own, and those that its sources name."""
    sources = "\n".join(path.read_text() for path in folder.rglob("*.rs"))
    # Relative to the crate or to one of its files.
    named = set(re.findall(r"\.\./([A-Za-z.][\w./-]*)", sources))
    return (f"{folder}/", "fixtures/", "catalog/", *sorted(name for name in named if (TREE / name).exists()))


def main() -> int:
    runs_all = "ROOFLENS_SKIP_NOTHING" in os.environ
    tracked = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], capture_output=True, check=True, text=True)
    coverage = Coverage([Path(name) for name in tracked.stdout.split("\0") if name])
    steps = {identifier: step(identifier, program) for identifier, program in test_programs().items()}
    keys = {identifier: coverage.key(step) for identifier, step in steps.items()}
    stale = [name for name, step in steps.items() if runs_all or not coverage.has_passed(step, keys[name])]
    print(f"{len(stale)} of {len(steps)} test programs cover something that changed", flush=True)
    if not stale:
        return 0
    chosen = " + ".join(f"binary_id(={identifier})" for identifier in stale)
    argv = [*NEXTEST, "run", "--workspace", "--locked", "--cargo-quiet", "--run-ignored", "all", "--no-fail-fast",
            "--status-level", "fail", "--final-status-level", "slow", "-E", f"({chosen}) - ({LEFT_OUT})"]  # fmt: skip
    status = subprocess.run(argv).returncode
    if status == 0:
        for identifier in stale:
            coverage.remember(steps[identifier], keys[identifier])
    return status


if __name__ == "__main__":
    sys.exit(main())
