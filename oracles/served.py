"""A running `rooflens serve`: plain requests, many readers, a run in progress, hostile SQL, and its pages in Chromium."""

import contextlib
import http.client
import json
import os
import random
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

    def ask(self, path: str, method="GET", body=None, connection=None) -> Answer:
        own = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        sent = {}
        if body is not None:
            body = urllib.parse.urlencode(body)
            sent = {"Content-Type": "application/x-www-form-urlencoded", "Origin": self.address}
        begin = time.perf_counter()
        own.request(method, path, body=body, headers=sent)
        answer = own.getresponse()
        text = answer.read().decode("utf-8", "replace")
        seconds = time.perf_counter() - begin
        if connection is None:
            own.close()
        return Answer(answer.status, text, seconds)

    def runs(self) -> list[tuple[str, str]]:
        return re.findall(r'class="name"><a href="([^"]+)">(.*?)</a>', self.ask("/").body)

    def memory(self) -> int:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) * 1024

    def children(self) -> list[int]:
        with contextlib.suppress(OSError):
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

    def __enter__(self) -> "Site":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


@dataclass
class Times:
    seconds: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def percentile(self, share: float) -> float:
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


# A reader looks at a page before the next: 50 of them are no flood.
PAUSE_S = 0.1
PAGES = ["/", "/", "/", "/?page=2", "/?sort=-tpot_p50_ns", "/?q=H100", "/?sort=name&page=3", "/trend?metric=tpot_p50_ns"]


def read(site: Site, readers: int, seconds: float, seed: int) -> tuple[dict[str, Times], list[int]]:
    """Times by page, and the server's memory over time."""
    times: dict[str, Times] = {page: Times() for page in PAGES}
    lock, end = threading.Lock(), time.monotonic() + seconds

    def one(number: int):
        draw = random.Random(seed * 1000 + number)
        connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=120)
        while time.monotonic() < end:
            page = draw.choice(PAGES)
            try:
                answer = site.ask(page, connection=connection)
                fault = None if answer.status == 200 and "</html>" in answer.body else f"{page}: {answer.status}"
            except OSError as error:
                connection.close()
                answer, fault = None, f"{page}: {error!r}"
            with lock:
                if answer:
                    times[page].seconds.append(answer.seconds)
                if fault:
                    times[page].wrong.append(fault)
            time.sleep(PAUSE_S * draw.uniform(0.5, 1.5))
        connection.close()

    threads = [threading.Thread(target=one, args=(number,)) for number in range(readers)]
    for thread in threads:
        thread.start()
    memory = []
    while any(thread.is_alive() for thread in threads):
        memory.append(site.memory())
        time.sleep(min(1.0, seconds / 20))
    for thread in threads:
        thread.join()
    return times, memory


