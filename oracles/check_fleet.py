"""Named queries over a fleet with planted truth: the planted rows, to the nanosecond, and the same on every engine.

`xtask make-fleet` writes a store and the rows that every query has to give. Each query is rendered and run on DuckDB and
on ClickHouse (chDB), over views that the renderer writes; and by `rooflens query`. A second store, made here, has what a
fleet lacks: nulls, a run of two tenants, files that do not count. --examples has render_query and store_views."""

import collections
import json
import re
import subprocess
from pathlib import Path

from oracle import main, must, needs, option, run, said

from fleet import engines, small_store, store_files

# For the store that is made here: every query, with values that find something.
ASKED = [
    ("top-kernels", {"since": "2026-11-02"}),
    ("kernel-latency", {"kernel": "flash"}),
    ("kernel-latency", {"kernel": "-9", "phase": "decode"}),
    ("kernel-latency", {"kernel": "gemm<'a', 128>(x\\y)"}),
    ("decode-mbu", {}),
    ("launches-per-token", {}),
    ("regressions", {"base": "b1", "other": "b2"}),
    ("changes-since", {"release": "r1"}),
    ("slow-ranks", {"threshold": "0.2"}),
    ("throttled-runs", {}),
    ("slo-attainment", {"ttft": "50ms", "tpot": "20ms"}),
    ("cost-per-million-tokens", {"usd_per_device_hour": "2.5"}),
]
# Values that try to leave their literal.
HOSTILE = ["'; DROP TABLE runs; --", "\\", "\\' OR 1=1 --", "${env:HOME}${spark.master}", "{x:String}", ":since", "é \" ` % $1 ?\n"]


class Check:
    def __init__(self):
        self.compared, self.wrong = 0, []

    def that(self, problem, where):
        self.compared += 1
        if problem:
            self.wrong.append(f"{where}: {problem}")


class Renderer:
    def __init__(self, folder: Path):
        self.folder = folder

    def query(self, name, dialect, parameters):
        return said(self.folder / "render_query", name, dialect, *pairs(parameters))

    def views(self, dialect, described):
        argv = [self.folder / "store_views", "views", dialect]
        return subprocess.run(argv, input=described, capture_output=True, text=True, check=True).stdout


class Rooflens:
    """The binary: what it renders, and what it answers through its engine."""

    def __init__(self, binary, store):
        self.binary, self.store = binary, store

    def show(self, name, dialect, parameters):
        return said(self.binary, "query", name, "--show", dialect, *pairs(parameters))

    def views(self, dialect):
        return said(self.binary, "export", dialect, "--views", "--store", self.store)

    def rows(self, name, parameters):
        answer = must(self.binary, "query", name, "--store", self.store, "--format", "json", *pairs(parameters)).report()
        return [column["name"] for column in answer["columns"]], [tuple(row) for row in answer["rows"]]


def pairs(parameters):
    return [f"{name}={value}" for name, value in parameters.items()]


def key(row):
    """An order of rows that a difference in the last digit of a number does not change."""
    return [(str(type(cell).__name__ == "str"), cell if isinstance(cell, str) else f"{cell:.6e}") for cell in row if cell is not None]


def against_truth(answer, expected):
    names, rows = answer
    missing = [name for name in expected["columns"] if name not in names]
    if missing and expected["rows"]:
        return f"no columns {missing}"
    places = [names.index(name) for name in expected["columns"] if name in names]
    found = sorted((tuple(row[place] for place in places) for row in rows), key=key)
    wanted = sorted((tuple(row) for row in expected["rows"]), key=key)
    return engines.difference((expected["columns"], wanted), (expected["columns"], found))


