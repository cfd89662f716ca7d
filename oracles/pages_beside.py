"""Size, load time and frame rate of our page beside TraceLens's traceMap and the Perfetto UI, on the same trace.

    python3 oracles/pages_beside.py --rooflens BIN --ui FOLDER --tracemap main.py [--python PYTHON] TRACE ...

`--ui` as for check_perfetto.py; `--tracemap` is examples/custom_workflows/traceMap/main.py of a TraceLens checkout,
`--python` has Bokeh, pandas and numpy for it. Chromium moves each to and fro for two seconds and counts frames: our
page by the mouse, the Perfetto UI by its key, traceMap by the range of its longest chart, since its charts do not
follow the mouse. Traces are `.json.gz`, which traceMap asks for. Prints the table of docs/speed.md; wants a quiet
machine.
"""

import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from check_perfetto import evaluate, new_page, opened_ui, served, targets
from rooflens_cli import arguments, existing

from page import Browser  # isort: skip: check_perfetto knows where it is

SECONDS = 2.0
# Bokeh draws at once; a page has settled when two frames went by.
SETTLED = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"
COUNT = """(() => {
  window.frames_seen = [];
  const frame = (now) => { window.frames_seen.push(now); window.counting = requestAnimationFrame(frame); };
  window.counting = requestAnimationFrame(frame);
})()"""
COUNTED = """(() => {
  cancelAnimationFrame(window.counting);
  const seen = window.frames_seen;
  return JSON.stringify([seen.length - 1, seen.at(-1) - seen[0]]);
})()"""
BOKEH = """new Promise((done) => {
  const figures = [...Bokeh.documents[0]._all_models.values()].filter((one) => one.type === 'Figure');
  const rows = (one) => one.renderers.reduce((sum, drawn) => sum + (drawn.data_source?.get_length?.() ?? 0), 0);
  const range = figures.sort((a, b) => rows(b) - rows(a))[0].x_range;
  const seen = [];
  const frame = (now) => {
    seen.push(now);
    const by = (range.end - range.start) * (Math.floor(seen.length / 20) % 2 ? 0.01 : -0.01);
    range.setv({start: range.start + by, end: range.end + by});
    if (now - seen[0] < 2000) requestAnimationFrame(frame);
    else done(1000 * (seen.length - 1) / (now - seen[0]));
  };
  requestAnimationFrame(frame);
})"""
MIDDLE = """(() => {
  const box = document.querySelector(%s).getBoundingClientRect();
  return JSON.stringify([box.left + box.width / 2, box.top + box.height / 2]);
})()"""


def made(argv: list, **more) -> float:
    begin = time.monotonic()
    subprocess.run([str(word) for word in argv], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)
    return time.monotonic() - begin


