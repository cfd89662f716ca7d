"""Two real vLLM servers in turns (`rooflens bench --against`): how often is a server called slower that is not, and how
often is one found whose steps take 5 % longer?

    VENV/bin/python oracles/check_turns.py --rooflens PATH

VENV has torch and vLLM (python/requirements-test.txt). On the CPU a step of the tiny model takes a few milliseconds, most
of them spent in Python, and they vary by more than 10 % from second to second. `--step-ms` adds a wait of the same length
to each step of both servers, as a host waits for its GPU.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from serving import vllm_cpu


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


def against(binary: Path, a: Server, b: Server, options) -> tuple[bool, dict]:
    """Whether the gate failed, and what was found of TPOT."""
    argv = [str(binary), "bench", a.url, "--against", b.url, "--rounds", str(options.rounds), "--concurrency", "8"]
    argv += ["--requests", str(options.requests), "--input-tokens", "48", "--output-tokens", "32", "--no-metrics"]
    argv += ["--fail-on", "tpot_p50>+1%", "--format", "json"]
    done = subprocess.run(argv, capture_output=True, text=True, env={**os.environ, "ROOFLENS_PROGRESS": "never"})
    assert done.returncode in (0, 1), done.stderr[-2000:]
    pair = json.loads(done.stdout)["pairs"][0]
    assert pair["is_interleaved"], pair
    return done.returncode == 1, next(row for row in pair["headline"] if row["metric"] == "tpot_p50_ns")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rooflens", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=10, help="comparisons of each kind")
    parser.add_argument("--share", type=float, default=0.05, help="by how much B is slower")
    parser.add_argument("--step-ms", type=float, default=20.0)
    parser.add_argument("--rounds", type=int, default=16)
    parser.add_argument("--requests", type=int, default=16)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = folder / "tiny"
        vllm_cpu.make_model(model)
        servers = [Server(name, model, folder) for name in ("a", "b")]
        try:
            for server in servers:
                server.ready()
                server.wait(options.step_ms / 1e3)
            counts = {}
            for kind in ("same", "slower"):
                counts[kind] = 0
                for number in range(options.pairs):
                    begin = time.monotonic()
                    failed, tpot = against(options.rooflens.resolve(), *servers, options)
                    counts[kind] += failed
                    found = tpot["ratio"]
                    print(
                        f"{kind} {number}: TPOT {tpot['a'] / 1e6:.2f} ms, {found['ratio'] - 1:+.1%} "
                        f"({found['low'] - 1:+.1%} to {found['high'] - 1:+.1%}), p {found['p']:.4f}, "
                        f"{'slower' if failed else 'no change'}, {time.monotonic() - begin:.0f} s",
                        flush=True,
                    )
                if kind == "same":
                    servers[1].wait(options.step_ms / 1e3 + options.share * tpot["a"] / 1e9)
        finally:
            for server in servers:
                server.stop()
    print(f"called slower: {counts['same']} of {options.pairs} that are not, {counts['slower']} of {options.pairs} that are")
    return 0 if counts["slower"] >= 0.9 * options.pairs and counts["same"] <= max(1, 0.05 * options.pairs) else 1


if __name__ == "__main__":
    sys.exit(main())
