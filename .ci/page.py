#!/usr/bin/env python3
"""The HTML report in a real browser: it draws, asks nobody for anything, and reports no error.

    python3 .ci/page.py --rooflens BIN [--screenshot FILE.png] TRACE ...

Each trace is analysed into a run directory; Chromium opens its report/index.html in light
and dark, wide and narrow, and is asked over its own debugging pipe what happened.
"""

import argparse
import base64
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--remote-debugging-pipe",
]  # fmt: skip
LOOKS = [(1280, 900, "light"), (1280, 900, "dark"), (1400, 900, "light"), (1920, 1080, "light"), (390, 800, "light")]
# A window from this width on has room for every cell of every table.
ROOMY = 1400
TIMEOUT_S = 600  # a guard against hangs
# Sections, visible text, ids that stand twice, links to nowhere, whether the page is wider than the window, and tables
# of which a part can only be reached by scrolling sideways.
LOOK = """(() => {
  const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
  const links = [...document.querySelectorAll('a[href^="#"]')].map(a => a.getAttribute('href').slice(1));
  return JSON.stringify({
    headings: [...document.querySelectorAll('h1, h2')].map(e => e.textContent.trim()),
    sections: document.querySelectorAll('section').length,
    text: document.body.innerText.length,
    twice: ids.filter((id, i) => ids.indexOf(id) !== i),
    nowhere: links.filter(id => id && !ids.includes(id)),
    over: document.documentElement.scrollWidth - window.innerWidth,
    clipped: [...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1)
      .map(e => `${e.querySelector('table').dataset.name || 'stack'} by ${e.scrollWidth - e.clientWidth}`),
    dashes: [...document.querySelectorAll('section:first-of-type .facts dd')].filter(e => e.innerText.trim() === '–').length,
  });
})()"""


SETTLED = "new Promise(done => requestIdleCallback(() => done(), {timeout: 10000}))"


class Browser:
    """Chromium at the other end of a pipe: JSON messages, each ended by a zero byte."""

    def __init__(self, profile: Path):
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()

        def child_ends():  # Chromium reads from 3 and writes to 4
            high = [os.dup(to_browser), os.dup(from_browser)]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        command = ["chromium", *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        self.process = subprocess.Popen(
            command, preexec_fn=child_ends, close_fds=False, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        os.close(to_browser)
        os.close(from_browser)
        os.set_blocking(self.read_end, False)
        self.rest, self.number, self.events, self.session = b"", 0, [], None

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        answer = self.wait(lambda m: m.get("id") == self.number, method)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def wait(self, wanted, what):
        deadline = time.monotonic() + TIMEOUT_S
        while time.monotonic() < deadline:
            try:
                self.rest += os.read(self.read_end, 1 << 20) or self.ended()
            except BlockingIOError:
                time.sleep(0.01)
            *messages, self.rest = self.rest.split(b"\0")
            for message in map(json.loads, messages):
                self.events.append(message)
            for message in self.events:
                if wanted(message):
                    self.events.remove(message)
                    return message
        raise TimeoutError(f"no answer to {what} in {TIMEOUT_S} s")

    def ended(self):
        raise RuntimeError(f"chromium ended with {self.process.wait()}")

    def open(self, address: str, width: int, height: int, scheme: str) -> dict:
        """What the page looks like, what it asked for and what it complained of."""
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Page.navigate", url=address)
        self.wait(lambda m: m.get("method") == "Page.loadEventFired", "the page")
        # What a script does after loading is done when there is nothing more to do.
        self.call("Runtime.evaluate", expression=SETTLED, awaitPromise=True)
        seen = json.loads(self.call("Runtime.evaluate", expression=LOOK)["result"]["value"])
        events = [m for m in self.events if m.get("sessionId") == self.session]
        seen["asked"] = [
            m["params"]["request"]["url"] for m in events if m["method"] == "Network.requestWillBeSent"
        ]
        seen["complaints"] = [complaint for m in events for complaint in complaints(m)]
        return seen

    def picture(self) -> bytes:
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def close(self):
        self.process.terminate()
        self.process.wait(timeout=TIMEOUT_S)
        # Its helper processes may outlive it.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)


def complaints(event):
    params = event["params"]
    if event["method"] == "Runtime.exceptionThrown":
        yield params["exceptionDetails"].get("exception", {}).get("description", "an exception")
    if event["method"] == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
        yield f"console.{params['type']}: {params['args']}"
    if event["method"] == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
        yield params["entry"]["text"]


def wrong(address: str, seen: dict, width: int) -> list[str]:
    found = [f"asks for {url[:80]}" for url in seen["asked"] if url != address and not url.startswith("data:")]
    found += seen["complaints"]
    found += [f"id {name!r} stands twice" for name in seen["twice"]]
    found += [f"a link leads to #{name}, which is not there" for name in seen["nowhere"]]
    if seen["sections"] < 5 or len(seen["headings"]) < 5:
        found.append(f"only {seen['sections']} sections: {seen['headings']}")
    if seen["text"] < 500:
        found.append(f"only {seen['text']} characters can be seen")
    if width >= ROOMY:
        found += [f"table {table} pixels wider than its place" for table in seen["clipped"]]
    if seen["dashes"]:
        found.append(f"begins with {seen['dashes']} numbers that were not measured")
    if seen["over"] > 0:
        found.append(f"wider than the window by {seen['over']} pixels")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="The HTML report in a real browser.")
    parser.add_argument("--rooflens", type=Path, required=True, metavar="BIN")
    parser.add_argument("--screenshot", type=Path, metavar="FILE", help="a picture of the first page")
    parser.add_argument("traces", nargs="+", type=Path, metavar="TRACE")
    options = parser.parse_args()
    failed = 0
    # A helper that is being killed may still write its profile while the folder is removed.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(Path(folder) / "profile")
        try:
            for number, trace in enumerate(options.traces):
                run = Path(folder) / f"run{number}"
                subprocess.run(
                    [options.rooflens, "analyze", trace, "-o", run, "--format", "json", "--quiet"],
                    check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                )  # fmt: skip
                address = (run / "report" / "index.html").as_uri()
                for width, height, scheme in LOOKS:
                    seen = browser.open(address, width, height, scheme)
                    if options.screenshot and number == 0 and (width, scheme) == (1280, "light"):
                        options.screenshot.write_bytes(browser.picture())
                    found = wrong(address, seen, width)
                    failed += bool(found)
                    state = "FAIL" if found else "ok  "
                    print(f"{state} {trace.name} {width}x{height} {scheme}: {seen['sections']} sections")
                    for line in found:
                        print(f"       {line}")
        finally:
            browser.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
