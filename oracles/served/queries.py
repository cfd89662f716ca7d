"""SQL that must be refused, and SQL that must be ended."""

import time
from pathlib import Path

from .site import Site

REFUSED = [
    "INSERT INTO runs VALUES (1)",
    "COPY runs TO '{folder}/stolen.parquet'",
    "COPY (SELECT 1) TO '{folder}/stolen.csv'",
    "CREATE EXTERNAL TABLE x STORED AS CSV LOCATION '/etc/passwd'",
    "CREATE TABLE x AS SELECT 1",
    "DROP TABLE runs",
    "SELECT 1; DROP TABLE runs",
    "SELECT 1; COPY runs TO '{folder}/stolen.parquet'",
    "SELECT * INTO stolen FROM runs",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM '{secret}'",
    "SELECT * FROM read_csv('{secret}')",
    "SELECT * FROM read_parquet('{secret}')",
    "SELECT * FROM parquet_metadata('{secret}')",
    "SELECT pg_read_file('{secret}')",
    "WITH a AS (SELECT 1) INSERT INTO runs SELECT * FROM a",
    "EXPLAIN ANALYZE SELECT 1",
    "SET datafusion.catalog.location = '/etc'",
    "SELECT * FROM information_schema.df_settings",
]
# Each takes longer, or more memory, than any limit.
ENDLESS = {
    "for ever": "SELECT sum(a.value * b.value) FROM generate_series(1, 10000000) a, generate_series(1, 10000000) b",
    "all memory": "SELECT array_agg(a.value || '-' || b.value) FROM generate_series(1, 100000) a, generate_series(1, 100000) b",
    "one long text": "SELECT repeat(repeat('x', 1000000), 1000000) FROM generate_series(1, 1000)",
    "all disk": "SELECT a.value AS x, repeat('y', 1000) AS y FROM generate_series(1, 100000000) a ORDER BY y, x DESC",
    "a large answer": "SELECT repeat('x', 1000000) FROM generate_series(1, 1000)",
    "deep": "SELECT " + "(" * 5000 + "1" + ")" * 5000,
}


def refused(site: Site, folder: Path, secret: Path, word: str):
    for sql in REFUSED:
        text = sql.format(folder=folder, secret=secret)
        answer = site.ask("/sql", "POST", {"sql": text})
        if answer.status != 422:
            yield f"{sql}: {answer.status}"
        if word in answer.body or "root:x:" in answer.body:
            yield f"{sql}: it was read"
    if list(folder.glob("stolen*")):
        yield "something was written"


def ended(site: Site, limit_s: float):
    for name, sql in ENDLESS.items():
        begin = time.monotonic()
        answer = site.ask("/sql", "POST", {"sql": sql})
        took = time.monotonic() - begin
        if answer.status not in (422, 200) or "panicked" in answer.body or "bug in Rooflens" in answer.body:
            yield f"{name}: {answer.status} {answer.body[-300:]}"
        # The rest of the page takes time on a busy machine; an endless query takes for ever.
        if took > limit_s + 30:
            yield f"{name}: ended after {took:.0f} s"
        if site.ask("/healthz").body != "ok\n":
            yield f"{name}: nothing is answered any more"
    for _ in range(100):
        if not site.children():
            return
        time.sleep(0.1)
    yield f"processes are left: {site.children()}"
