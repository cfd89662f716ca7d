"""Long work in Python: other threads go on, Ctrl-C ends it, and it is as quick as the command line.

Threads and Ctrl-C: on a job of five ranks of 200 MB, made of a real trace. `--large` takes a trace of 1 GB instead,
kept in ROOFLENS_CACHE, and judges times: for a machine with nothing else to do. Otherwise they are compared with the
time of the whole analysis.
"""

import json
import os
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import big_trace
from oracle import FIXTURES, WHEEL, install, installed_environment, main, option

SMALL = FIXTURES / "kineto/decode.json"
ROUNDS = 3
# At most this much longer than the command line.
RATIO = 1.1
# A thread that wakes every 5 ms keeps at least this part of its beat; on a busy machine, it wakes at least so often.
BEAT = 0.5
FEWEST = 20
INTERRUPT_AFTER_S = 0.3
INTERRUPTED_WITHIN_S = 0.5

# Prints how often a thread woke per second: while nothing else was done, and during an analysis; and its longest sleep.
THREADS = """
import json, sys, threading, time
import rooflens
woke = []
def beat():
    while True:
        time.sleep(0.005)
        woke.append(time.monotonic())
threading.Thread(target=beat, daemon=True).start()
def count(work):
    begun = time.monotonic()
    work()
    ended = time.monotonic()
    inside = [begun, *(at for at in woke if begun < at < ended), ended]
    return {"per_s": (len(inside) - 2) / (ended - begun), "longest_s": max(b - a for a, b in zip(inside, inside[1:])),
            "takes_s": ended - begun}
idle = count(lambda: time.sleep(1))
print(json.dumps({"idle": idle, "busy": count(lambda: rooflens.analyze(sys.argv[1]))}))
"""

# Waits for Ctrl-C in an analysis, and goes on.
INTERRUPTED = """
import json, sys, time
import rooflens
output = sys.argv[3] if len(sys.argv) > 3 else None
print("ready", flush=True)
try:
    rooflens.analyze(sys.argv[1], output=output)
    print(json.dumps({"at": None}))
except KeyboardInterrupt:
    at = time.monotonic()
    time.sleep(1)  # what was told to end has ended
    again = rooflens.analyze(sys.argv[2], output=output)
    print(json.dumps({"at": at, "again": again.verdict, "stopped": again.stopped}))
"""


def python(code: str, *words, env) -> subprocess.Popen:
    argv = [sys.executable, "-c", code, *map(str, words)]
    return subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def threads(trace: Path, env, seen: dict, is_judged: bool):
    out, errors = python(THREADS, trace, env=env).communicate(timeout=120)
    seen.update(json.loads(out) if out else {})
    idle, busy = seen["idle"], seen["busy"]
    # Where the lock is held, there is no beat at all.
    if busy["per_s"] * busy["takes_s"] < FEWEST or busy["longest_s"] > busy["takes_s"] / 2:
        yield f"{busy['per_s']:.1f} beats per second of {busy['takes_s']:.1f}, the longest pause {busy['longest_s']:.1f} s"
    if is_judged and busy["per_s"] < BEAT * idle["per_s"]:
        yield f"{busy['per_s']:.0f} beats per second, and {idle['per_s']:.0f} when idle"
    if errors:
        yield errors[-500:]


def interrupted(trace: Path, env, within_s: float, seen: dict, *output):
    """KeyboardInterrupt soon after the signal; then the same process answers again and ends by itself."""
    process = python(INTERRUPTED, trace, SMALL, *output, env=env)
    assert process.stdout.readline() == "ready\n", process.stderr.read()
    time.sleep(INTERRUPT_AFTER_S)
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    if process.returncode != 0 or not out:
        yield f"exit code {process.returncode}: {errors[-500:]}"
        return
    answer = json.loads(out)
    if answer["at"] is None:
        yield "the analysis ended before Ctrl-C"
        return
    seen["after_s"] = answer["at"] - sent
    if seen["after_s"] > within_s:
        yield f"KeyboardInterrupt after {seen['after_s']:.2f} s"
    if not answer["again"] or answer["stopped"]:
        yield f"the next analysis: {answer}"


def speed(trace: Path, binary: Path, env, times: dict):
    """Wall time of a process that analyses and ends, turn by turn."""
    programs = {
        "python": [sys.executable, "-c", "import rooflens, sys; rooflens.analyze(sys.argv[1])", trace],
        "command line": [binary, "analyze", trace],
    }
    for _ in range(ROUNDS):
        for name, argv in programs.items():
            begun = time.perf_counter()
            subprocess.run(argv, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
            times.setdefault(name, []).append(time.perf_counter() - begun)
    ratio = statistics.median(times["python"]) / statistics.median(times["command line"])
    if ratio > RATIO:
        yield f"{ratio:.2f} times the command line's"


def large(corpus: Path) -> Path:
    """The trace of 1 GB that `xtask bench` uses, too."""
    folder = Path(os.environ.get("ROOFLENS_CACHE", Path.home() / ".cache/rooflens")) / "bench"
    file = folder / "b200_1000.json"
    if not file.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        # Under another name until it is whole.
        big_trace.make(corpus, folder / "b200_1000.json.part", 1000).rename(file)
    return file


def check_all(judge, args, scratch: Path) -> None:
    env = installed_environment(install(args.wheel, scratch / "installed"))
    if args.large:
        trace, times = large(args.corpus), {}
        judge.check("as quick as the command line", speed(trace, args.rooflens, env, times),
                    lambda: ", ".join(f"{name} {statistics.median(found):.2f} s" for name, found in times.items()))
    else:
        trace = big_trace.job(big_trace.make(args.corpus, scratch / "large.json", 200), scratch / "job", 5)
    beats, plain, saved = {}, {}, {}
    judge.check("other threads go on", threads(trace, env, beats, args.large),
                lambda: f"{beats['busy']['per_s']:.0f} of {beats['idle']['per_s']:.0f} beats per second, "
                        f"longest pause {beats['busy']['longest_s'] * 1e3:.0f} ms")
    within_s = INTERRUPTED_WITHIN_S if args.large else max(INTERRUPTED_WITHIN_S, beats["busy"]["takes_s"] / 2)
    for name, seen, output in (("Ctrl-C", plain, []), ("Ctrl-C while a run is written", saved, [scratch / "run"])):
        after = lambda seen=seen: f"after {seen['after_s'] * 1e3:.0f} ms"
        judge.check(name, interrupted(trace, env, within_s, seen, *output), after)


if __name__ == "__main__":
    main(check_all, WHEEL, option("--large", action="store_true", help="a trace of 1 GB, and judge the time"))
