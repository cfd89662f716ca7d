"""A user's program with every public name: mypy believes its types, and `check_wheel.py` looks whether they are so.

    python typed_user.py EXAMPLE_FOLDER OUTPUT_FOLDER
"""

import sys
from pathlib import Path
from typing import Any, Dict, List, Optional, assert_type

import rooflens
from rooflens.profiling import Overhead


def tables(r: rooflens.Analysis) -> None:
    for table in (r.ledger, r.kernels, r.operators, r.phases, r.devices, r.tables["kernels"]):
        assert_type(table, rooflens.Table)
        assert_type(table.name, str)
        assert_type(table.num_rows, int)
        assert_type(len(table), int)
        assert_type(table.column_names, List[str])
        assert_type(table.column_docs, Dict[str, Optional[str]])
        assert_type(table._repr_html_(), str)
        assert_type(repr(table), str)
        table.__arrow_c_stream__()
        table.__arrow_c_stream__(None)
        table.__arrow_c_schema__()
    assert_type(r.kernels.to_pandas(), Any)
    assert_type(r.kernels.to_polars(), Any)
    assert_type(r.kernels.to_pyarrow(), Any)
    assert_type(r.tables, rooflens.TableMap)
    assert_type(list(r.tables), List[str])
    assert_type(r.tables.keys(), List[str])
    assert_type(len(r.tables), int)
    assert_type("kernels" in r.tables, bool)


def analysis(example: Path, output: Path) -> None:
    r = rooflens.analyze(
        str(example / "decode-eager.json"), model=example / "config.json", hardware="h100", tp=1, batch=1, context=512,
        dtype="bf16", force=True, gemms=None, captures=[], keep_private=False, output=output / "run",
    )
    assert_type(r, rooflens.Analysis)
    assert_type(r.verdict, str)
    assert_type(r.stopped, bool)
    assert_type(r.advice, List[Dict[str, Any]])
    assert_type(r.notes, List[Dict[str, Any]])
    assert_type(r.document, Dict[str, Any])
    assert_type(r.table_names, List[str])
    assert_type(r.html(), str)
    assert_type(r._repr_html_(), str)
    tables(r)
    tables(rooflens.analyze([example / "decode-eager.json"]))


def costs(example: Path) -> None:
    c = rooflens.cost(
        example / "config.json", hardware="h100", batch=8, prefill="2k", context=4096, prefix=0, chunk=512, steps=2, draft=0,
        tp=1, pp=1, ep=1, dp=1, dtype="bf16", kv_dtype="fp8", routing="uniform", ttft="500ms", tpot=0.02,
        assume={"gemm": 0.8}, usable=0.9,
    )
    assert_type(c, rooflens.Cost)
    assert_type(c.verdict, str)
    assert_type(c.document, Dict[str, Any])
    assert_type(c.table_names, List[str])
    assert_type(c._repr_html_(), str)
    sweep = rooflens.cost([str(example / "config.json")], hardware=["h100", "mi300x"], batch=[1, 8], context="1k..4k")
    assert_type(sweep.points, rooflens.Table)
    rooflens.cost(example, hardware="h100", context="4k", set={"num_key_value_heads": 1})


def comparisons(example: Path) -> None:
    c = rooflens.compare(example / "decode-eager.json", str(example / "decode-graphs.json"), fail_on=[])
    assert_type(c, rooflens.Comparison)
    assert_type(c.verdict, str)
    assert_type(c.failed, bool)
    assert_type(c.document, Dict[str, Any])
    assert_type(c.table_names, List[str])
    assert_type(c.account, rooflens.Table)
    assert_type(c.html(), str)
    assert_type(c._repr_html_(), str)


def runs(output: Path) -> None:
    run = rooflens.Run(output / "run")
    assert_type(run.path, Path)
    assert_type(run.metrics, Any)
    assert_type(run.tables, rooflens.TableMap)
    assert_type(run.analyze(), rooflens.Analysis)
    assert_type(rooflens.report(str(output / "run"), output=None), Path)
    assert_type(rooflens.explain("mfu"), List[Dict[str, Any]])
    assert_type(rooflens.__version__, str)


def errors() -> None:
    try:
        rooflens.analyze("missing.json")
    except rooflens.Error as error:
        assert_type(error.hint, Optional[str])
        assert_type(error.command, Optional[str])
        assert_type(error.kind, str)


def marks() -> None:
    with rooflens.probe.phase("decode"), rooflens.probe.step():
        pass
    rooflens.probe.flush()


def profiled(output: Path) -> None:
    """Without torch this is for mypy alone."""
    with rooflens.profile(output / "profile", steps=True, record_shapes=True, model="org/model") as p:
        assert_type(p, rooflens.Profile)
        p.step()
    assert_type(p.verdict, str)
    assert_type(p.analysis, rooflens.Analysis)
    assert_type(p.report, Path)
    assert_type(p.trace, Path)
    assert_type(p.overhead, Overhead)
    assert_type(p.overhead.inside_share, float)


def main(example: Path, output: Path) -> None:
    analysis(example, output)
    costs(example)
    comparisons(example)
    runs(output)
    errors()
    marks()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
