"""A running `rooflens serve`, and plain requests to it."""

import contextlib
import http.client
import os
import re
import signal
import subprocess
import threading
import time
import urllib.parse
from dataclasses import dataclass, field
from pathlib import Path

START_S = 120  # a guard against hangs


@dataclass
class Answer:
    status: int
    headers: dict
    body: str
    seconds: float


class Site:
    """A server over a folder or a store, at a free port of this machine."""

    def __init__(self, binary: Path, source: Path, *options: str, path: Path | None = None):
        environment = dict(os.environ)
        if path:
            environment["PATH"] = f"{path}:{environment['PATH']}"
        self.process = subprocess.Popen(
            [str(binary), "serve", str(source), "--listen", "127.0.0.1:0", *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip
        self.said: list[str] = []
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        deadline = time.monotonic() + START_S
        self.port = None
        while self.port is None:
            found = re.search(r"http://127\.0\.0\.1:(\d+)", "".join(self.said))
            self.port = int(found[1]) if found else None
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the server did not start: {''.join(self.said)}")
            time.sleep(0.02)

    def _read(self):
        for line in self.process.stderr:
            self.said.append(line)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(self, path: str, method="GET", body=None, headers=None, connection=None) -> Answer:
        own = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        sent = dict(headers or {})
        if body is not None:
            body = urllib.parse.urlencode(body)
            sent = {"Content-Type": "application/x-www-form-urlencoded", "Origin": self.address, **sent}
        begin = time.perf_counter()
        own.request(method, path, body=body, headers=sent)
        answer = own.getresponse()
        text = answer.read().decode("utf-8", "replace")
        seconds = time.perf_counter() - begin
        if connection is None:
            own.close()
        return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, text, seconds)

    def runs(self, query="") -> list[tuple[str, str]]:
        """Address and name of the runs of the list."""
        found = re.findall(r'class="name"><a href="([^"]+)">(.*?)</a>', self.ask(f"/?{query}").body)
        return [(address, name) for address, name in found]

    def memory(self) -> int:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) * 1024

    def children(self) -> list[int]:
        """Processes that it has started and that live."""
        with contextlib.suppress(OSError):
            text = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
            threads = Path(f"/proc/{self.process.pid}/task").iterdir()
            text = " ".join((thread / "children").read_text() for thread in threads)
            return [int(word) for word in text.split()]
        return []

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=60)
        self.reader.join(timeout=10)
        return code


@dataclass
class Times:
    """Seconds of requests, from many readers."""

    seconds: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def percentile(self, share: float) -> float:
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")
