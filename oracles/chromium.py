"""Pages in Chromium, which is asked over its debugging pipe what happened."""

import base64
import contextlib
import json
import os
import signal
import subprocess
import time
from pathlib import Path

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--remote-debugging-pipe",
]  # fmt: skip
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
# Of what axe finds, the impact that keeps people from using a page.
VIOLATIONS = """axe.run({resultTypes: ['violations']}).then((found) => JSON.stringify(found.violations
  .filter((one) => ['serious', 'critical'].includes(one.impact))
  .map((one) => `${one.id}: ${one.nodes.length} times, as ${one.nodes[0].html.slice(0, 120)}`)))"""


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
        self.emulate(prefers_color_scheme=scheme)
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Page.navigate", url=address)
        self.wait(lambda m: m.get("method") == "Page.loadEventFired", "the page")
        # What a script does after loading is done when there is nothing more to do.
        self.evaluate(SETTLED)
        seen = self.json(LOOK)
        sent = [m["params"]["request"]["url"] for m in self.own_events() if m["method"] == "Network.requestWillBeSent"]
        seen["asked"] = [url for url in sent if url != address and not url.startswith("data:")]
        seen["complaints"] = self.complaints()
        return seen

    def own_events(self) -> list[dict]:
        return [m for m in self.events if m.get("sessionId") == self.session]

    def complaints(self) -> list[str]:
        return [text for event in self.own_events() for text in complaints(event)]

    def evaluate(self, expression: str, **options):
        """The value of an expression of JavaScript, once its promise is kept."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, **options)
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"])[:500])
        return answer["result"].get("value")

    def json(self, expression: str):
        return json.loads(self.evaluate(expression))

    def emulate(self, **media) -> None:
        features = [{"name": name.replace("_", "-"), "value": value} for name, value in media.items() if name != "media"]
        self.call("Emulation.setEmulatedMedia", media=media.get("media", ""), features=features)

    def serious(self, axe: Path) -> list[str]:
        """What axe calls serious or critical; `axe` is its file axe.min.js."""
        self.evaluate(axe.read_text())
        return self.json(VIOLATIONS)

    def printed_bytes(self) -> bytes:
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])

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


@contextlib.contextmanager
def chromium(folder: Path):
    browser = Browser(folder / "profile")
    try:
        yield browser
    finally:
        browser.close()
