"""`rooflens serve` under many readers, in a real browser, and under attack.

A store of made runs is read by 50 readers at once; a folder of runs with hostile names is opened in Chromium; a run is
made while somebody looks on; SQL that writes, reads files or never ends is refused or ended. With `--times` times are
judged: first page p99 under 300 ms, a run's page under 500 ms, a step on the page within 1 s of its end, memory flat.
What a single request may not do is in crates/rooflens-serve/tests.
"""

import json
import re
import shutil
from pathlib import Path

import served
from chromium import chromium
from oracle import FIXTURES, Judge, main, must, needs, option
from served import PLAN, Site

READERS = 50
HOSTILE = "<img src=x onerror=planted=1>\"'><script>planted=1;alert(1)</script>"
SECRET = "nobody-may-read-this"
QUERY_S = 3
FIRST_PAGE_S, RUN_PAGE_S, STEP_S = 0.3, 0.5, 1.0
# What pages, connections and the allocator take once, whatever is asked.
SETTLED_BYTES = 48 << 20


def made_runs(binary: Path, folder: Path) -> None:
    """Runs of a trace, one with hostile names of kernel and folder."""
    text = (FIXTURES / "kineto/decode.json").read_text()
    kernel = json.dumps(HOSTILE)[1:-1]
    trace = folder.parent / "hostile.json"
    trace.write_text(text.replace("nvjet_tst_64x8_64x16_4x1_v_bz_TNN", kernel))
    for source, name in [(trace, HOSTILE.replace("/", "_")), (FIXTURES / "kineto/decode.json", "plain")]:
        must(binary, "analyze", source, "-o", folder / name, "--quiet")
    for number in range(20):
        shutil.copytree(folder / "plain", folder / f"copy-{number:02}")


def readers(judge: Judge, args, store: Path) -> None:
    site = Site(args.rooflens, store, path=args.query_path)
    try:
        listed, count = site.ask("/").body, f"{args.runs:,}".replace(",", r"[,\s]?")
        judge.check(f"{args.runs} runs are listed", [] if re.search(rf"\b{count}\b", listed) else [listed[:500]])
        times, memory = served.read(site, READERS, args.seconds, seed=1)
        faults = [fault for page in times.values() for fault in page.wrong]
        count, slow_s = sum(len(page.seconds) for page in times.values()), times["/"].percentile(0.99)
        words = f"{count} pages, first page p50 {times['/'].percentile(0.5) * 1e3:.1f} ms, p99 {slow_s * 1e3:.1f} ms"
        judge.check(f"{READERS} readers for {args.seconds:.0f} s", faults, words)
        before, after = served.growth(memory)
        words = f"{before / 1e6:.0f} MB, then {after / 1e6:.0f} MB"
        judge.check("memory is flat", [words] if after > before + SETTLED_BYTES else [], words)
        if args.times:
            judge.check("the first page is quick", [f"p99 {slow_s:.3f} s"] if slow_s >= FIRST_PAGE_S else [])
        address = site.runs()[0][0]
        judge.check("a run of a store has its page", [] if site.ask(address).status == 200 else [address])
    finally:
        code = site.stop()
    judge.check("it ends in order", [] if code == 0 else [f"exit code {code}: {''.join(site.said)[-500:]}"])


def attacked(judge: Judge, args, store: Path, folder: Path) -> None:
    secret = folder / "secret.csv"
    secret.write_text(f"{SECRET}\n1\n")
    with Site(args.rooflens, store, "--query-time", "120", path=args.query_path) as site:
        for name, words, answer in (
            ("SQL is answered", str(args.runs), site.ask("/sql", "POST", {"sql": "SELECT count(*) AS n FROM runs"})),
            ("a named query is answered", "<table", site.ask("/queries/top-kernels?go=1")),
            ("rows are bounded", "only the first 1000 were read",
             site.ask("/sql", "POST", {"sql": "SELECT value FROM generate_series(1, 100000000)"})),
        ):  # fmt: skip
            is_right = answer.status == 200 and words in answer.body
            judge.check(name, [] if is_right else [answer.body[-500:]], f"{answer.seconds:.2f} s")
        with chromium(folder / "store-profile") as browser:
            open_all(judge, args, browser, site, pages_of_a_store(site))
    limits = ["--query-time", str(QUERY_S), "--query-memory", "256"]
    with Site(args.rooflens, store, *limits, path=args.query_path) as site:
        judge.check("statements that write or read files are refused", served.refused(site, folder, secret, SECRET))
        judge.check("queries that never end are ended", served.ended(site, QUERY_S))
        small = f"{site.memory() / 1e6:.0f} MB"
        judge.check("the server itself stays small", [small] if site.memory() > 1 << 30 else [], small)


