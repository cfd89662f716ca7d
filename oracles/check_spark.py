"""`rooflens-query-spark` on a real Spark cluster against DuckDB over the same files, and what happens when parts die.

Every named query is asked twice of a fleet that was made, here and on the cluster: the same rows. Every query below must
give DuckDB's rows. Then, while a join of more than ten seconds runs, a worker and its executor are killed at random
moments: the answer must be right, or the error clean and a second try right; nothing may take longer than a limit. The
Connect server killed, and no server at all: a clean error within ten seconds. About eight minutes on two quiet cores.
"""

import json
import os
import random
import re
import signal
import subprocess
import time
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow
import pyarrow.parquet

from fleet import engines
from oracle import main, must, needs, option, run

QUERIES = {
    "partitions": "SELECT tenant, day, count(*) AS n, sum(dur_ns) AS total FROM kernels GROUP BY tenant, day",
    "one day": "SELECT kernel_id, count(*) AS n, max(dur_ns) AS longest FROM kernels"
    " WHERE day = '2026-11-02' AND tenant = 'acme' GROUP BY kernel_id",
    "later days": "SELECT count(*) AS n, count(layer) AS layers, min(day) AS first FROM kernels WHERE day > '2026-11-03'",
    "join": "SELECT r.runtime_version, k.phase, sum(k.total_ns) / sum(k.count) AS mean_ns, max(r.devices) AS devices"
    " FROM kernel_rollup k JOIN runs r USING (run_id, day, tenant) GROUP BY r.runtime_version, k.phase",
    "window": "SELECT * FROM (SELECT run_id, rank, sum(total_ns) AS total, row_number() OVER"
    " (PARTITION BY run_id ORDER BY sum(total_ns) DESC, rank) AS place FROM kernel_rollup GROUP BY run_id, rank) ranks"
    " WHERE place <= 2",
    "no row": "SELECT run_id, devices FROM runs WHERE day = '1999-01-01'",
    "rows": "SELECT run_id, rank, ts_ns, dur_ns, phase, layer, day, tenant FROM kernels"
    " WHERE kernel_id = -1000000 AND day < '2026-11-03'",
}
# The hint makes Spark shuffle and sort both sides, as it does with tables too large for one executor.
JOIN = """
    SELECT /*+ MERGE(b) */ a.kernel_id, count(*) AS pairs, sum(a.dur_ns - b.dur_ns) AS balance, max(b.dur_ns) AS longest
    FROM kernels a JOIN kernels b ON a.run_id = b.run_id AND a.kernel_id = b.kernel_id AND a.phase = b.phase
    GROUP BY a.kernel_id
"""
# A view that engines have besides the tables.
NAMES = """SELECT n.name, n.class, count(*) AS calls, sum(k.total_ns) AS total
    FROM kernel_rollup k JOIN kernel_names n ON n.kernel_id = k.kernel_id GROUP BY n.name, n.class ORDER BY n.name"""
KILLED_SERVER_SECONDS = 10
# After which a supervisor starts a worker again.
RESTART_SECONDS = 3
LIMIT_S, KILLS, ROWS = 120, 10, 70_000


PHASES = "['prefill', 'decode', 'mixed', 'none']"
KERNELS = f"""
    SELECT '{{run}}' AS run_id, (hash(i, 1) % 8)::INT AS rank, (hash(i, 2) % 8)::INT AS device, 7::INT AS stream,
        i * 1000 AS ts_ns, (1000 + hash(i, {{seed}}) % 100000)::BIGINT AS dur_ns,
        (hash(i, 3) % 300)::BIGINT * 7919 - 1000000 AS kernel_id, 'kernel' AS kind,
        {PHASES}[1 + (hash(i, 4) % 4)::INT] AS phase,
        CASE WHEN hash(i, 5) % 10 < 7 THEN (hash(i, 6) % 32)::INT END AS layer
    FROM range({{rows}}) AS t(i) ORDER BY kernel_id, rank, ts_ns
"""
ROLLUP = """
    SELECT run_id, rank, kernel_id, phase, count(*)::BIGINT AS count, sum(dur_ns)::BIGINT AS total_ns,
        min(dur_ns) AS min_ns, max(dur_ns) AS max_ns
    FROM '{kernels}' GROUP BY ALL ORDER BY ALL
"""
RUNS = """
    SELECT '{run}' AS run_id, 'profile' AS kind, 'ok' AS status, {rows}::BIGINT AS events,
        {rows}::BIGINT * 1000 AS span_ns, 'v{version}' AS runtime_version, CASE WHEN {version} > 0 THEN 8 END::INT AS devices
"""