# What answers add up to, counted without a join: a run that two tenants have counts twice, not four times.
SUMS = [
    ("decode-mbu", {}, "runs", "SELECT count(*) FROM run_metrics WHERE metric = 'mbu_decode'"),
    ("kernel-latency", {"kernel": "flash"}, "calls", "SELECT count(*) FROM kernels WHERE kernel_id = -2"),
    ("launches-per-token", {}, "activities", "SELECT sum(activities) FROM phase_rollup WHERE phase = 'decode' AND decode_tokens > 0"),
    ("slo-attainment", {"ttft": "50ms", "tpot": "20ms"}, "requests",
     "SELECT count(*) FROM requests WHERE round_kind = 'measured' AND status <> 'cancelled'"),
    ("top-kernels", {}, "device_ns", "SELECT sum(dur_ns) FROM kernels"),
]


def sums(check, renderer, duckdb):
    for query, parameters, column, counted in SUMS:
        names, rows = duckdb.rows(renderer.query(query, "duckdb", parameters))
        found, wanted = sum(row[names.index(column)] for row in rows), duckdb.rows(counted)[1][0][0]
        check.that(None if found == wanted else f"{column} add up to {found}, not {wanted}", query)


def edges(check, renderer, arguments, folder):
    """The store with nulls: the same rows on every engine, and values that stay in their literals."""
    files = small_store.make(folder / "small")
    columns_of = {table: small_store.columns(table) for table in small_store.COLUMNS}
    duckdb = engines.DuckDb(renderer.views("duckdb", store_files.described(files, columns_of)))
    sums(check, renderer, duckdb)
    clickhouse = engines.ClickHouse(renderer.views("clickhouse", store_files.described(files, columns_of)))
    for query, parameters in ASKED:
        reference = duckdb.rows(renderer.query(query, "duckdb", parameters))
        check.that(None if reference[1] else "no rows", f"{query} {parameters}")
        other = clickhouse.rows(renderer.query(query, "clickhouse", parameters))
        check.that(engines.difference(reference, other), f"clickhouse {query} {parameters}")
    for value in HOSTILE:
        for one in (duckdb, clickhouse):
            sql = renderer.query("top-kernels", one.dialect, {"hardware": value})
            check.that("rows" if one.rows(sql)[1] else None, f"{one.dialect} hardware={value!r}")
    clickhouse.close()


def fleet(check, renderer, arguments, folder):
    store, truth_file = folder / "fleet", folder / "truth.json"
    size = ["--runs", 80, "--rows-per-run", 2000, "--days", 28, "--seed", arguments.seed]
    must(arguments.xtask, "make-fleet", "--store", store, "--truth", truth_file, *size)
    truth = json.loads(truth_file.read_text())
    files = store_files.counting(store)
    columns_of = store_files.columns(files)
    duckdb = engines.DuckDb(renderer.views("duckdb", store_files.described(files, columns_of)))
    rows = duckdb.rows("SELECT count(*) FROM kernels")[1][0][0]
    check.that(None if rows == truth["kernel_rows"] else f"{rows} rows for {truth['kernel_rows']}", "kernels")
    answers = []
    for expected in truth["queries"]:
        answers.append(duckdb.rows(renderer.query(expected["query"], "duckdb", expected["parameters"])))
        check.that(against_truth(answers[-1], expected), f"truth of {expected['query']} {expected['parameters']}")
    clickhouse = engines.ClickHouse(renderer.views("clickhouse", store_files.described(files, columns_of)))
    for expected, answer in zip(truth["queries"], answers):
        other = clickhouse.rows(renderer.query(expected["query"], "clickhouse", expected["parameters"]))
        check.that(engines.difference(answer, other), f"clickhouse {expected['query']} {expected['parameters']}")
    clickhouse.close()
    asked_of_rooflens(check, renderer, Rooflens(arguments.rooflens, store), truth, answers)
    formats(check, Rooflens(arguments.rooflens, store), folder)


