#!/usr/bin/env python3
"""`rooflens-query-spark` on a real Spark cluster against DuckDB over the same files, and what happens when parts die.

Every named query is asked twice of a fleet that was made, here and on the cluster: the same rows. Every query below must
give DuckDB's rows. Then, while a join of more than ten seconds runs, a worker and its executor are killed at random
moments: the answer must be right, or the error clean and a second try right; nothing may take longer than a limit. The
Connect server killed, and no server at all: a clean error within ten seconds. About eight minutes on two quiet cores.
"""

import json
import os
import random
import time
from pathlib import Path

from fleet import engines
import spark_store
from oracle import main, must, needs, option, run
from spark_answer import Question, difference, expected, tables_of
from spark_cluster import Cluster

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
    spark_store.make(store, ["acme", "blue"], days=5, runs=3, rows=ROWS)
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
