"""One query, answered by the engine process and by DuckDB, and whether both say the same."""

import json
import re
import subprocess
import time
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow
import pyarrow.parquet

from fleet import engines

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