def looked_at(judge: Judge, args, folder: Path) -> None:
    with Site(args.rooflens, folder) as site:
        cold = [site.ask(address) for address, _ in site.runs()]
        slowest = max(answer.seconds for answer in cold)
        judge.check("every run has its page", [str(a.status) for a in cold if a.status != 200], f"slowest {slowest * 1e3:.0f} ms")
        if args.times:
            judge.check("the page of a run is quick", [f"{slowest:.3f} s"] if slowest >= RUN_PAGE_S else [])
        with chromium(folder.parent / "folder-profile") as browser:
            in_browser(judge, args, browser, site, folder)


def in_browser(judge: Judge, args, browser, site: Site, folder: Path) -> None:
    found = site.runs()
    hostile = next(address for address, name in found if "img" in name)
    ids = [address.rsplit("/", 1)[1] for address, _ in found[:2]]
    pages = ["/", hostile, f"/compare?run={ids[0]}&run={ids[1]}", "/trend", "/queries", "/sql", "/live", "/nowhere"]
    run_in_progress = folder / "in-browser"
    run_in_progress.mkdir()
    (run_in_progress / "plan.json").write_text(json.dumps(PLAN))
    pages.append(served.address_of(site, "in-browser"))
    open_all(judge, args, browser, site, pages)
    judge.check("two runs are compared by clicking", served.by_clicking(browser, site))
    step: dict = {}
    shown = served.followed(browser, site, run_in_progress, pages[-1], step)
    is_shown = judge.check("an open page follows a run", shown, lambda: f"after {step['after_s']:.2f} s")
    if args.times and is_shown:
        judge.check("a step is shown within a second", [f"{step['after_s']:.2f} s"] if step["after_s"] >= STEP_S else [])
    sent = served.typed(browser, site, "/sql", "textarea", "SELECT 1", "Queries need a store")
    judge.check("SQL is sent by clicking", sent)
    logged_in(judge, args, browser, folder)


def open_all(judge: Judge, args, browser, site: Site, pages: list[str]) -> None:
    for path in pages:
        # A page that is not there is told by its status, which the browser reports.
        wrong = (w for w in served.looked_at(browser, site, path, args.axe) if "404" not in w)
        judge.check(f"in Chromium: {path[:40]}", wrong)


def pages_of_a_store(site: Site) -> list[str]:
    runs = [address for address, _ in site.runs()[:2]]
    compared = "&".join(f"run={address.rsplit('/', 1)[1]}" for address in runs)
    return ["/", runs[0], f"/compare?{compared}", "/trend?metric=tpot_p50_ns", "/queries", "/queries/top-kernels?go=1", "/sql"]


def logged_in(judge: Judge, args, browser, folder: Path) -> None:
    token, field = "a-token-that-nobody-guesses", "input[name=token]"
    file = folder.parent / "token"
    file.write_text(token)
    with Site(args.rooflens, folder, "--token-file", str(file)) as site:
        judge.check("a wrong token is refused", served.typed(browser, site, "/", field, "wrong" * 5, "This is not the token"))
        judge.check("the right token opens the list", served.typed(browser, site, "/", field, token, "runs in"))


def check_all(judge, args, folder: Path) -> None:
    store, runs = folder / "store", folder / "runs"
    runs.mkdir()
    size = ["--runs", args.runs, "--rows-per-run", 200]
    must(args.xtask, "make-fleet", "--store", store, *size, "--truth", folder / "truth.json")
    made_runs(args.rooflens, runs)
    readers(judge, args, store)
    attacked(judge, args, store, folder)
    looked_at(judge, args, runs)


if __name__ == "__main__":
    main(
        check_all, needs("--xtask", "makes the store"), needs("--query-path", "folder of rooflens-query"),
        option("--seconds", type=float, default=20, metavar="N"), option("--runs", type=int, default=1000, metavar="N"),
        option("--times", action="store_true", help="judge times; wants a quiet machine"),
        option("--axe", type=Path, metavar="FILE", help="axe.min.js: judge accessibility"),
    )
