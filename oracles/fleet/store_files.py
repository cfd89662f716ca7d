"""The files of a store that count, by a reading of its log that shares nothing with Rooflens."""

import json
from pathlib import Path

import duckdb

KINDS = {"VARCHAR": "text", "BIGINT": "bigint", "INTEGER": "int", "DOUBLE": "double", "BOOLEAN": "boolean"}


def counting(store):
    """Files that count: table, path, day, tenant. A day's last state stands for the runs that it holds or removed; every
    other run has a manifest of its own."""
    files = []
    for log in sorted(Path(store).glob("tenant=*/log/day=*")):
        day, tenant = log.name.removeprefix("day="), log.parent.parent.name.removeprefix("tenant=")
        states = sorted(log.glob("state-*.json"))
        state = json.loads(states[-1].read_text()) if states else {"runs": [], "removed": [], "files": []}
        covered = {run["run_id"] for run in state["runs"]} | set(state["removed"])
        covered |= {path.stem.removeprefix("removed-") for path in log.glob("removed-*.json")}
        listed = list(state["files"])
        for path in sorted(log.glob("run-*.json")):
            if path.stem.removeprefix("run-") not in covered:
                listed += json.loads(path.read_text())["files"]
        files += [(file["table"], str(Path(store) / file["path"]), day, tenant) for file in listed]
    return files


def columns(files):
    """Columns of each table as its first file has them: name, type, whether it may be null."""
    found = {}
    for table, path, _, _ in files:
        if table not in found:
            kinds = duckdb.execute("DESCRIBE SELECT * FROM read_parquet(?, hive_partitioning = false)", [path]).fetchall()
            optional = dict(duckdb.execute("SELECT name, repetition_type = 'OPTIONAL' FROM parquet_schema(?)", [path]).fetchall())
            found[table] = [(name, KINDS[kind], optional[name]) for name, kind, *_ in kinds]
    return found


def described(files, columns_of):
    """Tables and files in the form that the example `store_views` reads."""
    lines = []
    for table, columns in columns_of.items():
        lines.append(f"table {table}")
        lines += [f"column {name} {kind} {str(is_nullable).lower()}" for name, kind, is_nullable in columns]
        lines += [f"sorted {name}" for name, _, is_nullable in columns if name in ("kernel_id", "run_id") and not is_nullable]
        lines += [f"file {path} {day} {tenant}" for of, path, day, tenant in files if of == table]
    return "\n".join(lines) + "\n"
