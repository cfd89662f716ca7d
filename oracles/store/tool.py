"""How the parts call Rooflens, kill it, and collect what is wrong."""

import json
import os
import re
import signal
import subprocess
import threading
import time
from pathlib import Path
from oracle import Outcome


PROGRESS = re.compile(r"hint:|adding |compacting ")
CONSISTENT = (
    "SELECT coalesce(r.run_id, k.run_id, u.run_id), r.n, k.n, k.s, u.n, u.s FROM "
    "(SELECT run_id, count(*) n FROM runs GROUP BY run_id) r FULL JOIN "
    "(SELECT run_id, count(*) n, sum(dur_ns) s FROM kernels GROUP BY run_id) k ON r.run_id = k.run_id FULL JOIN "
    "(SELECT run_id, sum(count) n, sum(total_ns) s FROM kernel_rollup GROUP BY run_id) u ON r.run_id = u.run_id"
)


class Tool:
    def __init__(self, binary: Path, query_path: Path | None, environment=None):
        self.binary = binary
        self.environment = {**os.environ, "RUST_BACKTRACE": "0", **(environment or {})}
        self.environment.pop("ROOFLENS_STORE", None)
        if query_path:
            self.environment["PATH"] = f"{query_path}{os.pathsep}{os.environ['PATH']}"

    def with_environment(self, **variables) -> "Tool":
        other = Tool(self.binary, None)
        other.environment = {**self.environment, **variables}
        return other

    def start(self, *words):
        argv = [str(self.binary), *map(str, words)]
        pipe = subprocess.PIPE
        return subprocess.Popen(argv, stdout=pipe, stderr=pipe, stdin=subprocess.DEVNULL, env=self.environment)

    def run(self, *words, timeout_s=300) -> Outcome:
        return ended(self.start(*words), timeout_s)

    def must(self, *words) -> Outcome:
        outcome = self.run(*words)
        if outcome.code != 0:
            raise SystemExit(f"rooflens {' '.join(map(str, words[:2]))} ended with {outcome.code}: {outcome.stderr}")
        return outcome

    def killed(self, delay_s: float, *words) -> Outcome | None:
        """Runs a command, SIGKILL after a delay: `None` if that ended it, else how it ended itself."""
        process = self.start(*words)
        try:
            out, err = process.communicate(timeout=delay_s)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
        if process.returncode == -signal.SIGKILL:
            return None
        return Outcome(process.returncode, out, err.decode("utf-8", "replace"))

    def query(self, address, sql=CONSISTENT) -> tuple[Outcome, list]:
        outcome = self.run("query", sql, "--store", address, "--format", "json", "-q")
        return outcome, json.loads(outcome.stdout)["rows"] if outcome.code == 0 else []


def ended(process, timeout_s=300) -> Outcome:
    try:
        out, err = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        err += b"\nstill running after %d s, killed" % timeout_s
    return Outcome(process.returncode, out, err.decode("utf-8", "replace"))


def query_mistakes(rows, runs, wanted, maybe=()) -> list[str]:
    wrong, found = [], set()
    for run, *figures in rows:
        found.add(run)
        if run not in runs or (run not in wanted and run not in maybe):
            wrong.append(f"rooflens query shows run {run}, which should not be there")
            continue
        kernels, total = runs[run].figures["kernels"][:2]
        if figures != [1, kernels, total, kernels, total]:
            wrong.append(f"rooflens query shows {figures} of run {run}, expected {[1, kernels, total, kernels, total]}")
    wrong += [f"rooflens query does not show run {run}" for run in sorted(set(wanted) - found)]
    return wrong


def unclean(outcome: Outcome) -> str | None:
    """Why an error is not one that a user can read; `None` for a clean one."""
    lines = [line for line in outcome.stderr.splitlines() if line.strip()]
    errors = [line for line in lines if not PROGRESS.match(line)]
    if outcome.code in (70, 101) or outcome.code < 0 or "panicked" in outcome.stderr:
        return f"crashed with {outcome.code}: {outcome.stderr[-300:]}"
    if outcome.code == 0:
        return "ended with 0"
    if len(errors) != 1 or not errors[0].startswith("error"):
        return f"more or less than one line of error: {outcome.stderr[-300:]!r}"
    return None


class Part:
    """Counts and mistakes of one part, from any thread."""

    def __init__(self, name):
        self.name, self.counts, self.mistakes = name, {}, []
        self.lock = threading.Lock()

    def count(self, what, by=1):
        with self.lock:
            self.counts[what] = self.counts.get(what, 0) + by

    def wrong(self, *mistakes):
        with self.lock:
            self.mistakes += mistakes

    def check(self, holds, mistake):
        self.count("checks")
        if not holds:
            self.wrong(mistake)
        return holds


class Watch:
    """Looks again and again in a thread, while others write."""

    def __init__(self, part: Part, look, pause_s=0.0):
        self.part, self.look, self.pause_s = part, look, pause_s
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self):
        while not self.stop.is_set():
            started = time.monotonic()
            try:
                self.look()
            except Exception as error:  # a reader that fails is a finding
                self.part.wrong(f"a reader failed: {type(error).__name__}: {error}")
            # Readers take at most a third of the time: writers are what is tested.
            self.stop.wait(max(self.pause_s, 2 * (time.monotonic() - started)))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()


def add(tool, store, *runs, options=()):
    return tool.run("store", "add", *(run.folder for run in runs), "--store", store.address, "-q", *options)
