"""Two real vLLM servers in turns (`rooflens bench --against`): how often is a server called slower that is not, and how
often is one found whose steps take 5 % longer?

On the CPU a step of the tiny model takes a few milliseconds, most of them spent in Python, and they vary by more than
10 % from second to second. A wait of the same length is added to each step of both servers, as a host waits for its GPU.
Needs torch and vLLM.
"""

import contextlib
import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from oracle import main, run
from serving import vllm_cpu

# Comparisons of each kind, by how much B is slower, and the wait in each step.
PAIRS, SHARE, STEP_S = 10, 0.05, 0.020


class Server:
    """A server whose steps can be made longer while it runs."""

    def __init__(self, name: str, model: Path, folder: Path):
        self.delay = folder / f"{name}.delay"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.wait(0.0)
        argv = [sys.executable, "-m", "vllm.entrypoints.cli.main", "serve", str(model), "--port", str(port)]
        argv += ["--served-model-name", "tiny", "--enforce-eager", "--dtype", "float32", "--max-model-len", "1024"]
        environment = {**os.environ, **vllm_cpu.environment(), **vllm_cpu.slow_scheduler(self.delay, every=1)}
        self.log = (folder / f"{name}.log").open("wb")
        self.process = subprocess.Popen(
            argv, stdout=self.log, stderr=subprocess.STDOUT, env=environment, start_new_session=True
        )

    def wait(self, seconds: float) -> None:
        # Replaced as a whole: the server may be reading it.
        part = self.delay.with_suffix(".part")
        part.write_text(str(seconds))
        part.replace(self.delay)

    def ready(self) -> None:
        for _ in range(300):
            assert self.process.poll() is None, Path(self.log.name).read_text()[-2000:]
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"{self.url}/health", timeout=2)
                return
            time.sleep(1)
        raise TimeoutError(f"{self.url} is not ready")

    def stop(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, 15)
        self.process.wait(60)


def against(binary: Path, a: Server, b: Server) -> tuple[bool, dict]:
    """Whether the gate failed, and what was found of TPOT."""
    words = ["--rounds", 16, "--concurrency", 8, "--requests", 16, "--input-tokens", 48, "--output-tokens", 32, "--no-metrics"]
    words += ["--fail-on", "tpot_p50>+1%", "--format", "json"]
    done = run(binary, "bench", a.url, "--against", b.url, *words, env={**os.environ, "ROOFLENS_PROGRESS": "never"})
    assert done.code in (0, 1), done.failure()
    pair = done.report()["pairs"][0]
    assert pair["is_interleaved"], pair
    return done.code == 1, next(row for row in pair["headline"] if row["metric"] == "tpot_p50_ns")


def slower(kind: str, binary: Path, servers: list[Server]) -> tuple[int, dict]:
    count = 0
    for number in range(PAIRS):
        failed, tpot = against(binary, *servers)
        count, found = count + failed, tpot["ratio"]
        spread = f"{found['ratio'] - 1:+.1%} ({found['low'] - 1:+.1%} to {found['high'] - 1:+.1%}), p {found['p']:.4f}"
        print(f"{kind} {number}: TPOT {tpot['a'] / 1e6:.2f} ms, {spread}, {'slower' if failed else 'no change'}", flush=True)
    return count, tpot


def check_all(judge, args, folder: Path) -> None:
    model = folder / "tiny"
    vllm_cpu.make_model(model)
    servers = [Server(name, model, folder) for name in ("a", "b")]
    try:
        for server in servers:
            server.ready()
            server.wait(STEP_S)
        same, tpot = slower("same", args.rooflens, servers)
        judge.check("equal servers", [f"{same} of {PAIRS} called slower"] if same > max(1, 0.05 * PAIRS) else [], f"{same}")
        servers[1].wait(STEP_S + SHARE * tpot["a"] / 1e9)
        found, _ = slower("slower", args.rooflens, servers)
        judge.check("a slower server", [f"{found} of {PAIRS} found"] if found < 0.9 * PAIRS else [], f"{found} of {PAIRS}")
    finally:
        for server in servers:
            server.stop()


if __name__ == "__main__":
    main(check_all)
