#!/usr/bin/env python3
"""The Python package against the command line: the same documents, the same tables, the same errors.

    VENV/bin/python check_python.py --wheel FILE --rooflens BIN [--corpus DIR]

VENV has requirements-users.txt. Documents are compared with `--format json`, tables of events with the Parquet files
of `rooflens analyze -o`, tables of the report with `--format csv`. pandas, polars and DuckDB read the rows; that
nothing is copied is seen by the addresses of the buffers.
"""

import csv
import io
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb
import polars
import pyarrow
import pyarrow.parquet

from judged import Judge
from python_errors import check_errors
from rooflens_cli import REPOSITORY, run
from wheel_install import install, wheel_arguments

KINETO = REPOSITORY / "fixtures/kineto"
CORPUS = ["kineto/tracelens/b200/eager_trace.json.gz", "kineto/tracelens/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz"]
# Columns of these names are for sums, not for people.
NUMBERS = ("_ns", "_bytes", "_per_s", "share", "count", "batch")
# Questions to `cost`: arguments of Python, and the same on the command line.
COSTS = [
    ({"hardware": "h100", "context": "4k", "batch": 8}, "--hardware h100 --context 4k --batch 8"),
    ({"hardware": ["h100", "mi300x"], "batch": "1..64", "context": 4096}, "--hardware h100,mi300x --batch 1..64 --context 4096"),
    ({"hardware": "h100", "prefill": [512, 1024], "chunk": 256}, "--hardware h100 --prefill 512,1024 --chunk 256"),
    ({"hardware": "h200", "context": "4k", "set": {"num_key_value_heads": 1}},
     "--hardware h200 --context 4k --set num_key_value_heads=1"),
    ({"hardware": "h100", "tpot": "20ms", "ttft": 0.5, "context": "8k"}, "--hardware h100 --tpot 20ms --ttft 500ms --context 8k"),
    ({"hardware": "h100", "tp": 2, "dtype": "fp8", "kv_dtype": "fp8", "assume": {"gemm": 0.7}, "usable": 0.8},
     "--hardware h100 --tp 2 --dtype fp8 --kv-dtype fp8 --assume gemm=0.7 --usable 0.8"),
    ({}, ""),
]


def printed(binary, *words) -> dict:
    done = run(binary, *words, "--format", "json")
    if done.code != 0:
        raise RuntimeError(f"{words}: exit code {done.code}: {done.stderr}")
    return done.report()


