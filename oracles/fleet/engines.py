"""Runs one SQL text on several engines over the same files and compares their rows."""

import json
import math


class DuckDb:
    dialect = "duckdb"

    def __init__(self, views):
        import duckdb
        self.connection = duckdb.connect()
        self.connection.execute(views)

    def rows(self, sql):
        answer = self.connection.execute(sql)
        return [column[0] for column in answer.description], answer.fetchall()

    def close(self):
        self.connection.close()


class ClickHouse:
    """chDB, which is ClickHouse in the process, over views."""

    dialect = "clickhouse"

    def __init__(self, views):
        from chdb.session import Session
        self.session = Session()
        for statement in statements(views):
            self.session.query(statement)

    def rows(self, sql):
        answer = json.loads(str(self.session.query(sql, "JSONCompact")))
        columns = answer["meta"]
        # JSON of ClickHouse holds 64-bit numbers as text where it is told to; numbers otherwise.
        def value(cell, kind):
            return int(cell) if isinstance(cell, str) and "Int" in kind else cell
        return [column["name"] for column in columns], [
            tuple(value(cell, column["type"]) for cell, column in zip(row, columns)) for row in answer["data"]]

    def close(self):
        self.session.close()


def statements(script):
    """The statements of a generated script, which ends each with a semicolon at the end of a line."""
    parts = [part.strip() for part in script.split(";\n")]
    return [part for part in parts if part and not all(line.startswith("--") for line in part.splitlines())]


def same(a, b):
    """Whether two cells are equal: whole numbers exactly, others to 1e-9 of their size."""
    if a is None or b is None or isinstance(a, str) or isinstance(b, str) or (isinstance(a, int) and isinstance(b, int)):
        return a == b
    return a == b or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-15)


def difference(a, b):
    """The first difference of two answers in words; None where they are the same row for row."""
    if a[0] != b[0]:
        return f"columns {a[0]} and {b[0]}"
    if len(a[1]) != len(b[1]):
        return f"{len(a[1])} and {len(b[1])} rows"
    for number, (left, right) in enumerate(zip(a[1], b[1])):
        for name, one, other in zip(a[0], left, right):
            if not same(one, other):
                return f"row {number}, {name}: {one!r} and {other!r}"
    return None