def dragged(browser: Browser, session: str, x: float, y: float) -> float:
    """Frames per second while the mouse drags to and fro."""
    browser.session = session
    mouse = lambda kind, at: browser.call("Input.dispatchMouseEvent", type=kind, x=at, y=y, button="left", buttons=1, clickCount=1)  # noqa: E731
    mouse("mousePressed", x)
    evaluate(browser, session, COUNT)
    end, moves = time.monotonic() + SECONDS, 0
    while time.monotonic() < end:
        moves += 1
        mouse("mouseMoved", x + 4 * (moves % 40 if moves // 40 % 2 else 40 - moves % 40))
    frames, ms = json.loads(evaluate(browser, session, COUNTED))
    mouse("mouseReleased", x)
    return 1000 * frames / ms


def pressed(browser: Browser, session: str) -> float:
    """The same in the Perfetto UI, which pans by the key d."""
    browser.session = session
    key = lambda kind: browser.call("Input.dispatchKeyEvent", type=kind, key="d", code="KeyD", windowsVirtualKeyCode=68)  # noqa: E731
    for _ in range(3):
        browser.call("Input.dispatchKeyEvent", type="keyDown", key="w", code="KeyW", windowsVirtualKeyCode=87)
        time.sleep(0.3)
        browser.call("Input.dispatchKeyEvent", type="keyUp", key="w", code="KeyW", windowsVirtualKeyCode=87)
    key("keyDown")
    evaluate(browser, session, COUNT)
    time.sleep(SECONDS)
    frames, ms = json.loads(evaluate(browser, session, COUNTED))
    key("keyUp")
    return 1000 * frames / ms


def loaded(browser: Browser, page: Path):
    begin = time.monotonic()
    session = new_page(browser, page.as_uri())
    evaluate(browser, session, SETTLED)
    return session, time.monotonic() - begin


def of_page(browser: Browser, page: Path, element: str):
    session, load = loaded(browser, page)
    place = json.dumps(element)
    evaluate(browser, session, f"document.querySelector({place}).scrollIntoView({{behavior: 'instant', block: 'center'}})")
    x, y = json.loads(evaluate(browser, session, MIDDLE % place))
    return load, dragged(browser, session, x, y)


def of_perfetto(browser: Browser, site: Path, origin: str, trace: Path):
    data = gzip.decompress(trace.read_bytes()) if trace.suffix == ".gz" else trace.read_bytes()
    (site / "trace.json").write_bytes(data)
    session = new_page(browser, f"{origin}/opener.html")
    before = targets(browser)
    begin = time.monotonic()
    evaluate(browser, session, "hand('/trace.json')")
    ui = opened_ui(browser, origin, before)
    return len(data), time.monotonic() - begin, pressed(browser, ui)


def beside(options, browser: Browser, folder: Path, trace: Path, origin: str):
    row = lambda *cells: print("|", " | ".join(cells), "|", flush=True)  # noqa: E731
    took = made([options.rooflens, "analyze", trace, "-o", folder / "run", "--quiet"])
    page = folder / "run/report/index.html"
    load, rate = of_page(browser, page, ".timeline canvas")
    row(trace.name, "Rooflens page", f"{took:.1f} s", f"{page.stat().st_size / 1e6:.1f} MB", f"{load:.2f} s", f"{rate:.0f}")
    try:
        out = folder / "map.html"
        words = [options.python, options.tracemap, "--trace1", trace, "--trace2", trace, "--output", out]
        took = made(words, env={**os.environ, "BOKEH_RESOURCES": "inline"}, cwd=options.tracemap.parent)
        found = next(folder.glob("map_*.html"))
        session, load = loaded(browser, found)
        rate = evaluate(browser, session, BOKEH)
        row(trace.name, "TraceLens traceMap", f"{took:.1f} s", f"{found.stat().st_size / 1e6:.1f} MB", f"{load:.2f} s", f"{rate:.0f}")
        found.unlink()
    except subprocess.CalledProcessError as failed:
        row(trace.name, "TraceLens traceMap", f"exit {failed.returncode}", "–", "–", "–")
    try:
        size, load, rate = of_perfetto(browser, folder / "site", origin, trace)
        row(trace.name, "Perfetto UI", "–", f"{size / 1e6:.1f} MB (the trace)", f"{load:.2f} s", f"{rate:.0f}")
    except (TimeoutError, RuntimeError) as failed:
        row(trace.name, "Perfetto UI", "–", "–", str(failed)[:60], "–")


def main() -> int:
    parser = arguments(__doc__.split("\n")[0])
    parser.add_argument("--ui", type=existing, required=True, metavar="FOLDER")
    parser.add_argument("--tracemap", type=existing, required=True, metavar="FILE")
    parser.add_argument("--python", default=sys.executable, metavar="PYTHON")
    parser.add_argument("traces", nargs="+", type=existing, metavar="TRACE")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        site = folder / "site"
        origin = served(options.ui, site)
        browser = Browser(folder / "profile")
        try:
            for trace in options.traces:
                beside(options, browser, folder, trace, origin)
        finally:
            browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
