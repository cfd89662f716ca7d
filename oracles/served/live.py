"""A run that is made while somebody looks on."""

import http.client
import json
import threading
import time
from pathlib import Path

from .site import Site

PLAN = {"steps": [{"name": f"step_{number}", "kind": "process", "purpose": "a made step"} for number in range(5)]}


class Follower(threading.Thread):
    """Reads the events of a run and remembers when it saw what."""

    def __init__(self, site: Site, address: str):
        super().__init__(daemon=True)
        self.site, self.address = site, address
        self.seen: dict[str, float] = {}
        self.wanted: set[str] = set()
        self.is_ended = threading.Event()

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.site.port, timeout=120)
        connection.request("GET", f"{self.address}/events")
        answer = connection.getresponse()
        while line := answer.readline():
            text, now = line.decode("utf-8", "replace"), time.monotonic()
            for words in list(self.wanted):
                if words in text:
                    self.seen.setdefault(words, now)
            if text.startswith("event: end"):
                break
        self.is_ended.set()


def address_of(site: Site, name: str, within_s=60) -> str:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        for address, found in site.runs():
            if found == name:
                return address
        time.sleep(0.1)
    raise RuntimeError(f"{name} is not listed")


def delays(site: Site, root: Path) -> list[float]:
    """Seconds from the end of each step to its line on the page; infinite where it did not come."""
    run = root / "being-made"
    run.mkdir()
    (run / "plan.json").write_text(json.dumps(PLAN))
    follower = Follower(site, address_of(site, "being-made"))
    follower.start()
    ended = {}
    for number, step in enumerate(PLAN["steps"]):
        folder = run / "raw" / step["name"]
        folder.mkdir(parents=True)
        (folder / "events.jsonl").write_text('{"event":"hello","runtime":"made"}\n')
        time.sleep(0.4)
        # 1.11 s, 2.11 s …: no other step took as long.
        words = f"{number + 1}.11 s"
        follower.wanted.add(words)
        manifest = json.dumps({"end": "done", "duration_ns": int((number + 1.11) * 1e9)})
        (folder / "manifest.json").write_text(manifest)
        ended[words] = time.monotonic()
    (run / "report").mkdir()
    (run / "report" / "metrics.json").write_text("{}")
    follower.is_ended.wait(60)
    return [follower.seen.get(words, float("inf")) - at for words, at in ended.items()]
