"""A store made for tests: the layout of a real one, with values that follow from row numbers."""

from pathlib import Path

import duckdb

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


def make(store: Path, tenants: list[str], days: int, runs: int, rows: int):
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
