"""docs/notebook.ipynb runs from its first cell to its last, and its numbers are true.

nbclient executes the notebook in a kernel that has the wheel and nothing else of ours. After some of its cells another
one compares what the reader sees with numbers that pyarrow counts in the Parquet files, or that follow from the
example's own text.
"""

import os
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from traitlets.config import Config

from oracle import REPOSITORY, WHEEL, install, installed_environment, main

NOTEBOOK = REPOSITORY / "docs/notebook.ipynb"
# Cells whose result is HTML, and a word in it.
SHOWN = {"analyze": "launch-bound", "ledger": "launch bound", "pandas": "total_ns", "polars": "total_ns",
         "duckdb": "idle_ns", "compare": "launch bound", "account": "wall time", "cost": "at least", "points": "tokens_per_s",
         "report": "iframe"}

# By the id of the cell that they follow.
CHECKS = {
    "analyze": """
import json, pyarrow.parquet as _pq
_rows = {name: _pq.read_table(f"runs/eager/tables/{name}.parquet").to_pylist() for name in ("kernels", "kernel_dim", "phases")}
_names = {row["kernel_id"]: row for row in _rows["kernel_dim"]}
assert len(_rows["kernels"]) == 375 and r.tables["kernels"].num_rows == 375
assert len(_rows["phases"]) == 5
assert r.verdict == json.load(open("runs/eager/findings/verdict.json"))["verdict"]["sentence"]
""",
    "ledger": """
_wall = r.document["ledger"]["wall_ns"]
_table = r.ledger.to_pyarrow().to_pylist()
_idle = sum(row["idle_before_ns"] or 0 for row in _rows["kernels"] if row["gap_cause"] == "launch_bound")
assert sum(row["ns"] for row in _table) == _wall
assert [row["ns"] for row in _table if row["line"] == "launch bound"] == [_idle] == [2756000]
""",
    "pandas": """
_totals = {}
for _row in _rows["kernels"]:
    _key = (_names[_row["kernel_id"]]["name"], _row["kind"])
    _totals.setdefault(_key, []).append(_row["dur_ns"])
_want = sorted(((sum(times), len(times), name) for (name, _), times in _totals.items()), reverse=True)
_got = list(zip(kernels["total_ns"], kernels["count"], kernels["name"]))
assert sorted(_got, reverse=True) == _want, (_got[:2], _want[:2])
assert kernels["total_ns"].is_monotonic_decreasing and abs(kernels["share"].sum() - 1) < 1e-9
""",
    "compare": """
_sides = []
for _name in ("decode-eager", "decode-graphs"):
    rooflens.analyze(f"example/{_name}.json", output=f"runs/check-{_name}")
    _steps = _pq.read_table(f"runs/check-{_name}/tables/phases.parquet").to_pylist()
    _sides.append(len(_steps))
assert _sides == [5, 5]
_phase = c.phases.to_pyarrow().to_pylist()[0]
assert (_phase["a_steps"], _phase["b_steps"]) == (5, 5)
assert (_phase["a_ns"], _phase["b_ns"]) == (842100, 359400), _phase
""",
    "points": """
_config = json.load(open("example/config.json"))
_heads, _layers = _config["num_key_value_heads"], _config["num_hidden_layers"]
_head = _config.get("head_dim") or _config["hidden_size"] // _config["num_attention_heads"]
# Keys and values of 4096 tokens in bf16, for each sequence; every decode step reads all of them.
_kv = [2 * 2 * _heads * _head * _layers * 4096 * batch for batch in (1, 2, 4, 8, 16, 32, 64)]
assert [int(value) for value in points["kv_read_bytes"]] == _kv, (points["kv_read_bytes"].tolist(), _kv)
assert all(a < b for a, b in zip(points["tokens_per_s"], points["tokens_per_s"][1:]))
assert (points["seconds"] <= points["estimate_s"]).all()
""",
}


def kept_clean(notebook):
    """The file itself: valid, without outputs, named on the page it belongs to."""
    nbformat.validate(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code" and (cell.outputs or cell.execution_count):
            yield f"cell {cell.id} has outputs: remove them"
    if unknown := (CHECKS.keys() | SHOWN.keys()) - {cell.id for cell in notebook.cells}:
        yield f"no cells {sorted(unknown)}"
    if "notebook.ipynb" not in (REPOSITORY / "docs/python.md").read_text():
        yield "docs/python.md does not link to it"


def executed(notebook, folder: Path, env: dict):
    """Runs it cell by cell with our checks in between; every cell that must show something does."""
    cells = []
    for cell in notebook.cells:
        cells.append(cell)
        if cell.id in CHECKS:
            cells.append(nbformat.v4.new_code_cell(CHECKS[cell.id], id=f"check-{cell.id}"))
    notebook.cells = cells
    resources = {"metadata": {"path": str(folder)}}
    # Sockets in a folder, and no port that others on this machine could reach.
    config = Config({"KernelManager": {"transport": "ipc", "ip": str(folder / "kernel")}})
    client = NotebookClient(notebook, timeout=60, kernel_name="python3", resources=resources, config=config)
    try:
        client.execute(env=env)
    except CellExecutionError as error:
        yield str(error)[-1500:]
        return
    for cell in notebook.cells:
        outputs = cell.get("outputs", [])
        for out in outputs:
            if out.get("name") == "stderr" and cell.id != "example":
                yield f"{cell.id} prints to stderr: {out.text[:300]}"
        if cell.id in SHOWN:
            html = "".join(out.data.get("text/html", "") for out in outputs if out.output_type == "execute_result")
            if SHOWN[cell.id].lower() not in html.lower():
                yield f"{cell.id} shows {html[:200]!r}, without {SHOWN[cell.id]!r}"


def check_all(judge, args, scratch: Path) -> None:
    installed, folder = install(args.wheel, scratch / "installed"), scratch / "work"
    folder.mkdir()
    search = f"{installed / 'bin'}:{os.environ['PATH']}"
    env = installed_environment(installed, PATH=search, IPYTHONDIR=str(scratch / "ipython"))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    judge.check("docs/notebook.ipynb has no outputs and is linked", kept_clean(notebook))
    judge.check("it runs, and its numbers are true", executed(notebook, folder, env), f"{len(CHECKS)} cells compared")
    # What it asserts is worth something: a wrong number fails.
    broken = nbformat.read(NOTEBOOK, as_version=4)
    broken.cells = [cell for cell in broken.cells if cell.id in ("example", "analyze", "ledger")]
    broken.cells[1].source = broken.cells[1].source.replace("decode-eager", "decode-graphs")
    judge.check("another trace fails the comparison", [] if list(executed(broken, folder, env)) else ["it passed"])


if __name__ == "__main__":
    main(check_all, WHEEL)
