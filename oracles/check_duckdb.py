"""DuckDB over the Parquet of `rooflens analyze … -o DIR` against the JSON report: the same kernels (name, kind, count,
total) and devices. Times are 64-bit integers, nothing is unsigned 64-bit, the schema version is in the file.
"""

from pathlib import Path

import duckdb
from oracle import analyze, main

INPUTS = [
    "tracelens/b200/eager_trace.json.gz",
    "tracelens/inference/sglang_decode/sglang_Qwen3-8B_decode.json.gz",
    "tracelens/inference/vllm_decode_full/graph_execution.json.gz",
    "tracelens/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
    "hta/critical_path/alexnet/benchmark_result_2869224_1695835535_trace.json.gz",
    "hta/mtia_inference_trace/mtia_inference_rank_0.json.gz",
    "hta/trace_filter",
    "cpu_llama/llama8x512_nostack.json.gz",
]

BY_NAME = """
    SELECT d.name, k.kind, count(*), sum(k.dur_ns)::BIGINT AS total_ns, max(k.dur_ns)
    FROM '{tables}/kernels.parquet' AS k JOIN '{tables}/kernel_dim.parquet' AS d USING (kernel_id)
    GROUP BY d.name, k.kind ORDER BY total_ns DESC, d.name
"""
BY_DEVICE = """
    SELECT rank, device, (max(ts_ns + dur_ns) - min(ts_ns))::BIGINT
    FROM '{tables}/kernels.parquet' GROUP BY ALL ORDER BY ALL
"""
ORPHANS = """
    SELECT count(*) FROM '{tables}/kernels.parquet' AS k
    LEFT JOIN '{tables}/kernel_dim.parquet' AS d USING (kernel_id) WHERE d.kernel_id IS NULL
"""
TWICE = "SELECT count(*) - count(DISTINCT kernel_id) FROM '{tables}/kernel_dim.parquet'"
COLUMNS = "SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM '{file}')"
VERSION = "SELECT count(*) FROM parquet_kv_metadata('{file}') WHERE decode(key) LIKE '%schema_version'"


def check(binary, path: Path, run: Path) -> tuple[list, list[str]]:
    """The top kernels as DuckDB sees them, and what is wrong."""
    outcome = analyze(binary, path, "-o", run)
    if outcome.code != 0:
        return [], [outcome.failure()]
    report = outcome.report()
    tables = run / "tables"
    wrong = []
    for file in sorted(tables.glob("*.parquet")):
        wrong += check_table(file)
    if not (tables / "kernels.parquet").exists():
        if report["kernels"]:
            wrong.append("no kernels.parquet, yet the report has kernels")
        return [], wrong
    found = query(BY_NAME, tables=tables)
    wrong += check_names(found, report)
    spans = [(row["rank"], row["device"], row["span_ns"]) for row in report["devices"]]
    if (got := query(BY_DEVICE, tables=tables)) != sorted(spans):
        wrong.append(f"spans by device: tables {got}, report {sorted(spans)}")
    if (orphans := query(ORPHANS, tables=tables)[0][0]) != 0:
        wrong.append(f"{orphans} kernels have no name in kernel_dim")
    if (twice := query(TWICE, tables=tables)[0][0]) != 0:
        wrong.append(f"{twice} kernel_id stand twice in kernel_dim")
    return found, wrong


def check_names(found, report):
    """Count, total and maximum of every kernel; and the first by total is the first."""
    columns = ("count", "total_ns", "max_ns")
    want = {(r["name"], r["kind"]): tuple(r[c] for c in columns) for r in report["kernels"]}
    got = {(name, kind): tuple(numbers) for name, kind, *numbers in found}
    for key in sorted(want.keys() | got.keys()):
        if got.get(key) != want.get(key):
            yield f"{key[0][:60]!r} ({key[1]}): tables {got.get(key)}, report {want.get(key)}"
    by_total = [numbers[1] for numbers in want.values()]
    if by_total != [total_ns for _, _, _, total_ns, _ in found]:
        yield "the order by total differs"


def check_table(file: Path):
    for column, kind in query(COLUMNS, file=file):
        if column.endswith("_ns") and kind != "BIGINT":
            yield f"{file.name}: {column} is {kind}, not a 64-bit integer"
        if kind == "UBIGINT":
            yield f"{file.name}: {column} is unsigned 64-bit"
    if query(VERSION, file=file)[0][0] == 0:
        yield f"{file.name}: no schema_version in the metadata"


def query(sql, **names) -> list[tuple]:
    quoted = {key: str(value).replace("'", "''") for key, value in names.items()}
    return duckdb.sql(sql.format(**quoted)).fetchall()


def check_all(judge, args, scratch: Path) -> None:
    corpus = args.corpus / "kineto"
    for number, name in enumerate(INPUTS):
        found, wrong = check(args.rooflens, corpus / name, scratch / f"run-{number}")
        judge.check(name, wrong, f"{len(found)} kernel names")


if __name__ == "__main__":
    main(check_all)
