"""Runs the steps of .ci/steps.py. `.ci/run` and `.ci/full` start this file.

    bash .ci/run [--everything] [--only TEXT] [--keep-going]
    bash .ci/full [--resume] [--only TEXT] [--keep-going]

Tracked files are copied into the cache and checked there. Several steps run at a time. A check is skipped if
everything that it covers equals what it covered when it last passed on this machine.
"""

import argparse
import fcntl
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import tree
from coverage import Coverage
from places import CACHE, ENVIRONMENT, TARGETS, TREE
from steps import STEPS, Stage, Step

# Builds of old versions pile up. A full disk fails every step.
MAX_CACHE_MB = 28_000
# Lines of a failed step's output that appear again at the end.
SHOWN_LINES = 30
PASSED = CACHE / "full.passed"


@dataclass
class Result:
    step: Step
    wall_s: float = 0.0
    cpu_s: float = 0.0
    exit_code: int | None = None
    output: str = ""

    @property
    def passed(self) -> bool:
        return self.exit_code in (None, 0)

    @property
    def skipped(self) -> bool:
        return self.exit_code is None


class Gate:
    def __init__(self, options: argparse.Namespace, tracked: list[Path]):
        self.coverage = Coverage(tracked)
        self.is_full = options.gate == "full"
        self.skips = not (self.is_full or options.everything)
        self.variables = {} if self.skips else {"ROOFLENS_SKIP_NOTHING": "1"}
        if self.is_full:
            self.variables["ROOFLENS_WHOLE_CORPUS"] = "1"
        self.keeps_going = options.keep_going
        self.only = options.only
        self.resumed = passed_before() if options.resume else set()
        self.results: list[Result] = []
        self.lock = threading.Lock()
        self.running: dict[int, subprocess.Popen] = {}

    def run(self) -> int:
        """Runs every stage; returns the exit code."""
        if not self.resumed:
            PASSED.unlink(missing_ok=True)
        steps = [step for step in STEPS if not (step.run_only if self.is_full else step.full_only)]
        for stage in Stage:
            chosen = [step for step in steps if step.stage is stage]
            if stage in (Stage.CHECK, Stage.ALONE) and self.only:
                chosen = [step for step in chosen if self.only in step.name]
            # A build lane keeps its order. Checks go to the first free lane.
            queues = {lane: [s for s in chosen if s.lane == lane] for lane in {step.lane for step in chosen}}
            shared = queues.pop(None, [])
            lanes = {Stage.BUILD: [queues.get(1, []), queues.get(2, [])], Stage.CHECK: [[], [], []]}.get(stage, [[]])
            threads = [threading.Thread(target=self.follow, args=(lane, shared)) for lane in lanes]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            if self.failed:
                return self.report_failure()
        return self.report()

    @property
    def failed(self) -> list[Result]:
        return [result for result in self.results if not result.passed]

    def follow(self, own: list[Step], shared: list[Step]) -> None:
        """Runs the steps of a lane, then shared steps, until none is left or, without --keep-going, one has failed."""
        while self.keeps_going or not self.failed:
            with self.lock:
                queue = own or shared
                if not queue:
                    return
                step = queue.pop(0)
            self.take(step)

    def take(self, step: Step) -> None:
        key = self.coverage.key(step) if step.stage is Stage.CHECK and not step.always else None
        if step.name in self.resumed or (self.skips and key is not None and self.coverage.has_passed(step, key)):
            self.finish(Result(step))
            return
        print(f"... {step.name}", flush=True)
        result = self.execute(step)
        if result.passed and key is not None:
            self.coverage.remember(step, key)
        self.finish(result)

    def execute(self, step: Step) -> Result:
        begin = time.monotonic()
        with tempfile.TemporaryFile() as log:
            process = subprocess.Popen(
                step.argv(), stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                env={**os.environ, **ENVIRONMENT, **step.variables(), **self.variables}, start_new_session=True,
            )  # fmt: skip
            self.running[process.pid] = process
            _, status, usage = os.wait4(process.pid, 0)
            del self.running[process.pid]
            process.returncode = os.waitstatus_to_exitcode(status)
            log.seek(0)
            output = log.read().decode(errors="replace")
        cpu_s = usage.ru_utime + usage.ru_stime
        return Result(step, time.monotonic() - begin, cpu_s, process.returncode, output)

    def finish(self, result: Result) -> None:
        with self.lock:
            self.results.append(result)
            if result.skipped:
                print(f"=== {result.step.name}: skipped, it covers nothing that changed", flush=True)
                return
            if result.passed:
                with open(PASSED, "a") as file:
                    file.write(f"{result.step.name}\n")
            print(f"\n=== {result.step.name}\n{result.output}", end="" if result.output.endswith("\n") else "\n")
            state = "passed" if result.passed else f"FAILED with exit code {result.exit_code}"
            print(f"--- {result.step.name}: {state} after {result.wall_s:.0f} s", flush=True)

    def report(self) -> int:
        """Prints the seconds of each step, slowest first, and the count."""
        print("\nSeconds and CPU seconds of each step:")
        for result in sorted(self.results, key=lambda result: -result.wall_s):
            cost = f"{result.wall_s:7.0f} {result.cpu_s:7.0f}" if not result.skipped else "skipped".rjust(15)
            print(f"{cost}  {result.step.name}")
        print(f"{time.monotonic() - STARTED:7.0f} {sum(r.cpu_s for r in self.results):7.0f}  in all\n")
        passed = sum(result.passed and not result.skipped for result in self.results)
        skipped = sum(result.skipped for result in self.results)
        print(f"{passed} passed, {len(self.failed)} failed, {skipped} skipped")
        return 1 if self.failed else 0

    def report_failure(self) -> int:
        """Repeats the end of each failed step's output, and prints the command that repeats the step."""
        self.report()
        for result in self.failed:
            print("\n" + "\n".join(result.output.splitlines()[-SHOWN_LINES:]))
            print(f"FAILED: {result.step.name}. To repeat it:")
            print(f"  cd {shlex.quote(str(TREE))}")
            variables = {**ENVIRONMENT, **result.step.variables()}
            print(f"  env {' '.join(f'{name}={shlex.quote(value)}' for name, value in variables.items())} \\")
            print(f"    {shlex.join(result.step.argv())}")
        return 1

    def stop(self, number: int, _frame: object) -> None:
        """Ends every running step. Steps have process groups, which an interrupt at the terminal does not reach."""
        for pid in list(self.running):
            os.killpg(pid, signal.SIGTERM)
        os._exit(128 + number)


