#!/usr/bin/env python3
"""The living charts of a page in a real browser.

    python3 oracles/check_charts.py --rooflens BIN TRACE [--model CONFIG --hardware DEVICE] ...

Chromium opens the page at several widths, light and dark. Every chart must draw, follow the colour scheme, answer
filters, send its clicks on, be reached by keys, and give way to its still picture in print. Nothing may
be asked of the network, and nothing may be complained of.
"""

import argparse
import base64
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import chromium
from chromium import Browser, complaints
from judged import Judge

LOOKS = [(1280, 900, "light"), (1280, 900, "dark"), (380, 800, "light")]
# A chart that is drawn has more than axes and a frame.
LEAST_MARKS = 8

# Scrolls to each chart, waits until it lives, and says what it looks like.
DRAWN = """(async () => {
  const out = [];
  for (const figure of document.querySelectorAll('figure.living')) {
    figure.scrollIntoView({behavior: 'instant'});
    for (let turn = 0; turn < 200 && !figure.querySelector('.chart-canvas svg'); turn += 1) {
      await new Promise(done => setTimeout(done, 25));
    }
    const svg = figure.querySelector('.chart-canvas svg');
    const canvas = figure.querySelector('.chart-canvas');
    out.push({
      name: figure.dataset.chart,
      marks: svg ? svg.querySelectorAll('path, rect, text').length : 0,
      fits: Boolean(canvas) && canvas.scrollWidth <= canvas.clientWidth + 1,
      still: getComputedStyle(figure.querySelector('.still')).display,
      label: figure.querySelector('.live')?.getAttribute('aria-label') ?? '',
      ink: svg ? [...new Set([...svg.querySelectorAll('text')].map(t => t.getAttribute('fill')))].sort().join() : '',
    });
  }
  return JSON.stringify(out);
})()"""

# Chooses every value of every control, and times the redrawing: the best of three, for others may use the machine.
FILTERED = """(() => {
  const out = [];
  for (const select of document.querySelectorAll('.chart-tools select')) {
    for (const option of [...select.options, select.options[0]].slice(0, 40)) {
      let best = Infinity;
      for (let turn = 0; turn < 3; turn += 1) {
        const start = performance.now();
        select.value = option.value;
        select.dispatchEvent(new Event('change'));
        best = Math.min(best, performance.now() - start);
      }
      out.push([select.closest('figure').dataset.chart, select.name, option.value, best]);
    }
  }
  return JSON.stringify(out);
})()"""

# Goes to the first point of each chart by keys and presses Enter there.
KEYS = """(() => {
  const shown = [];
  const listen = event => shown.push(event.detail);
  document.addEventListener('rooflens:show', listen);
  const said = [];
  for (const frame of document.querySelectorAll('.live')) {
    const press = key => frame.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
    press('ArrowRight');
    said.push([frame.closest('figure').dataset.chart, document.querySelector('p.hidden[aria-live=polite]').textContent]);
    press('Enter');
    press('Escape');
  }
  document.removeEventListener('rooflens:show', listen);
  return JSON.stringify({said, shown});
})()"""

PRINTED = """JSON.stringify([...document.querySelectorAll('figure.living')].map(figure => ({
  name: figure.dataset.chart,
  still: getComputedStyle(figure.querySelector('.still')).display,
  live: figure.querySelector('.live') ? getComputedStyle(figure.querySelector('.live')).display : 'none',
})))"""

LISTENED = {"steps": "step", "layers": "layer"}


def evaluate(browser: Browser, script: str):
    return json.loads(chromium.evaluate(browser, script))


def look(browser: Browser, address: str, width: int, height: int, scheme: str):
    """What is wrong with a page at one look, its charts, and the slowest filter."""
    seen = browser.open(address, width, height, scheme)
    found = [f"asks for {url[:80]}" for url in seen["asked"] if url != address]
    if seen["over"] > 0:
        found.append(f"wider than the window by {seen['over']} pixels")
    charts = evaluate(browser, DRAWN)
    for chart in charts:
        if chart["marks"] < LEAST_MARKS:
            found.append(f"{chart['name']} has {chart['marks']} marks only")
        if not chart["fits"] or chart["still"] != "none" or not chart["label"]:
            found.append(f"{chart['name']} does not fit, shows its still picture too, or has no label: {chart}")
    filters = evaluate(browser, FILTERED)
    slowest = max(filters, key=lambda one: one[3], default=["", "", "", 0.0])
    keys = evaluate(browser, KEYS)
    names = {chart["name"] for chart in charts}
    found += [f"no point of {name} is reached by keys" for name, said in keys["said"] if not said and name != "counters"]
    kinds = {detail["kind"] for detail in keys["shown"]}
    found += [f"Enter in {name} shows no {kind}" for name, kind in LISTENED.items() if name in names and kind not in kinds]
    found += turned(browser, scheme, charts)
    found += printed(browser)
    events = [m for m in browser.events if m.get("sessionId") == browser.session]
    found += [complaint for m in events for complaint in complaints(m)]
    return found, charts, slowest


def turned(browser: Browser, scheme: str, charts: list) -> list[str]:
    """Charts take the colours of the other scheme when it changes."""
    other = "dark" if scheme == "light" else "light"
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": other}])
    evaluate(browser, "new Promise(done => setTimeout(() => done('1'), 200))")
    after = {chart["name"]: chart["ink"] for chart in evaluate(browser, DRAWN)}
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    return [f"{one['name']} keeps its colours when the scheme changes" for one in charts if after[one["name"]] == one["ink"]]


def printed(browser: Browser) -> list[str]:
    """On paper the still pictures stand in place of the charts."""
    browser.call("Emulation.setEmulatedMedia", media="print")
    found = evaluate(browser, PRINTED)
    browser.call("Emulation.setEmulatedMedia", media="")
    pdf = base64.b64decode(browser.call("Page.printToPDF", printBackground=True)["data"])
    wrong = [f"in print {one}" for one in found if one["still"] == "none" or one["live"] != "none"]
    if not pdf.startswith(b"%PDF") or len(pdf) < 20_000:
        wrong.append(f"the PDF has {len(pdf)} bytes")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description="The living charts of a page in a real browser.")
    parser.add_argument("--rooflens", type=Path, metavar="BIN")
    parser.add_argument("--model", type=Path, metavar="CONFIG")
    parser.add_argument("--hardware", metavar="DEVICE")
    parser.add_argument("traces", nargs="*", type=Path, metavar="TRACE")
    options = parser.parse_args()
    extra = ["--model", options.model] if options.model else []
    extra += ["--hardware", options.hardware] if options.hardware else []
    judge = Judge("charts")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        pages = []
        for number, trace in enumerate(options.traces):
            run = Path(folder) / f"run{number}"
            command = [options.rooflens, "analyze", trace, "-o", run, "--format", "json", "--quiet", *extra]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
            pages.append(run / "report" / "index.html")
        browser = Browser(Path(folder) / "profile")
        try:
            for number, page in enumerate(pages):
                name = options.traces[number].name
                for width, height, scheme in LOOKS:
                    found, charts, slowest = look(browser, page.as_uri(), width, height, scheme)
                    words = ", ".join(f"{chart['name']} {chart['marks']}" for chart in charts)
                    slow = f"slowest filter: {slowest[0]} by {slowest[1]}, {slowest[3]:.0f} ms"
                    judge.check(f"{name} {width} {scheme}", found if charts else [*found, "no chart"], words, slow)
        finally:
            browser.close()
    return judge.finish()


if __name__ == "__main__":
    sys.exit(main())
