#!/usr/bin/env python3
"""`rooflens serve` under many readers, in a real browser, and under attack.

    python3 check_serve.py --rooflens BIN --xtask XTASK [--query-path DIR] [--seconds 20] [--runs 1000] [--times] [--axe FILE]

A store of made runs is read by 50 readers at once; a folder of runs with hostile names is opened in Chromium (the Browser
of .ci/page.py); a run is made while somebody looks on; SQL that writes, reads files or never ends is refused or ended
(needs rooflens-query in `--query-path`). Times are printed; with `--times` they are judged, which wants a machine with
nothing else to do: first page p99 under 300 ms, a run's page under 500 ms, a step on the page within 1 s of its end,
memory flat. What a single request may not do is in crates/rooflens-serve/tests.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from chromium import Browser
from judged import Judge
from rooflens_cli import REPOSITORY, arguments, existing, must
from served import browser, live, load, queries
from served.site import Site

READERS = 50
HOSTILE = "<img src=x onerror=planted=1>\"'><script>planted=1;alert(1)</script>"
SECRET = "nobody-may-read-this"
QUERY_S = 3
FIRST_PAGE_S, RUN_PAGE_S, STEP_S = 0.3, 0.5, 1.0
# What pages, connections and the allocator take once, whatever is asked.
SETTLED_BYTES = 48 << 20


def made_runs(binary: Path, folder: Path) -> None:
    """Runs of a trace, one with hostile names of kernel and folder."""
    text = (REPOSITORY / "fixtures/kineto/decode.json").read_text()
    kernel = json.dumps(HOSTILE)[1:-1]
    trace = folder.parent / "hostile.json"
    trace.write_text(text.replace("nvjet_tst_64x8_64x16_4x1_v_bz_TNN", kernel))
    for source, name in [(trace, HOSTILE.replace("/", "_")), (REPOSITORY / "fixtures/kineto/decode.json", "plain")]:
        must(binary, "analyze", source, "-o", folder / name, "--quiet")
    for number in range(20):
        shutil.copytree(folder / "plain", folder / f"copy-{number:02}")


def readers(judge: Judge, args, store: Path) -> None:
    site = Site(args.rooflens, store, path=args.query_path)
    try:
        listed = site.ask("/").body
        judge.check(f"{args.runs} runs are listed", [] if f"{args.runs:,}".replace(",", " ") in listed.replace(" ", " ").replace(",", " ") else [listed[:500]])
        times, memory = load.read(site, READERS, args.seconds, seed=1)
        faults = [fault for page in times.values() for fault in page.wrong]
        count = sum(len(page.seconds) for page in times.values())
        first = times["/"]
        words = f"{count} pages, first page p50 {first.percentile(0.5) * 1e3:.1f} ms, p99 {first.percentile(0.99) * 1e3:.1f} ms"
        judge.check(f"{READERS} readers for {args.seconds:.0f} s", faults, words)
        before, after = load.growth(memory)
        words = f"{before / 1e6:.0f} MB, then {after / 1e6:.0f} MB"
        judge.check("memory is flat", [words] if after > before + SETTLED_BYTES else [], words)
        if args.times:
            slow = first.percentile(0.99)
            judge.check("the first page is quick", [f"p99 {slow:.3f} s"] if slow >= FIRST_PAGE_S else [])
        address = site.runs()[0][0]
        judge.check("a run of a store has its page", [] if site.ask(address).status == 200 else [address])
    finally:
        code = site.stop()
    judge.check("it ends in order", [] if code == 0 else [f"exit code {code}: {''.join(site.said)[-500:]}"])


def attacked(judge: Judge, args, store: Path, folder: Path) -> None:
    if not args.query_path:
        print("left out: SQL, which needs --query-path")
        return
    secret = folder / "secret.csv"
    secret.write_text(f"{SECRET}\n1\n")
    site = Site(args.rooflens, store, "--query-time", "120", path=args.query_path)
    try:
        counted = site.ask("/sql", "POST", {"sql": "SELECT count(*) AS n FROM runs"})
        judge.check("SQL is answered", [] if str(args.runs) in counted.body else [counted.body[-500:]], f"{counted.seconds:.2f} s")
        named = site.ask("/queries/top-kernels?go=1")
        judge.check("a named query is answered", [] if named.status == 200 and "<table" in named.body else [named.body[-500:]])
        many = site.ask("/sql", "POST", {"sql": "SELECT value FROM generate_series(1, 100000000)"})
        judge.check("rows are bounded", [] if "only the first 1000 were read" in many.body else [many.body[-500:]], f"{many.seconds:.2f} s")
        with_chromium(lambda chromium: open_all(judge, args, chromium, site, pages_of_a_store(site)))
    finally:
        site.stop()
    site = Site(args.rooflens, store, "--query-time", str(QUERY_S), "--query-memory", "256", path=args.query_path)
    try:
        judge.check("statements that write or read files are refused", queries.refused(site, folder, secret, SECRET))
        judge.check("queries that never end are ended", queries.ended(site, QUERY_S))
        small = site.memory()
        judge.check("the server itself stays small", [f"{small / 1e6:.0f} MB"] if small > 1 << 30 else [], f"{small / 1e6:.0f} MB")
    finally:
        site.stop()


def looked_at(judge: Judge, args, folder: Path) -> None:
    site = Site(args.rooflens, folder)
    try:
        cold = [site.ask(address) for address, _ in site.runs()]
        slowest = max(answer.seconds for answer in cold)
        judge.check("every run has its page", [str(a.status) for a in cold if a.status != 200], f"slowest {slowest * 1e3:.0f} ms")
        if args.times:
            judge.check("the page of a run is quick", [f"{slowest:.3f} s"] if slowest >= RUN_PAGE_S else [])
        late = max(live.delays(site, folder))
        judge.check("steps are shown when they end", [] if late < 60 else ["a step was not shown"], f"after {late:.2f} s at most")
        if args.times:
            judge.check("a step is shown within a second", [f"{late:.2f} s"] if late >= STEP_S else [])
        in_browser(judge, args, site, folder)
    finally:
        site.stop()


def in_browser(judge: Judge, args, site: Site, folder: Path) -> None:
    found = site.runs()
    hostile = next(address for address, name in found if "img" in name)
    ids = [address.rsplit("/", 1)[1] for address, _ in found[:2]]
    pages = ["/", hostile, f"/compare?run={ids[0]}&run={ids[1]}", "/trend", "/queries", "/sql", "/live", "/nowhere"]
    run_in_progress = folder / "in-browser"
    run_in_progress.mkdir()
    (run_in_progress / "plan.json").write_text(json.dumps(live.PLAN))
    pages.append(live.address_of(site, "in-browser"))

    def look(chromium) -> None:
        open_all(judge, args, chromium, site, pages)
        judge.check("two runs are compared by clicking", browser.by_clicking(chromium, site))
        judge.check("an open page follows a run", browser.followed(chromium, site, run_in_progress, pages[-1]))
        sent = browser.typed(chromium, site, "/sql", "textarea", "SELECT 1", "Queries need a store")
        judge.check("SQL is sent by clicking", sent)
        logged_in(judge, args, chromium, folder)

    with_chromium(look)


def with_chromium(look) -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        chromium = Browser(Path(profile))
        try:
            look(chromium)
        finally:
            chromium.close()


def open_all(judge: Judge, args, chromium, site: Site, pages: list[str]) -> None:
    for path in pages:
        # A page that is not there is told by its status, which the browser reports.
        wrong = (w for w in browser.looked_at(chromium, site, path, args.axe) if "404" not in w)
        judge.check(f"in Chromium: {path[:40]}", wrong)


def pages_of_a_store(site: Site) -> list[str]:
    runs = [address for address, _ in site.runs()[:2]]
    compared = "&".join(f"run={address.rsplit('/', 1)[1]}" for address in runs)
    return ["/", runs[0], f"/compare?{compared}", "/trend?metric=tpot_p50_ns", "/queries", "/queries/top-kernels?go=1", "/sql"]


def logged_in(judge: Judge, args, chromium, folder: Path) -> None:
    token = "a-token-that-nobody-guesses"
    file = folder.parent / "token"
    file.write_text(token)
    site = Site(args.rooflens, folder, "--token-file", str(file))
    try:
        field = "input[name=token]"
        judge.check("a wrong token is refused", browser.typed(chromium, site, "/", field, "wrong" * 5, "This is not the token"))
        judge.check("the right token opens the list", browser.typed(chromium, site, "/", field, token, "runs in"))
    finally:
        site.stop()


def main() -> int:
    parser = arguments("rooflens serve under many readers, in a browser, and under attack.")
    parser.add_argument("--xtask", type=existing, required=True, metavar="XTASK", help="makes the store")
    parser.add_argument("--query-path", type=existing, metavar="DIR", help="folder of rooflens-query")
    parser.add_argument("--seconds", type=float, default=20, metavar="N")
    parser.add_argument("--runs", type=int, default=1000, metavar="N")
    parser.add_argument("--times", action="store_true", help="judge times; wants a quiet machine")
    parser.add_argument("--axe", type=existing, metavar="FILE", help="axe.min.js: judge accessibility")
    args = parser.parse_args()
    judge = Judge("serve")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        store, runs = folder / "store", folder / "runs"
        runs.mkdir()
        make_store(args, store, folder / "truth.json")
        made_runs(args.rooflens, runs)
        readers(judge, args, store)
        attacked(judge, args, store, folder)
        looked_at(judge, args, runs)
    return judge.finish()


def make_store(args, store: Path, truth: Path) -> None:
    command = [args.xtask, "make-fleet", "--store", store, "--runs", str(args.runs), "--rows-per-run", "200", "--truth", truth]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(main())