def growth(memory: list[int]) -> tuple[float, float]:
    """Largest of the first third after the start, and of the last third, in bytes."""
    third = max(1, len(memory) // 3)
    return float(max(memory[: 2 * third])), float(max(memory[-third:]))


PLAN = {"steps": [{"name": "step_0", "kind": "process", "purpose": "a made step"}]}


def address_of(site: Site, name: str, within_s=60) -> str:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        for address, found in site.runs():
            if found == name:
                return address
        time.sleep(0.1)
    raise RuntimeError(f"{name} is not listed")


# As many ways as there are; what is no query at all is refused in crates/rooflens-serve/tests.
REFUSED = [
    "COPY runs TO '{folder}/stolen.parquet'",
    "CREATE EXTERNAL TABLE x STORED AS CSV LOCATION '/etc/passwd'",
    "SELECT 1; COPY runs TO '{folder}/stolen.parquet'",
    "SELECT * INTO stolen FROM runs",
    "SELECT * FROM '{secret}'",
    "SELECT * FROM read_csv('{secret}')",
    "SELECT pg_read_file('{secret}')",
    "WITH a AS (SELECT 1) INSERT INTO runs SELECT * FROM a",
    "SET datafusion.catalog.location = '/etc'",
]
# Each takes longer, or more memory, than any limit.
ENDLESS = {
    "for ever": "SELECT sum(a.value * b.value) FROM generate_series(1, 10000000) a, generate_series(1, 10000000) b",
    "all memory": "SELECT array_agg(a.value || '-' || b.value) FROM generate_series(1, 100000) a, generate_series(1, 100000) b",
    "one long text": "SELECT repeat(repeat('x', 1000000), 1000000) FROM generate_series(1, 1000)",
    "all disk": "SELECT a.value AS x, repeat('y', 1000) AS y FROM generate_series(1, 100000000) a ORDER BY y, x DESC",
    "a large answer": "SELECT repeat('x', 1000000) FROM generate_series(1, 1000)",
    "deep": "SELECT " + "(" * 5000 + "1" + ")" * 5000,
}


def refused(site: Site, folder: Path, secret: Path, word: str):
    for sql in REFUSED:
        text = sql.format(folder=folder, secret=secret)
        answer = site.ask("/sql", "POST", {"sql": text})
        if answer.status != 422:
            yield f"{sql}: {answer.status}"
        if word in answer.body or "root:x:" in answer.body:
            yield f"{sql}: it was read"
    if list(folder.glob("stolen*")):
        yield "something was written"


def ended(site: Site, limit_s: float):
    for name, sql in ENDLESS.items():
        begin = time.monotonic()
        answer = site.ask("/sql", "POST", {"sql": sql})
        took = time.monotonic() - begin
        if answer.status not in (422, 200) or "panicked" in answer.body or "bug in Rooflens" in answer.body:
            yield f"{name}: {answer.status} {answer.body[-300:]}"
        # The rest of the page takes time on a busy machine; an endless query takes for ever.
        if took > limit_s + 30:
            yield f"{name}: ended after {took:.0f} s"
        if site.ask("/healthz").body != "ok\n":
            yield f"{name}: nothing is answered any more"
    for _ in range(100):
        if not site.children():
            return
        time.sleep(0.1)
    yield f"processes are left: {site.children()}"


LOOKS = [(1280, 900, "light"), (1280, 900, "dark"), (380, 800, "light")]
# Marks that a name would leave if it were markup.
PLANTED = "document.querySelectorAll('img[src=x]').length + (window.planted ? 1 : 0)"


def looked_at(browser, site: Site, path: str, axe: Path | None = None):
    for width, height, scheme in LOOKS:
        seen = browser.open(site.address + path, width, height, scheme)
        place = f"{path} {width} {scheme}"
        for url in seen["asked"]:
            if not url.startswith(site.address):
                yield f"{place}: asks for {url[:80]}"
        yield from (f"{place}: {complaint}" for complaint in seen["complaints"])
        yield from (f"{place}: id {name} stands twice" for name in seen["twice"])
        yield from (f"{place}: a link leads to #{name}" for name in seen["nowhere"])
        if seen["over"] > 0:
            yield f"{place}: wider than the window by {seen['over']} pixels"
        if browser.evaluate(PLANTED):
            yield f"{place}: a name became markup"
        dialogs = [m for m in browser.events if m.get("method") == "Page.javascriptDialogOpening"]
        if dialogs:
            yield f"{place}: a script of a name ran"
        if axe:
            yield from (f"{place}: {found}" for found in browser.serious(axe))


def by_clicking(browser, site: Site):
    """Two runs are ticked and compared, and an answer comes back without a script of ours being needed."""
    browser.open(site.address + "/?q=copy", 1280, 900, "light")
    browser.evaluate("[...document.querySelectorAll('input[name=run]')].slice(0, 2).forEach(box => box.click())")
    browser.evaluate("document.querySelector('form[action=\"/compare\"] button').click()")
    browser.wait(lambda m: m.get("method") == "Page.loadEventFired", "the comparison")
    where = browser.evaluate("location.pathname + ' ' + document.querySelectorAll('section').length")
    if not str(where).startswith("/compare ") or int(where.split()[1]) < 2:
        yield f"ticking two runs led to {where}"


def typed(browser, site: Site, page: str, field: str, words: str, arrived: str):
    """Words are typed into a form and sent, as a person does: a browser says of a form where it comes from."""
    browser.open(site.address + page, 1280, 900, "light")
    browser.evaluate(f"document.querySelector('{field}').value = {json.dumps(words)}")
    browser.evaluate(f"document.querySelector('{field}').form.querySelector('button').click()")
    browser.wait(lambda m: m.get("method") == "Page.loadEventFired", "the answer to a form")
    seen = str(browser.evaluate("document.body.innerText"))
    if arrived not in seen:
        yield f"{page}: the form was answered by {seen[:200]!r}"


def followed(browser, site: Site, run: Path, address: str, seen: dict):
    """A page that is open sees the end of a step without being loaded again."""
    browser.open(site.address + address, 1280, 900, "light")
    step = run / "raw" / "step_0"
    step.mkdir(parents=True)
    (step / "manifest.json").write_text(json.dumps({"end": "done", "duration_ns": 4_440_000_000}))
    begin = time.monotonic()
    while time.monotonic() - begin < 60:
        if "4.44 s" in str(browser.evaluate("document.getElementById('live-parts').innerText")):
            seen["after_s"] = time.monotonic() - begin
            return
        time.sleep(0.05)
    yield "the page did not follow the run"