def different(found, want, at=""):
    """Where two documents differ."""
    if isinstance(found, dict) and isinstance(want, dict):
        for key in sorted(found.keys() | want.keys()):
            yield from different(found.get(key, "missing"), want.get(key, "missing"), f"{at}.{key}")
    elif isinstance(found, list) and isinstance(want, list) and len(found) == len(want):
        for index, pair in enumerate(zip(found, want)):
            yield from different(*pair, f"{at}[{index}]")
    elif found != want or type(found) is not type(want):
        yield f"{at}: {str(found)[:100]}, and the command line has {str(want)[:100]}"


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
        if not addresses(table) or addresses(table) != addresses(table) or addresses(table) != addresses(answer.tables[name]):
            yield f"{name}: pyarrow has other buffers the second time"
    kernels = answer.tables["kernels"]
    want = pyarrow.table(kernels)
    total = sum(want["dur_ns"].to_pylist())
    frame, other = kernels.to_pandas(), kernels.to_polars()
    found = {
        "pandas": (len(frame), int(frame["dur_ns"].sum()), list(frame.columns)),
        "polars": (other.height, other["dur_ns"].sum(), other.columns),
        "polars.DataFrame": (polars.DataFrame(kernels).height, polars.DataFrame(kernels)["dur_ns"].sum(), other.columns),
        "DuckDB": (*duckdb.sql("SELECT count(*), sum(dur_ns)::BIGINT FROM kernels").fetchall()[0], duckdb.sql("FROM kernels").columns),
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
    import rooflens

    for name in answer.table_names:
        if not isinstance(getattr(answer, name), rooflens.Table):
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
    """A cell of CSV and a value of Arrow."""
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


def check_traces(judge: Judge, rooflens, args, scratch: Path) -> None:
    names = re.findall(r"\w+", re.search(r"possible values: (kernels,[^\]]*)", run(args.rooflens, "analyze", "--help").stdout.decode())[1])
    example = [scratch / "example/decode-eager.json"]
    known = {"model": scratch / "example/config.json", "hardware": "h100"}
    told = ["--model", known["model"], "--hardware", "h100"]
    inputs = [([KINETO / "decode.json"], {}, []), ([KINETO / "two_ranks"], {}, []), (example, known, told),
              (sorted((KINETO / "two_ranks").iterdir()), {}, []), *(([args.corpus / name], {}, []) for name in CORPUS)]
    for number, (paths, known, told) in enumerate(inputs):
        title, folder = f"{paths[0].parent.name}/{paths[0].name}", scratch / f"run-{number}"
        answer = rooflens.analyze(paths if len(paths) > 1 else paths[0], **known)
        judge.check(f"{title}: document", different(answer.document, printed(args.rooflens, "analyze", *paths, *told, "-o", folder)))
        judge.check(f"{title}: tables", same_tables(answer.tables, folder / "tables"), f"{len(answer.tables)} tables")
        saved = rooflens.Run(folder)
        judge.check(f"{title}: tables of the run", same_tables(saved.tables, folder / "tables"))
        judge.check(f"{title}: analysis of the run", different(saved.analyze().document, printed(args.rooflens, "analyze", folder)))
        written = rooflens.analyze(paths, **known, output=scratch / f"own-{number}")
        judge.check(f"{title}: output=", [*same_tables(written.tables, folder / "tables"), *same_files(folder, scratch / f"own-{number}")])
        texts = {name: run(args.rooflens, "analyze", *paths, *told, "--format", "csv", "--table", name).stdout.decode() for name in names}
        judge.check(f"{title}: tables of the report", report_tables(answer, texts), f"{sum(map(bool, texts.values()))} with CSV")
        judge.check(f"{title}: ledger", ledger(answer))
        advice = printed(args.rooflens, "advise", *paths, *told)["advice"]["items"]
        judge.check(f"{title}: advice", different(answer.advice, advice), f"{len(advice)} items")
        judge.check(f"{title}: shared memory", shared(answer))


def same_files(one: Path, other: Path):
    """A run that Python wrote and one of the command line: the same files; the same bytes but for times."""
    found, want = ({str(path.relative_to(at)) for path in at.rglob("*") if path.is_file()} for at in (other, one))
    if found != want:
        yield f"files differ: {sorted(found ^ want)}"
    yield from (f"{name} differs" for name in sorted(found & want) if (one / name).read_bytes() != (other / name).read_bytes())


def check_answers(judge: Judge, rooflens, args, scratch: Path) -> None:
    config, moe = scratch / "example/config.json", REPOSITORY / "fixtures/configs/tiny-moe.json"
    for given, words in COSTS:
        answer = rooflens.cost(config, **given)
        judge.check(f"cost {words}", different(answer.document, printed(args.rooflens, "cost", config, *words.split())), answer.verdict[:60])
        judge.check(f"cost {words}: tables", report_tables(answer, {}), ", ".join(answer.table_names))
    judge.check("cost of two", different(rooflens.cost([config, moe], hardware="h100").document,
                                         printed(args.rooflens, "cost", config, moe, "--hardware", "h100")))
    sides = [scratch / "example/decode-eager.json", scratch / "example/decode-graphs.json"]
    for paths in (sides, sides[::-1], [scratch / "run-0", scratch / "own-1"]):
        answer = rooflens.compare(*paths)
        judge.check(f"compare {paths[0].name}", different(answer.document, printed(args.rooflens, "compare", *paths)), answer.verdict[:60])
        judge.check(f"compare {paths[0].name}: tables", report_tables(answer, {}), ", ".join(answer.table_names))
    meanings = printed(args.rooflens, "explain", "mfu")["meanings"]
    judge.check("explain", different(rooflens.explain("mfu"), meanings))
    page = rooflens.report(scratch / "own-0")
    judge.check("report", [] if page == scratch / "own-0/report/index.html" and page.is_file() else [str(page)])
    judge.check("TableMap is a mapping", mapping(rooflens.Run(scratch / "run-0").tables))


def mapping(tables):
    for name in ("keys", "values", "items", "get"):
        if not hasattr(tables, name):
            yield f"it has no {name}()"
    if sorted(dict(tables)) != list(tables):
        yield "dict() of it has other names"


def main() -> int:
    args = wheel_arguments(__doc__.split("\n")[0]).parse_args()
    judge = Judge("check_python")
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        sys.path.insert(0, str(install(args.wheel, scratch / "installed")))
        import rooflens

        subprocess.run([args.rooflens, "self-test", "--write-example", scratch / "example"], check=True, stderr=subprocess.DEVNULL)
        check_traces(judge, rooflens, args, scratch)
        check_answers(judge, rooflens, args, scratch)
        check_errors(judge, rooflens, args, scratch)
    return judge.finish()


if __name__ == "__main__":
    sys.exit(main())
