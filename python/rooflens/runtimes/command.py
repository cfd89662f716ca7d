"""Any program of the user's. It is started, watched and told what is asked of it; the rest is its own.

It learns by environment variables: ROOFLENS_BATCH_SIZE, ROOFLENS_PASS, ROOFLENS_OUTPUT (a folder it may
write to), ROOFLENS_SEED, ROOFLENS_MAX_NEW_TOKENS; ROOFLENS_EVENTS_FD for `rooflens.probe`; and
ROOFLENS_TRACE in the torch_profiler pass, at which the probe starts torch.profiler.
"""

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Dict, List

import rooflens
from rooflens.workload.errors import WorkloadError
from rooflens.workload.events import FD_VARIABLE, Events
from rooflens.workload.spec import Spec


def run(spec: Spec, events: Events) -> None:
    argv = spec.words("runtime.argv")
    if not argv:
        raise WorkloadError("runtime.argv is empty", "runtime.argv=[python, serve.py]")
    cwd = spec.project / spec.text("runtime.cwd", ".")
    trace = spec.output / "trace.json.gz"
    events.stage = f"running {argv[0]}"
    began_ns = time.monotonic_ns()
    # A file, not our own pipe: what the program marked stays whole, whoever dies first.
    phases = spec.output / "phases.jsonl"
    with open(phases, "ab", buffering=0) as file:
        process = start(argv, cwd, environment(spec, trace, file.fileno()), file.fileno())
        code = wait(process)
    events.emit(
        "process", argv=argv, cwd=str(cwd), pid=process.pid, exit_code=code, dur_ns=time.monotonic_ns() - began_ns
    )
    events.file(phases, "phases")
    if trace.exists():
        events.file(trace, "kineto")
    elif spec.pass_name == "torch_profiler":
        events.note("warning", "no_trace", "the program used no rooflens.probe with torch, so there is no trace")
    if code != 0:
        how = f"exit code {code}" if code > 0 else f"signal {-code}"
        raise WorkloadError(f"{argv[0]} ended with {how}", "see its own output above")


def environment(spec: Spec, trace: Path, target: int) -> Dict[str, str]:
    variables = dict(os.environ)
    package = str(Path(rooflens.__file__).resolve().parents[1])
    variables["PYTHONPATH"] = os.pathsep.join(filter(None, [variables.get("PYTHONPATH"), package]))
    variables[FD_VARIABLE] = str(target)
    variables["ROOFLENS_BATCH_SIZE"] = str(spec.count("runtime.batch_size", 1))
    variables["ROOFLENS_PASS"] = spec.pass_name
    variables["ROOFLENS_OUTPUT"] = str(spec.output)
    variables["ROOFLENS_SEED"] = str(spec.count("seed", 0, least=0))
    variables["ROOFLENS_MAX_NEW_TOKENS"] = str(spec.max_new_tokens)
    if spec.pass_name == "torch_profiler":
        variables["ROOFLENS_TRACE"] = str(trace)
        variables["ROOFLENS_TRACE_OPTIONS"] = json.dumps(spec.profiler_options)
    return variables


def start(argv: List[str], cwd: Path, variables: Dict[str, str], target: int) -> "subprocess.Popen[bytes]":
    try:
        return subprocess.Popen(argv, cwd=cwd, env=variables, pass_fds=[target])
    except OSError as error:
        raise WorkloadError(f"cannot start {argv[0]} in {cwd}: {error.strerror}", "check runtime.argv and runtime.cwd")


def wait(process: "subprocess.Popen[bytes]") -> int:
    try:
        return process.wait()
    except BaseException:
        # We are asked to stop: so is it, and what it has to save, it may save.
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        raise
