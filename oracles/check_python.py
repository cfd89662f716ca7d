"""The Python package against the command line: the same documents, the same tables, the same errors.

Documents are compared with `--format json`, tables of events with the Parquet files of `rooflens analyze -o`, tables of
the report with `--format csv`. pandas, polars and DuckDB read the rows; that nothing is copied is seen by the addresses
of the buffers.
"""

import csv
import io
import json
import os
import re
import sys
from pathlib import Path

import duckdb
import polars
import pyarrow
import pyarrow.parquet

from oracle import FIXTURES, WHEEL, Judge, differences, hub_snapshot, install, main, must, run

KINETO = FIXTURES / "kineto"
CORPUS = ["kineto/tracelens/b200/eager_trace.json.gz", "kineto/tracelens/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz"]
# Questions to `cost`: arguments of Python, and the same on the command line.
COSTS = [
    ({"hardware": "h100", "context": "4k", "batch": 8}, "--hardware h100 --context 4k --batch 8"),
    ({"hardware": ["h100", "mi300x"], "batch": "1..64", "context": 4096},
     "--hardware h100,mi300x --batch 1..64 --context 4096"),
    ({"hardware": "h100", "prefill": [512, 1024], "chunk": 256}, "--hardware h100 --prefill 512,1024 --chunk 256"),
    ({"hardware": "h200", "context": "4k", "set": {"num_key_value_heads": 1}},
     "--hardware h200 --context 4k --set num_key_value_heads=1"),
    ({"hardware": "h100", "tpot": "20ms", "ttft": 0.5, "context": "8k"},
     "--hardware h100 --tpot 20ms --ttft 500ms --context 8k"),
    ({"hardware": "h100", "tp": 2, "dtype": "fp8", "kv_dtype": "fp8", "assume": {"gemm": 0.7}, "usable": 0.8},
     "--hardware h100 --tp 2 --dtype fp8 --kv-dtype fp8 --assume gemm=0.7 --usable 0.8"),
    ({}, ""),
]

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


TRACE = FIXTURES / "kineto/decode.json"
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"


def raised(rooflens, call, kind: str, *words: str, command: str = ""):
    """A `rooflens.Error` of this kind, whose fact and hint have these words."""
    try:
        found = call()
    except rooflens.Error as error:
        text = f"{error} {error.hint}"
        if error.kind != kind or not all(word in text for word in words) or not isinstance(error, Exception):
            yield f"{error.kind}: {text}"
        if not error.hint or (command and error.command != command):
            yield f"hint {error.hint!r}, command {error.command!r}"
    except BaseException as error:
        yield f"{type(error).__name__} and no rooflens.Error: {error}"
    else:
        yield f"no error: {found!r}"


def hostile(rooflens, folder: Path):
    """Names of a trace are text, wherever they are shown."""
    record = json.loads(TRACE.read_text())
    for event in record["traceEvents"]:
        if event.get("cat") in ("kernel", "cpu_op"):
            event["name"] = HOSTILE
    trace = folder / "hostile.json"
    trace.write_text(json.dumps(record))
    answer = rooflens.analyze(trace)
    other = rooflens.compare(TRACE, trace)
    pages = {
        "analysis": answer._repr_html_(), "kernels": answer.kernels._repr_html_(), "operators": answer.operators._repr_html_(),
        "event table": answer.tables["kernel_dim"]._repr_html_(), "comparison": other._repr_html_(),
        "account": other.account._repr_html_(), "html()": answer.html(), "comparison html()": other.html(),
    }
    for name, page in pages.items():
        # The reports contain separate scripts.
        if "<script>alert" in page or re.search(r"<img[^>]*onerror", page):
            yield f"{name} is HTML of the trace's making"
    if not any("&lt;script&gt;alert" in page for page in pages.values()):
        yield "the name is not shown at all"