def make_store(store: Path, tenants: list[str], days: int, runs: int, rows: int):
    """Tables kernels, kernel_rollup and runs, a file per run each."""
    connection = duckdb.connect(config={"autoinstall_known_extensions": False})
    seed = 0
    for tenant in tenants:
        for day in (f"2026-11-{1 + number:02}" for number in range(days)):
            for number in range(runs):
                seed += 1
                run = f"{tenant}-{day}-{number}"
                values = {"run": run, "seed": seed, "rows": rows, "version": seed % 3}
                kernels = write(connection, store, tenant, "events/kernels", day, run, KERNELS.format(**values))
                write(connection, store, tenant, "rollups/kernel_rollup", day, run, ROLLUP.format(kernels=kernels))
                write(connection, store, tenant, "rollups/runs", day, run, RUNS.format(**values))


def write(connection, store: Path, tenant: str, table: str, day: str, run: str, sql: str) -> Path:
    folder = store / f"tenant={tenant}" / table / f"day={day}"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"run-{run}.parquet"
    connection.execute(f"COPY ({sql}) TO '{file}' (FORMAT parquet, COMPRESSION zstd)")
    return file


class Cluster:
    """What `spark-cluster start VENV DIR` started, found by the process ids that it left in DIR."""

    def __init__(self, tool: Path, venv: Path, folder: Path, port: int = 15002):
        self.tool, self.venv, self.folder, self.port = tool, venv, folder, port
        self.url = f"sc://127.0.0.1:{port}"

    def start(self):
        """Starts everything, until the Connect server listens."""
        environment = os.environ | {"PORT": str(self.port)}
        with open(self.folder.parent / f"{self.folder.name}.log", "a", encoding="utf-8") as log:
            command = [self.tool, "start", self.venv, self.folder]
            subprocess.run(command, check=True, env=environment, stdout=log, stderr=log, timeout=600)

    def stop(self):
        executors = [child for name in self.workers() for child in children(self.process(name))]
        subprocess.run([self.tool, "stop", self.folder], check=True, timeout=60)
        for process in executors:
            kill(process)
        time.sleep(1)

    def workers(self) -> list[str]:
        return sorted(file.stem for file in self.folder.glob("worker*.pid"))

    def process(self, name: str) -> int:
        return int((self.folder / f"{name}.pid").read_text())

    def runs(self, name: str) -> bool:
        try:
            # A process that has died and was not waited for has none.
            return Path(f"/proc/{self.process(name)}/cmdline").read_bytes() != b""
        except OSError:
            return False

    def kill(self, name: str) -> list[int]:
        """Kills a part and its children (a worker's executors) with SIGKILL; their process ids."""
        worker = self.process(name)
        killed = [worker, *children(worker)]
        for process in killed:
            kill(process)
        return killed

    def command(self, name: str) -> list[str]:
        """Class and arguments of a part that runs; what stands before them, and its environment, `spark-class` adds."""
        words = Path(f"/proc/{self.process(name)}/cmdline").read_bytes().decode().strip("\0").split("\0")
        begin = next(at for at, word in enumerate(words) if word.startswith("org.apache.spark.deploy."))
        return words[begin:]

    def restart(self, name: str, command: list[str]):
        """Starts a part that was killed, as it was started before."""
        home = next((self.venv / "lib").glob("python3*/site-packages/pyspark"))
        python = str(self.venv / "bin/python")
        environment = os.environ | {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": python}
        with open(self.folder / f"{name}.log", "a", encoding="utf-8") as log:
            started = subprocess.Popen(
                [home / "bin/spark-class", *command],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        (self.folder / f"{name}.pid").write_text(str(started.pid))

    def wait_for_executors(self, count: int, seconds: float = 60) -> bool:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if sum(len(children(self.process(name))) for name in self.workers()) >= count:
                return True
            time.sleep(0.5)
        return False


def children(process: int) -> list[int]:
    try:
        lists = [(task / "children").read_text() for task in Path(f"/proc/{process}/task").iterdir()]
    except OSError:
        return []
    return [int(word) for text in lists for word in text.split()]


def kill(process: int):
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        pass


ARROW_TYPES = {"string": "utf8", "large_string": "utf8", "double": "float64", "float": "float32"}
PLACE = re.compile(r"tenant=([^/]+)/(?:rollups|events)/([^/]+)/day=([^/]+)/[^/]+\.parquet$")


@dataclass
class Outcome:
    """What a process left: the last event, and rows where it succeeded."""

    code: int
    seconds: float
    event: dict
    columns: list[str] = field(default_factory=list)
    rows: list[tuple] = field(default_factory=list)

    def fault(self) -> str:
        """What is wrong with the way it ended; empty for an answer and for a clean error."""
        kind = self.event.get("event")
        if self.code == 0:
            return "" if kind == "done" and self.event["rows"] == len(self.rows) else f"exit 0 with {self.event}"
        if kind != "error" or not self.event.get("message"):
            return f"exit code {self.code} without an error event: {self.event}"
        if re.search(r"^\s*at [\w.$]+\(", self.event["message"], re.MULTILINE):
            return "its message has a stack trace"
        return ""


def tables_of(store: Path) -> dict:
    """Tables as in a request. Takes every file, so it is for stores without removed runs."""
    tables = {}
    for file in sorted(store.glob("tenant=*/*/*/day=*/*.parquet")):
        if place := PLACE.search(file.as_posix()):
            tenant, name, day = place.groups()
            table = tables.setdefault(name, {"files": [], "columns": columns_of(file)})
            size = file.stat().st_size
            table["files"].append({"path": f"file://{file}", "day": day, "tenant": tenant, "bytes": size, "rows": 0})
    return tables


def columns_of(file: Path) -> list:
    schema = pyarrow.parquet.read_schema(file)
    return [[column.name, ARROW_TYPES.get(str(column.type), str(column.type)), column.nullable] for column in schema]


class Question:
    def __init__(self, engine: Path, url: str, store: Path, tables: dict, sql: str):
        request = {"sql": sql, "store": str(store), "engine": url, "tables": tables, "explain": False}
        self.begun = time.monotonic()
        self.last_event = {}
        self.process = subprocess.Popen(
            [engine], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        # The request is read whole before anything is written, so this cannot block for long.
        self.process.stdin.write(json.dumps(request).encode())
        self.process.stdin.close()
        self.process.stdin = None

    def outcome(self, limit: float) -> Outcome | None:
        """What it left, or None where it had to be killed after so many seconds since its start."""
        try:
            out, err = self.process.communicate(timeout=max(0.1, limit - (time.monotonic() - self.begun)))
        except subprocess.TimeoutExpired:
            self.process.kill()
            _, err = self.process.communicate()
            self.last_event = last_event(err)
            return None
        seconds = time.monotonic() - self.begun
        event = last_event(err)
        outcome = Outcome(self.process.returncode, seconds, event)
        if outcome.code == 0:
            table = pyarrow.ipc.open_stream(out).read_all()
            outcome.columns = table.schema.names
            outcome.rows = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
        return outcome


def last_event(err: bytes) -> dict:
    lines = err.decode(errors="replace").strip().splitlines()
    try:
        return json.loads(lines[-1])
    except (IndexError, ValueError):
        return {"event": "none", "message": lines[-1:]}


def expected(tables: dict, sql: str) -> tuple[list[str], list[tuple]]:
    connection = duckdb.connect(config={"autoinstall_known_extensions": False, "threads": 2})
    for name, table in tables.items():
        if table["files"] and re.search(rf"\b{name}\b", sql, re.IGNORECASE):
            paths = [file["path"].removeprefix("file://") for file in table["files"]]
            options = "hive_partitioning=true, hive_types_autocast=false, union_by_name=true"
            files = ", ".join("'" + path.replace("'", "''") + "'" for path in paths)
            connection.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet([{files}], {options})")
    answer = connection.sql(sql)
    return answer.columns, answer.fetchall()


def difference(got: Outcome, columns: list[str], rows: list[tuple]) -> str:
    """The first difference, or nothing. Rows are sorted, because SQL leaves the order of ties open."""
    theirs, ours = ((names, sorted(found, key=order)) for names, found in ((columns, rows), (got.columns, got.rows)))
    return engines.difference(theirs, ours) or ""


def order(row: tuple) -> list:
    """Rounded, so that numbers that are the same by tolerance sort alike."""
    is_number = [isinstance(value, int | float | Decimal) and not isinstance(value, bool) for value in row]
    return [(value is not None, f"{float(value):.6e}" if number else str(value)) for value, number in zip(row, is_number)]


class Checker:
    """One cluster, one store; faults are collected."""

    def __init__(self, judge, options, cluster: Cluster, store: Path, tables: dict):
        self.judged, self.options, self.cluster, self.store, self.tables = judge, options, cluster, store, tables

    def ask(self, sql: str, url: str | None = None) -> Question:
        return Question(self.options.engine, url or self.cluster.url, self.store, self.tables, sql)

    def judge(self, name: str, fault: str, words: str):
        self.judged.check(name, [fault] if fault else [], words)

    def query(self, name: str, sql: str) -> float:
        """One query against DuckDB; its seconds."""
        outcome = self.ask(sql).outcome(LIMIT_S)
        if outcome is None:
            self.judge(name, "it hangs", f"no end in {LIMIT_S} s")
            return LIMIT_S
        fault = outcome.fault() or (outcome.event["message"] if outcome.code else "")
        fault = fault or difference(outcome, *expected(self.tables, sql))
        self.judge(name, fault, f"{outcome.seconds:.1f} s, {len(outcome.rows)} rows")
        return outcome.seconds

    def named(self, folder: Path):
        """Every named query of a made fleet, by `rooflens query` here and by `rooflens query --engine`."""
        store, truth = folder / "fleet", folder / "truth.json"
        must(self.options.xtask, "make-fleet", "--store", store, "--truth", truth, "--runs", 80, "--rows-per-run", 2000)
        queries = json.loads(truth.read_text())["queries"] + [{"query": NAMES, "parameters": {}}]
        for asked in queries:
            values = [f"{name}={value}" for name, value in asked["parameters"].items()]
            words = ["query", asked["query"], *values, "--store", store, "--format", "json"]
            begun = time.monotonic()
            here, there = self.rows(words), self.rows([*words, "--engine", self.cluster.url])
            fault = engines.difference(here, there) or ("" if here[1] else "no rows")
            self.judge(f"{asked['query']} {' '.join(values)}", fault, f"{len(here[1])} rows, {time.monotonic() - begun:.1f} s")

    def rows(self, words: list) -> tuple:
        environment = os.environ | {"PATH": f"{self.options.engine.parent}:{os.environ['PATH']}"}
        done = run(self.options.rooflens, *words, env=environment, timeout_s=LIMIT_S)
        if done.code:
            return [done.failure()], []
        answer = done.report()
        return [column["name"] for column in answer["columns"]], answer["rows"]

    def workers_killed(self, sql: str, seconds: float, answer: tuple):
        """Kills one worker at each of some random moments of a query that takes so many seconds."""
        chance = random.Random(self.options.seed)
        kept = 0
        for number in range(KILLS):
            moment = chance.uniform(0.05, 0.95) * seconds
            worker = chance.choice(self.cluster.workers())
            command = self.cluster.command(worker)
            question = self.ask(sql)
            time.sleep(moment)
            running = question.process.poll() is None
            killed = self.cluster.kill(worker)
            time.sleep(RESTART_SECONDS)
            self.cluster.restart(worker, command)
            outcome = question.outcome(LIMIT_S)
            name = f"kill {number + 1} of {worker} and {len(killed) - 1} process(es) of it at {moment:.1f} s"
            name += "" if running else " (after the end)"
            if outcome is None:
                self.judge(name, "it hangs", f"no end in {LIMIT_S} s; last event {question.last_event}")
            elif fault := outcome.fault():
                self.judge(name, fault, f"{outcome.seconds:.1f} s")
            elif outcome.code == 0:
                kept += 1
                self.judge(name, difference(outcome, *answer), f"right after {outcome.seconds:.1f} s")
            else:
                self.judge(name, "", f"error after {outcome.seconds:.1f} s: {outcome.event['message'][:120]}")
                self.query("  the second try", sql)
            if not self.cluster.wait_for_executors(len(self.cluster.workers())):
                self.judge(name, "the cluster does not recover, so that further kills say nothing", "")
                break
        print(f"{kept} of {KILLS} queries gave the right answer although a worker was killed")

    def server_killed(self, sql: str, seconds: float):
        """The Connect server, which is Spark's driver, killed while a query runs."""
        if not self.cluster.runs("connect"):
            self.judge("Connect server killed", "it had died before", "")
            return
        command = self.cluster.command("connect")
        question = self.ask(sql)
        time.sleep(seconds / 2)
        begun = time.monotonic()
        self.cluster.kill("connect")
        outcome = question.outcome(LIMIT_S)
        took = time.monotonic() - begun
        if outcome is None:
            fault = "it hangs"
        elif not (fault := outcome.fault()):
            fault = "it succeeded" if outcome.code == 0 else ""
            fault = fault or ("" if outcome.event["hint"] else "the error has no hint")
            fault = fault or ("" if took <= KILLED_SERVER_SECONDS else f"over {KILLED_SERVER_SECONDS} s")
        words = outcome.event.get("message", "")[:120] if outcome else ""
        self.judge("Connect server killed", fault, f"{took:.1f} s: {words}")
        self.cluster.restart("connect", command)

    def no_server(self):
        outcome = self.ask("SELECT 1 AS one", "sc://127.0.0.1:9").outcome(LIMIT_S)
        fault = "it hangs" if outcome is None else outcome.fault()
        if not fault and (outcome.code == 0 or not outcome.event["hint"] or outcome.seconds > KILLED_SERVER_SECONDS):
            fault = f"no quick error with a hint: {outcome.event} in {outcome.seconds:.1f} s"
        self.judge("no server", fault, f"{outcome.seconds:.1f} s" if outcome else "")


def check_all(judge, args, folder: Path) -> None:
    store = folder / "store"
    make_store(store, ["acme", "blue"], days=5, runs=3, rows=ROWS)
    tables = tables_of(store)
    cluster = Cluster(args.spark_cluster, args.venv.resolve(), folder / "cluster")
    checker = Checker(judge, args, cluster, store, tables)
    try:
        cluster.start()
        checker.named(folder)
        for name, sql in QUERIES.items():
            checker.query(name, sql)
        # The first run is slower than those after it.
        checker.query("long join, cold", JOIN)
        seconds = checker.query("long join", JOIN)
        if seconds <= 10:
            checker.judge("long join", "too short to kill something: raise ROWS", f"{seconds:.1f} s")
        checker.workers_killed(JOIN, seconds, expected(tables, JOIN))
        checker.server_killed(JOIN, seconds)
        checker.no_server()
    finally:
        cluster.stop()


if __name__ == "__main__":
    venv = option("--venv", type=Path, required=True, metavar="DIR", help="of PySpark; made where missing")
    seed = option("--seed", type=int, default=17)
    main(check_all, needs("--engine", "rooflens-query-spark"), needs("--spark-cluster"), venv, needs("--xtask"), seed)
