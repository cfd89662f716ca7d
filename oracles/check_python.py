#!/usr/bin/env python3
"""The Python package against the command line: the same documents, the same tables, the same errors.

Documents are compared with `--format json`, tables of events with the Parquet files of `rooflens analyze -o`, tables of
the report with `--format csv`. pandas, polars and DuckDB read the rows; that nothing is copied is seen by the addresses
of the buffers.
"""

import re
import sys
from pathlib import Path

from oracle import FIXTURES, WHEEL, Judge, differences, install, main, must, run
from python_errors import check_errors
from python_tables import ledger, mapping, report_tables, same_files, same_tables, shared

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
