"""How long `rooflens query` takes beside bare DataFusion and DuckDB, over more runs, and in little memory. Release builds.

--engines is the folder of `rooflens-query`, with `examples/bare` below it. Times are the best of several rounds, of whole
processes, taken in turns. Fleets are made in --work where they are not there yet.

bare    Each named query, and scans of all kernels: ours, bare DataFusion on the same SQL and files, DuckDB. At most
        1.2 times bare, and about four times DuckDB. Of the store as it was added to, and compacted; there, queries that
        read roll-ups alone take at most 100 ms in the engine.
scale   A tenth of the runs in a tenth of the days: scans of everything at most 11 times as long, of one day twice.
memory  A compacted store of 10 GB (files repeated as links for other tenants) within 512 MB; what spills says so."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from oracle import main, must, needs, option, said
from store.reader import sealed

from fleet import engines

RUNS, ROWS_PER_RUN, DAYS, ROUNDS, GIGABYTES = 1000, 50_000, 30, 5, 10
SCANS = {
    "scan: sums by kernel": "SELECT kernel_id, count(*) AS n, sum(dur_ns) AS total, max(dur_ns) AS longest FROM kernels GROUP BY kernel_id",
    "scan: by run and rank": "SELECT run_id, rank, sum(dur_ns) AS total FROM kernels GROUP BY run_id, rank",
    "scan: one kernel": "SELECT count(*) AS n, avg(dur_ns) AS mean FROM kernels WHERE kernel_id = {kernel}",
}
ONE_DAY = "SELECT kernel_id, count(*) AS n, sum(dur_ns) AS total FROM kernels WHERE day = '{day}' GROUP BY kernel_id"
ROLLUP_MS, BARE_FACTOR, RUNS_FACTOR, DAY_FACTOR = 100, 1.2, 11, 2
# Bare DataFusion runs the same SQL, so it does not tell where a query joins in a bad order: DuckDB chooses its own.
DUCKDB_FACTOR, DUCKDB_SECONDS = 4, 0.1
# What DataFusion counts, and decoded pages besides.
MEMORY, MEMORY_MB = "512MB", 700
SPILLS = "SELECT run_id, rank, ts_ns, dur_ns FROM kernels WHERE tenant = 'production-0' ORDER BY dur_ns DESC, ts_ns, run_id"


class Fleet:
    """A store that `xtask make-fleet` made."""

    def __init__(self, options, runs, days):
        self.store = options.work / f"fleet-{runs}x{ROWS_PER_RUN}-{days}"
        truth = self.store.with_suffix(".truth.json")
        if not truth.exists():
            size = ["--runs", runs, "--rows-per-run", ROWS_PER_RUN, "--days", days]
            must(options.xtask, "make-fleet", "--store", self.store, "--truth", truth, *size, timeout_s=7200)
        self.truth = json.loads(truth.read_text())

    def compacted(self, options):
        other = object.__new__(Fleet)
        other.truth, other.store = self.truth, self.store.with_suffix(".compacted")
        if not (other.store / "done").exists():
            shutil.rmtree(other.store, ignore_errors=True)
            shutil.copytree(self.store, other.store)
            for words in (["compact"], ["vacuum", "--older-than", "0"]):
                must(options.rooflens, "store", *words, "--store", other.store, "--quiet", timeout_s=7200)
            (other.store / "done").touch()
        return other

    def bytes(self):
        return sum(file.stat().st_size for file in self.store.rglob("*.parquet"))


class Bench:
    def __init__(self, options):
        self.options, self.wrong = options, []
        self.environment = os.environ | {"PATH": f"{options.engines}:{os.environ['PATH']}"}

    def judge(self, holds, words):
        if not holds:
            self.wrong.append(words)

    def ours(self, store, words):
        begun = time.monotonic()
        done = must(self.options.rooflens, "query", *words, "--store", store, "--format", "json", env=self.environment)
        return time.monotonic() - begun, done.report()

    def one(self, store, sql):
        return self.ours(store, [sql])[1]["rows"][0][0]

    def bare(self, store, sql):
        """Seconds of the whole process, of the query alone."""
        file = self.options.work / "query.sql"
        file.write_text(sql)
        begun = time.monotonic()
        told = said(self.options.engines / "examples/bare", store, file)
        return time.monotonic() - begun, int(re.match(r"(\d+) ms, (\d+) rows", told)[1]) / 1000

    def rendered(self, words, dialect):
        if len(words) == 1 and " " in words[0]:
            return words[0]
        return said(self.options.rooflens, "query", *words, "--show", dialect)

    def questions(self, fleet):
        for asked in fleet.truth["queries"]:
            yield asked["query"], [asked["query"], *(f"{name}={value}" for name, value in asked["parameters"].items())]
        kernel = self.kernel(fleet)
        for name, sql in SCANS.items():
            yield name, [sql.format(kernel=kernel)]

    def kernel(self, fleet):
        return self.one(fleet.store, "SELECT min(kernel_id) FROM kernel_dim")


def part_bare(bench, fleet, is_compacted):
    duckdb = engines.DuckDb(said(bench.options.rooflens, "export", "duckdb", "--views", "--store", fleet.store))
    duckdb.connection.execute("SET threads = 2")
    print(f"{'seconds':32} {'ours':>7} {'engine':>7} {'bare':>7} {'query':>7} {'DuckDB':>7}  ours/bare")
    for name, words in bench.questions(fleet):
        ours, inside, bare, bare_query, other = [], [], [], [], []
        datafusion, duck = bench.rendered(words, "datafusion"), bench.rendered(words, "duckdb")
        for _ in range(ROUNDS):
            seconds, answer = bench.ours(fleet.store, words)
            ours.append(seconds)
            inside.append(answer["elapsed_ms"] / 1000)
            seconds, query = bench.bare(fleet.store, datafusion)
            bare.append(seconds)
            bare_query.append(query)
            begun = time.monotonic()
            duckdb.rows(duck)
            other.append(time.monotonic() - begun)
        best = [min(times) for times in (ours, inside, bare, bare_query, other)]
        print(f"{name:32} {' '.join(f'{seconds:7.3f}' for seconds in best)}  {best[0] / best[2]:.2f}", flush=True)
        # What bare DataFusion does not do, statistics over the rows, is left out.
        took = best[1] if name == "regressions" else best[0]
        bench.judge(took <= BARE_FACTOR * best[2], f"{name}: {took / best[2]:.2f} times bare DataFusion")
        bench.judge(took <= DUCKDB_FACTOR * best[4] + DUCKDB_SECONDS, f"{name}: {took / best[4]:.1f} times DuckDB")
        is_rollup = not name.startswith("scan") and not reads(bench, words) & {"kernels", "requests"}
        if is_compacted and is_rollup:
            bench.judge(best[1] * 1000 <= ROLLUP_MS, f"{name}: {best[1] * 1000:.0f} ms")


def reads(bench, words):
    return set(re.findall(r"(?:FROM|JOIN)\s+(\w+)", bench.rendered(words, "datafusion")))


def part_scale(bench, fleet, tenth):
    kernel = bench.kernel(fleet)
    day = bench.one(tenth.store, "SELECT min(day) FROM runs")
    asked = [(name, sql.format(kernel=kernel), RUNS_FACTOR) for name, sql in SCANS.items()] + [("one day", ONE_DAY.format(day=day), DAY_FACTOR)]
    for name, sql, limit in asked:
        small, large = [], []
        for _ in range(ROUNDS):
            small.append(bench.ours(tenth.store, [sql])[0])
            large.append(bench.ours(fleet.store, [sql])[0])
        factor = min(large) / min(small)
        print(f"{name}: {min(small):.3f} s for a tenth of the runs, {min(large):.3f} s for all: {factor:.1f} times", flush=True)
        bench.judge(factor <= limit, f"{name}: {factor:.1f} times as long for 10 times the runs")


def repeated(bench, fleet):
    """A store of many gigabytes: the files of a fleet once more for other tenants, as links, with manifests of their own."""
    store = bench.options.work / "large"
    copies = -(-GIGABYTES * 10**9 // fleet.bytes())
    if (store / f"copies-{copies}").exists():
        return store
    shutil.rmtree(store, ignore_errors=True)
    for copy in range(copies):
        for log in fleet.store.glob("tenant=*/log/day=*/*.json"):
            manifest = json.loads(log.read_text())
            tenant = log.relative_to(fleet.store).parts[0]
            for file in manifest["files"]:
                target = file["path"].replace(tenant, f"{tenant}-{copy}", 1)
                link = store / target
                link.parent.mkdir(parents=True, exist_ok=True)
                os.link(fleet.store / file["path"], link)
                file["path"] = target
            target = store / str(log.relative_to(fleet.store)).replace(tenant, f"{tenant}-{copy}", 1)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(sealed(manifest))
    (store / "store.json").write_bytes((fleet.store / "store.json").read_bytes())
    (store / f"copies-{copies}").touch()
    return store


def highest_memory(command, environment):
    """Runs a command; seconds, what it wrote to standard error, and the most memory of the engine at a time, in MB."""
    begun, highest = time.monotonic(), 0
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=errors, env=environment)
        while process.poll() is None:
            for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split() if process.poll() is None else []:
                try:
                    line = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{child}/status").read_text())
                    highest = max(highest, int(line.group(1)) // 1024)
                except (OSError, AttributeError):
                    pass
            time.sleep(0.02)
        errors.seek(0)
        told = errors.read().strip()
    if process.returncode:
        raise SystemExit(f"{command}: {told}")
    return time.monotonic() - begun, told, highest


def part_memory(bench, fleet):
    store = repeated(bench, fleet)
    size = sum(file.stat().st_size for file in store.rglob("*.parquet"))
    print(f"{size / 1e9:.1f} GB, {bench.one(store, 'SELECT count(*) FROM kernels')} kernels")
    for name, sql in [*SCANS.items(), ("sort", SPILLS)]:
        command = [bench.options.rooflens, "query", sql.format(kernel=0), "--store", store, "--memory", MEMORY, "-o", bench.options.work / "answer.parquet"]
        seconds, told, highest = highest_memory(command, bench.environment)
        spilled = [line for line in told.splitlines() if line.startswith("spilled")]
        print(f"{name}: {seconds:.1f} s, at most {highest} MB; {spilled[0] if spilled else 'nothing spilled'}", flush=True)
        bench.judge(highest <= MEMORY_MB, f"{name}: {highest} MB")
        bench.judge(name != "sort" or spilled, "the sort does not say that it spilled")


def check_all(judge, args, _scratch: Path) -> None:
    args.work.mkdir(parents=True, exist_ok=True)
    fleet = Fleet(args, RUNS, DAYS)
    parts = {
        "bare": lambda bench: part_bare(bench, fleet, is_compacted=False),
        "bare, compacted": lambda bench: part_bare(bench, fleet.compacted(args), is_compacted=True),
        "scale": lambda bench: part_scale(bench, fleet, Fleet(args, RUNS // 10, DAYS // 10)),
        "memory": lambda bench: part_memory(bench, fleet.compacted(args)),
    }
    for name, part in parts.items():
        bench = Bench(args)
        part(bench)
        judge.check(name, bench.wrong)


if __name__ == "__main__":
    work = option("--work", type=Path, required=True, metavar="DIR")
    main(check_all, needs("--xtask"), needs("--engines"), work)
