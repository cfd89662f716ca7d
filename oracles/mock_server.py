"""The mock server as a process of its own, and what its log says."""

import json
import subprocess
import tempfile
import urllib.request
from pathlib import Path


class MockServer:
    """Runs while the `with` block does; afterwards `log` is its log."""

    def __init__(self, binary, *options):
        self.folder = tempfile.TemporaryDirectory(prefix="rooflens-mock-")
        self.path = Path(self.folder.name) / "log.json"
        self.argv = [str(binary), "--port", "0", "--log", str(self.path), *map(str, options)]
        self.log = None

    def __enter__(self):
        self.process = subprocess.Popen(self.argv, stdout=subprocess.PIPE, text=True)
        first = self.process.stdout.readline()
        if not first:
            raise RuntimeError(f"{self.argv} ended with {self.process.wait()}")
        told = json.loads(first)
        self.port, self.url = told["port"], told["url"]
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=60)
        self.process.stdout.close()
        if self.path.exists():
            self.log = json.loads(self.path.read_text())
        self.folder.cleanup()

    def metrics(self):
        """The counters of `/metrics` by name, labels left out."""
        with urllib.request.urlopen(f"{self.url}/metrics", timeout=60) as reply:
            lines = reply.read().decode().splitlines()
        samples = (line.rsplit(" ", 1) for line in lines if line and not line.startswith("#"))
        return {name.split("{")[0]: float(value) for name, value in samples if "_bucket" not in name}


def percentile(values, percent):
    """The smallest value that so many percent are not above; None of none."""
    values = sorted(values)
    return values[max(0, -(-len(values) * percent // 100) - 1)] if values else None


def first_token_times(log):
    """Nanoseconds from the arrival of each request to its first token, by the server."""
    return [r["writes_ns"][0] - r["arrival_ns"] for r in log["requests"] if r["writes_ns"]]


def token_gaps(log):
    return [b - a for r in log["requests"] for a, b in zip(r["writes_ns"], r["writes_ns"][1:])]
