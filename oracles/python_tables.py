"""Tables of the Python package beside files of the command line, and in the hands of those that read them."""

import csv
import io
from pathlib import Path

import duckdb
import polars
import pyarrow
import pyarrow.parquet

# Columns of these names are for sums, not for people.
NUMBERS = ("_ns", "_bytes", "_per_s", "share", "count", "batch")
TOTALS = "SELECT count(*), sum(dur_ns)::BIGINT FROM kernels"


def plain(table: pyarrow.Table) -> pyarrow.Table:
    """Without dictionaries, which may be numbered in any order."""
    columns = [column.cast(column.type.value_type) if pyarrow.types.is_dictionary(column.type) else column
               for column in table.columns]
    return pyarrow.table(columns, names=table.column_names)


def same_tables(tables, stored: Path):
    """Names, types, and every row, as the Parquet files have them."""
    files = {file.stem: pyarrow.parquet.read_table(file) for file in sorted(stored.glob("*.parquet"))}
    if list(tables) != list(files) or len(tables) != len(files) or not all(name in tables for name in files):
        yield f"tables {list(tables)}, and the files are {list(files)}"
    for name, want in files.items():
        found = pyarrow.table(tables[name])
        if not found.schema.equals(want.schema, check_metadata=True):
            yield f"{name}: another schema: {found.schema} {want.schema}"
        elif not plain(found).equals(plain(want)):
            wrong = [column for column in want.column_names if found[column].to_pylist() != want[column].to_pylist()]
            yield f"{name}: other rows: {found.num_rows} and {want.num_rows}, columns {wrong}"
        if tables[name].num_rows != want.num_rows or tables[name].column_names != want.column_names:
            yield f"{name}: {tables[name]!r}"


def addresses(table) -> list[int]:
    chunks = [chunk for column in pyarrow.table(table).columns for chunk in column.chunks]
    return [buffer.address for chunk in chunks for buffer in chunk.buffers() if buffer is not None and buffer.size]


def shared(answer):
    """Readers share the memory, and find the same rows in it."""
    for name in ("kernels", "kernel_dim"):
        table = answer.tables[name]
        seen = [addresses(table), addresses(table), addresses(answer.tables[name])]
        if not seen[0] or seen.count(seen[0]) != 3:
            yield f"{name}: pyarrow has other buffers the second time"
    kernels = answer.tables["kernels"]
    want = pyarrow.table(kernels)
    total = sum(want["dur_ns"].to_pylist())
    frame, other = kernels.to_pandas(), kernels.to_polars()
    found = {
        "pandas": (len(frame), int(frame["dur_ns"].sum()), list(frame.columns)),
        "polars": (other.height, other["dur_ns"].sum(), other.columns),
        "polars.DataFrame": (len(frames := polars.DataFrame(kernels)), frames["dur_ns"].sum(), frames.columns),
        "DuckDB": (*duckdb.sql(TOTALS).fetchall()[0], duckdb.sql("FROM kernels").columns),
    }
    for reader, numbers in found.items():
        if numbers != (want.num_rows, total, want.column_names):
            yield f"{reader}: {numbers}, and there are {want.num_rows} rows of {total} ns"
    # polars keeps the memory of numbers as it is: the same address without a copy.
    numbers = other["dur_ns"].to_arrow().buffers()[1]
    if want["dur_ns"].num_chunks == 1 and numbers.address != want["dur_ns"].chunk(0).buffers()[1].address:
        yield "polars has copied dur_ns"


def report_tables(answer, csv_of):
    """Every table is an attribute, and those that the command line prints as CSV have its rows."""
    for name in answer.table_names:
        if type(getattr(answer, name)).__name__ != "Table":
            yield f"table_names has {name}, which is {type(getattr(answer, name)).__name__}"
            continue
        if name not in dir(answer):
            yield f"dir() does not have {name}"
        for field in pyarrow.table(getattr(answer, name)).schema:
            if field.name.endswith(NUMBERS) and pyarrow.types.is_string(field.type):
                yield f"{name}.{field.name} is text"
    for name, text in csv_of.items():
        rows = list(csv.reader(io.StringIO(text)))
        if bool(rows) != (name in answer.table_names):
            yield f"{name}: {len(rows)} lines of CSV, and table_names are {answer.table_names}"
        elif rows:
            table = pyarrow.table(getattr(answer, name))
            columns = [table[column].to_pylist() for column in table.column_names]
            if table.column_names != rows[0] or table.num_rows != len(rows) - 1:
                yield f"{name}: {table.num_rows} rows of {table.column_names}, CSV has {len(rows) - 1} of {rows[0]}"
            else:
                pairs = ((cell, column[at]) for at, row in enumerate(rows[1:]) for cell, column in zip(row, columns))
                yield from (f"{name}: {value!r}, CSV has {cell!r}" for cell, value in pairs if not is_same(cell, value))


def is_same(cell: str, value) -> bool:
    if value is None or isinstance(value, str):
        return cell == (value or "")
    return float(cell) == value if cell else False


def ledger(answer):
    """The ledger has no CSV: its lines are those of the document, phase by phase."""
    want = [(phase["phase"], line["ns"], line["share"]) for phase in answer.document["ledger"]["phases"]
            for line in phase["lines"] if line["ns"]]
    found = [(row["phase"], row["ns"], row["share"]) for row in pyarrow.table(answer.ledger).to_pylist() if row["ns"]]
    if found != want or not found:
        yield f"{found}, and the document has {want}"


def same_files(one: Path, other: Path):
    """A run that Python wrote and one of the command line: the same files, byte by byte."""
    found, want = ({str(path.relative_to(at)) for path in at.rglob("*") if path.is_file()} for at in (other, one))
    if found != want:
        yield f"files differ: {sorted(found ^ want)}"
    for name in sorted(found & want):
        if (one / name).read_bytes() != (other / name).read_bytes():
            yield f"{name} differs"


def mapping(tables):
    for name in ("keys", "values", "items", "get"):
        if not hasattr(tables, name):
            yield f"it has no {name}()"
    if sorted(dict(tables)) != list(tables):
        yield "dict() of it has other names"
