"""Small runs, each with rows of its own, and what a store must say of each."""

import json
import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

# Tables of a run that a store keeps row by row.
EVENTS = ("kernels", "phases", "requests", "steps", "counters", "devices", "ranks", "collectives", "gemms", "notes")
DAYS = ("2026-10-01", "2026-10-02", "2026-10-03")
DAY_NS = 86_400_000_000_000
FIRST_NS = 1_790_812_800_000_000_000  # 2026-10-01T00:00:00Z


@dataclass
class Run:
    folder: Path
    run_id: str
    day: str
    figures: dict[str, tuple]  # by table, as reader.figures_of


def make(tool, template: Path, folder: Path, count: int, seed: int, workers: int = 2) -> list[Run]:
    """Analyzes `count` variants of a trace: other start, other durations, other kernels missing."""
    trace = json.loads(template.read_text())
    folder.mkdir(parents=True)

    def one(number):
        draw = random.Random(f"{seed}/{number}")
        path = folder / f"trace-{number}.json"
        path.write_text(json.dumps(variant(trace, draw, number)))
        out = folder / f"run-{number}"
        tool.must("analyze", path, "-o", out, "-q", "--format", "json")
        path.unlink()
        return expected(out)

    with ThreadPoolExecutor(workers) as pool:
        runs = list(pool.map(one, range(count)))
    ids = {run.run_id for run in runs}
    if len(ids) != count:
        raise SystemExit(f"{count} different traces got {len(ids)} different run ids")
    return runs


def variant(trace, draw, number) -> dict:
    kernels = [at for at, event in enumerate(trace["traceEvents"]) if event.get("cat") == "kernel"]
    missing = set(draw.sample(kernels, draw.randrange(6)))
    events = [dict(event) for at, event in enumerate(trace["traceEvents"]) if at not in missing]
    for event in events:
        if event.get("cat") == "kernel":
            event["dur"] = round(event["dur"] * draw.uniform(0.6, 1.0), 3)
    start = FIRST_NS + number % len(DAYS) * DAY_NS + draw.randrange(DAY_NS // 2)
    return {**trace, "traceEvents": events, "baseTimeNanoseconds": start}


def expected(folder: Path) -> Run:
    tables = folder / "tables"
    row = pq.read_table(tables / "runs.parquet").to_pylist()[0]
    figures = {"runs": (1,)}
    for name in EVENTS:
        path = tables / f"{name}.parquet"
        rows = pq.read_metadata(path).num_rows if path.exists() else 0
        if rows:
            figures[name] = (rows,)
    kernels = pq.read_table(tables / "kernels.parquet", columns=["dur_ns", "ts_ns", "kernel_id"])
    rows, total = kernels.num_rows, pc.sum(kernels["dur_ns"]).as_py()
    figures["kernels"] = (rows, total, pc.sum(kernels["ts_ns"]).as_py(), sum(kernels["kernel_id"].to_pylist()))
    figures["kernel_rollup"] = (rows, total)
    figures["kernel_histogram"] = (rows,)
    phases = pq.read_table(tables / "phases.parquet", columns=["phase_id", "step_id", "dur_ns"]).to_pylist()
    steps = [phase["dur_ns"] for phase in phases if phase["step_id"] == phase["phase_id"]]
    if steps:
        figures["phase_rollup"] = (len(steps), sum(steps))
    day = DAYS[(row["start_unix_ns"] - FIRST_NS) // DAY_NS]
    return Run(folder, row["run_id"], day, figures)