def truncated(rooflens, folder: Path):
    """Half of a trace is analysed, and its notes say so."""
    trace = folder / "half.json"
    data = TRACE.read_bytes()
    trace.write_bytes(data[: len(data) * 6 // 10])
    answer = rooflens.analyze(trace)
    if answer.kernels.num_rows == 0 or not answer.verdict:
        yield "no kernels"
    if not any(note["severity"] == "data_loss" for note in answer.notes):
        yield f"no note of data loss: {answer.notes}"
    if answer.tables["notes"].num_rows != len(answer.notes) or answer.stopped:
        yield f"{answer.tables['notes']!r}, stopped {answer.stopped}"


def hub(rooflens, folder: Path, monkey):
    """A model by its name, from a cache on this machine."""
    config = folder / "example/config.json"
    hub_snapshot(folder / "hub", "org/tiny", config.read_text())
    monkey["HF_HUB_CACHE"] = str(folder / "hub")
    named = rooflens.cost("org/tiny", hardware="h100", context="4k")
    direct = rooflens.cost(config, hardware="h100", context="4k")
    if named.document["phases"] != direct.document["phases"]:
        yield "org/tiny costs something else than its config"
    known = rooflens.analyze(folder / "example/decode-eager.json", model="org/tiny", hardware="h100")
    direct = rooflens.analyze(folder / "example/decode-eager.json", model=config, hardware="h100")
    if known.document["ledger"] != direct.document["ledger"]:
        yield "the ledger with org/tiny is not that of its config"
    yield from raised(rooflens, lambda: rooflens.cost("org/tiny@v9", hardware="h100"), "data", "main",
                      command="hf download org/tiny --revision v9")


def check_errors(judge: Judge, rooflens, args, folder: Path) -> None:
    config, example = folder / "example/config.json", folder / "example/decode-eager.json"
    (folder / "text.json").write_text("hello\n")
    (folder / "full").mkdir()
    (folder / "full/notes.txt").write_text("mine")
    absent = "hf download org/absent"
    os.environ["HF_HUB_CACHE"] = str(folder / "no-cache")
    cases = {
        "missing file": (lambda: rooflens.analyze("/missing/trace.json"), "data", "/missing/trace.json"),
        "not a trace": (lambda: rooflens.analyze(folder / "text.json"), "data", "text.json", "list formats"),
        "no trace at all": (lambda: rooflens.analyze([]), "usage"),
        "unknown hardware": (lambda: rooflens.cost(config, hardware="h9000"), "usage", "h9000", "list hardware"),
        "unknown hardware of a trace": (lambda: rooflens.analyze(example, model=config, hardware="h9000"), "usage", "h9000"),
        "missing config": (lambda: rooflens.cost(folder / "none/config.json"), "data", "config.json"),
        "no config": (lambda: rooflens.cost([]), "usage"),
        "three configs": (lambda: rooflens.cost([config] * 3), "usage"),
        "not a run": (lambda: rooflens.Run(folder / "full"), "data", "full"),
        "output is not ours": (lambda: rooflens.analyze(example, output=folder / "full"), "usage", "full"),
        "one side": (lambda: rooflens.compare(example), "usage", "two"),
        "wrong gate": (lambda: rooflens.compare(example, example, fail_on=["faster!"]), "usage", "faster!"),
        "unknown word": (lambda: rooflens.explain("no such word"), "usage", "no such word"),
    }
    for name, (call, kind, *words) in cases.items():
        judge.check(f"error: {name}", raised(rooflens, call, kind, *words))
    for name, call in {"cost": lambda: rooflens.cost("org/absent"),
                       "analyze": lambda: rooflens.analyze(example, model="org/absent")}.items():
        judge.check(f"error: {name}, a model that is not in the cache",
                    raised(rooflens, call, "data", "org/absent", absent, command=absent))
    judge.check("error: arguments that cannot be parsed", parsed(rooflens, config))
    judge.check("names of a trace are not HTML", hostile(rooflens, folder))
    judge.check("a truncated trace", truncated(rooflens, folder))
    judge.check("models by name, offline", hub(rooflens, folder, os.environ))


def parsed(rooflens, config):
    for given, kind in [({"tpot": "fast"}, ValueError), ({"batch": "x"}, ValueError), ({"batch": -1}, (ValueError, OverflowError)),
                        ({"tpot": float("nan")}, (ValueError, rooflens.Error)), ({"nonsense": 1}, TypeError), ({"batch": {}}, TypeError)]:
        try:
            rooflens.cost(config, **given)
        except kind:
            continue
        except Exception as error:
            yield f"{given}: {type(error).__name__}: {error}"
        else:
            yield f"{given}: no error"


def printed(binary, *words) -> dict:
    return must(binary, *words, "--format", "json").report()


def check_traces(judge: Judge, rooflens, args, scratch: Path) -> None:
    described = run(args.rooflens, "analyze", "--help").stdout.decode()
    names = re.findall(r"\w+", re.search(r"possible values: (kernels,[^\]]*)", described)[1])
    example = [scratch / "example/decode-eager.json"]
    known = {"model": scratch / "example/config.json", "hardware": "h100"}
    told = ["--model", known["model"], "--hardware", "h100"]
    inputs = [([KINETO / "decode.json"], {}, []), ([KINETO / "two_ranks"], {}, []), (example, known, told),
              (sorted((KINETO / "two_ranks").iterdir()), {}, []), *(([args.corpus / name], {}, []) for name in CORPUS)]
    for number, (paths, known, told) in enumerate(inputs):
        title, folder, own = f"{paths[0].parent.name}/{paths[0].name}", scratch / f"run-{number}", scratch / f"own-{number}"
        answer = rooflens.analyze(paths if len(paths) > 1 else paths[0], **known)
        document = printed(args.rooflens, "analyze", *paths, *told, "-o", folder)
        judge.check(f"{title}: document", differences(answer.document, document))
        judge.check(f"{title}: tables", same_tables(answer.tables, folder / "tables"), f"{len(answer.tables)} tables")
        saved = rooflens.Run(folder)
        judge.check(f"{title}: tables of the run", same_tables(saved.tables, folder / "tables"))
        document = printed(args.rooflens, "analyze", folder)
        judge.check(f"{title}: analysis of the run", differences(saved.analyze().document, document))
        written = rooflens.analyze(paths, **known, output=own)
        judge.check(f"{title}: output=", [*same_tables(written.tables, folder / "tables"), *same_files(folder, own)])
        words = ["analyze", *paths, *told, "--format", "csv", "--table"]
        texts = {name: run(args.rooflens, *words, name).stdout.decode() for name in names}
        remark = f"{sum(map(bool, texts.values()))} with CSV"
        judge.check(f"{title}: tables of the report", report_tables(answer, texts), remark)
        judge.check(f"{title}: ledger", ledger(answer))
        advice = printed(args.rooflens, "advise", *paths, *told)["advice"]["items"]
        judge.check(f"{title}: advice", differences(answer.advice, advice), f"{len(advice)} items")
        judge.check(f"{title}: shared memory", shared(answer))


def check_answers(judge: Judge, rooflens, args, scratch: Path) -> None:
    config, moe = scratch / "example/config.json", FIXTURES / "configs/tiny-moe.json"
    for given, words in COSTS:
        answer = rooflens.cost(config, **given)
        document = printed(args.rooflens, "cost", config, *words.split())
        judge.check(f"cost {words}", differences(answer.document, document), answer.verdict[:60])
        judge.check(f"cost {words}: tables", report_tables(answer, {}), ", ".join(answer.table_names))
    judge.check("cost of two", differences(rooflens.cost([config, moe], hardware="h100").document,
                                         printed(args.rooflens, "cost", config, moe, "--hardware", "h100")))
    sides = [scratch / "example/decode-eager.json", scratch / "example/decode-graphs.json"]
    for paths in (sides, sides[::-1], [scratch / "run-0", scratch / "own-1"]):
        answer = rooflens.compare(*paths)
        document = printed(args.rooflens, "compare", *paths)
        judge.check(f"compare {paths[0].name}", differences(answer.document, document), answer.verdict[:60])
        judge.check(f"compare {paths[0].name}: tables", report_tables(answer, {}), ", ".join(answer.table_names))
    meanings = printed(args.rooflens, "explain", "mfu")["meanings"]
    judge.check("explain", differences(rooflens.explain("mfu"), meanings))
    page = rooflens.report(scratch / "own-0")
    judge.check("report", [] if page == scratch / "own-0/report/index.html" and page.is_file() else [str(page)])
    judge.check("TableMap is a mapping", mapping(rooflens.Run(scratch / "run-0").tables))


def check_all(judge, args, scratch: Path) -> None:
    sys.path.insert(0, str(install(args.wheel, scratch / "installed")))
    import rooflens

    must(args.rooflens, "self-test", "--write-example", scratch / "example")
    check_traces(judge, rooflens, args, scratch)
    check_answers(judge, rooflens, args, scratch)
    check_errors(judge, rooflens, args, scratch)


if __name__ == "__main__":
    main(check_all, WHEEL)
