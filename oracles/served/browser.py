"""Pages in a real Chromium: hostile names, requests, complaints, width, and a run in progress."""

import json
import time
from pathlib import Path

from chromium import evaluate, serious

from .site import Site

LOOKS = [(1280, 900, "light"), (1280, 900, "dark"), (380, 800, "light")]
# Marks that a name would leave if it were markup.
PLANTED = "document.querySelectorAll('img[src=x]').length + (window.planted ? 1 : 0)"


def looked_at(browser, site: Site, path: str, axe: Path | None = None):
    """What is wrong with a page, in every look."""
    for width, height, scheme in LOOKS:
        seen = browser.open(site.address + path, width, height, scheme)
        place = f"{path} {width} {scheme}"
        for url in seen["asked"]:
            if not url.startswith((site.address, "data:")):
                yield f"{place}: asks for {url[:80]}"
        yield from (f"{place}: {complaint}" for complaint in seen["complaints"])
        yield from (f"{place}: id {name} stands twice" for name in seen["twice"])
        yield from (f"{place}: a link leads to #{name}" for name in seen["nowhere"])
        if seen["over"] > 0:
            yield f"{place}: wider than the window by {seen['over']} pixels"
        if evaluate(browser, PLANTED):
            yield f"{place}: a name became markup"
        dialogs = [m for m in browser.events if m.get("method") == "Page.javascriptDialogOpening"]
        if dialogs:
            yield f"{place}: a script of a name ran"
        if axe:
            yield from (f"{place}: {found}" for found in serious(browser, axe))


def by_clicking(browser, site: Site):
    """Two runs are ticked and compared, and an answer comes back without a script of ours being needed."""
    browser.open(site.address + "/?q=copy", 1280, 900, "light")
    evaluate(browser, "[...document.querySelectorAll('input[name=run]')].slice(0, 2).forEach(box => box.click())")
    evaluate(browser, "document.querySelector('form[action=\"/compare\"] button').click()")
    browser.wait(lambda m: m.get("method") == "Page.loadEventFired", "the comparison")
    where = evaluate(browser, "location.pathname + ' ' + document.querySelectorAll('section').length")
    if not str(where).startswith("/compare ") or int(where.split()[1]) < 2:
        yield f"ticking two runs led to {where}"


def typed(browser, site: Site, page: str, field: str, words: str, arrived: str):
    """Words are typed into a form and sent, as a person does: a browser says of a form where it comes from."""
    browser.open(site.address + page, 1280, 900, "light")
    evaluate(browser, f"document.querySelector('{field}').value = {json.dumps(words)}")
    evaluate(browser, f"document.querySelector('{field}').form.querySelector('button').click()")
    browser.wait(lambda m: m.get("method") == "Page.loadEventFired", "the answer to a form")
    seen = str(evaluate(browser, "document.body.innerText"))
    if arrived not in seen:
        yield f"{page}: the form was answered by {seen[:200]!r}"


def followed(browser, site: Site, run: Path, address: str):
    """A page that is open sees the end of a step without being loaded again."""
    browser.open(site.address + address, 1280, 900, "light")
    step = run / "raw" / "step_0"
    step.mkdir(parents=True)
    (step / "manifest.json").write_text(json.dumps({"end": "done", "duration_ns": 4_440_000_000}))
    begin = time.monotonic()
    while time.monotonic() - begin < 60:
        if "4.44 s" in str(evaluate(browser, "document.getElementById('live-parts').innerText")):
            return
        time.sleep(0.05)
    yield "the page did not follow the run"