def passed_before() -> set[str]:
    """The steps that passed in an unfinished run of .ci/full."""
    return set(PASSED.read_text().splitlines()) if PASSED.exists() else set()


def make_room() -> None:
    """Removes everything built if the cache has grown beyond its limit."""
    used = subprocess.run(["du", "-sm", CACHE], capture_output=True, text=True, check=True).stdout
    if int(re.match(r"\d+", used)[0]) > MAX_CACHE_MB:
        for folder in TARGETS:
            shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("gate", choices=["run", "full"])
    parser.add_argument("--everything", action="store_true", help="skip no check, even if nothing changed")
    parser.add_argument("--resume", action="store_true", help="skip the steps that passed before the last run ended")
    parser.add_argument("--only", default="", metavar="TEXT", help="of the checks, run those whose name contains TEXT")
    parser.add_argument("--keep-going", action="store_true", help="after a failure, run the other steps of the stage")
    parser.add_argument("--list", action="store_true", help="print every step and its gate")
    options = parser.parse_args()
    if options.list:
        for step in STEPS:
            gates = "full" if step.full_only else "run" if step.run_only else "both"
            print(f"{gates:5} {step.name}")
        return 0
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / "gate.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        global STARTED
        STARTED = time.monotonic()  # The wait for another gate does not count.
        make_room()
        gate = Gate(options, tree.copy_tracked_files(TREE))
        os.chdir(TREE)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, gate.stop)
        return gate.run()


STARTED = 0.0

if __name__ == "__main__":
    sys.exit(main())