def formats(check, ours, folder):
    """An answer of all rows, in every format: the same rows as DuckDB reads them, and files that fail are not left."""
    sql = "SELECT run_id, rank, phase, ts_ns, dur_ns, layer FROM kernels ORDER BY run_id, rank, ts_ns, dur_ns, kernel_id"
    names, rows = ours.rows(sql, {})
    duckdb = engines.DuckDb(ours.views("duckdb"))
    wanted = names, duckdb.rows(sql)[1]
    check.that(engines.difference(wanted, (names, rows)), "json of all rows")
    for kind in ("csv", "parquet"):
        file = folder / f"answer.{kind}"
        must(ours.binary, "query", sql, "--store", ours.store, "--format", kind, "-o", file)
        read = duckdb.rows(f"SELECT * FROM read_{kind}('{file}'" + (", all_varchar = false)" if kind == "csv" else ")"))
        check.that(engines.difference(wanted, read), f"{kind} of all rows")
    failing = "SELECT CAST(run_id AS BIGINT) FROM runs"
    done = run(ours.binary, "query", failing, "--store", ours.store, "--format", "csv", "-o", folder / "none.csv")
    check.that(None if done.code and not (folder / "none.csv").exists() else "a file of a query that failed is left", failing)


def scanned_twice(ours, query, parameters):
    """Which tables the plan of a named query reads more than once."""
    plan = str(ours.rows("EXPLAIN " + ours.show(query, "datafusion", parameters), {}))
    scans = collections.Counter(re.findall(r"DataSourceExec: .*?/(?:rollups|events)/(\w+)/", plan))
    twice = [table for table, times in scans.items() if times > 1]
    if not scans:
        return f"no scan in {plan[:200]}"
    return f"tables read more than once: {twice}" if twice else None


def asked_of_rooflens(check, renderer, ours, truth, answers):
    """`rooflens query` gives the planted rows and judges builds as they were planted; its views hold the same."""
    duckdb = engines.DuckDb(ours.views("duckdb"))
    for expected, answer in zip(truth["queries"], answers):
        query, parameters = expected["query"], expected["parameters"]
        where = f"rooflens {query} {parameters}"
        sql = ours.show(query, "duckdb", parameters)
        check.that(None if sql.strip() == renderer.query(query, "duckdb", parameters).strip() else "other SQL", where)
        check.that(engines.difference(answer, duckdb.rows(sql)), f"{where} over its views")
        check.that(scanned_twice(ours, query, parameters), where)
        if query != "regressions":
            check.that(against_truth(ours.rows(query, parameters), expected), where)
    for planted in truth["planted"]["builds"]:
        parameters = {"base": planted["base"], "other": planted["other"]}
        names, rows = ours.rows("regressions", parameters)
        lines = [dict(zip(names, row)) for row in rows]
        found = [line for line in lines if line["verdict"] in ("slower", "faster")]
        for change in planted["changed"]:
            wanted = "slower" if change["factor"] > 1 else "faster"
            matching = [line for line in found if change["kernel"] in line["kernel"] and line["phase"] == change["phase"] and line["verdict"] == wanted]
            check.that(None if len(matching) == 1 else f"{change} is not found", f"rooflens regressions {parameters}")
            for line in matching:
                found.remove(line)
                is_in = line["low"] <= change["factor"] - 1 <= line["high"] or abs(line["change"] + 1 - change["factor"]) < 0.03
                check.that(None if is_in else f"{line['change']} for {change}", f"rooflens regressions {parameters}")
        # At a rate of false discoveries of 5 % a line may be wrong, by little.
        grave = [line for line in found if abs(line["change"]) > 0.02]
        check.that(f"found without being planted: {grave}" if grave else None, f"rooflens regressions {parameters}")


def check_all(judge, args, folder: Path) -> None:
    for part in (edges, fleet):
        check = Check()
        part(check, Renderer(args.examples), args, folder)
        judge.check(part.__name__, check.wrong, f"{check.compared} comparisons")


if __name__ == "__main__":
    main(check_all, needs("--examples"), needs("--xtask"), option("--seed", type=int, default=1))
