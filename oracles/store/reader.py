"""A second opinion: reads a store by its documented layout, without Rooflens.

A day counts as its latest state that holds no removed run, plus every run that neither that
state covers nor a removal names. Only files that those manifests list are read.
"""

import hashlib
import io
import json
import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

LOG = re.compile(r"tenant=([^/]+)/log/day=([0-9-]{10})/(run|state|removed)-(.+)\.json$")
STAGED = re.compile(r"#\d+$")
# Per run: rows, or these sums of columns instead.
SUMS = {"kernels": ("dur_ns", "ts_ns", "kernel_id"), "kernel_rollup": ("count", "total_ns"), "kernel_histogram": ("count",), "phase_rollup": ("steps", "total_ns")}

ROLLUPS = ("runs", "kernel_rollup", "kernel_histogram", "phase_rollup")


class Folder:
    def __init__(self, path: Path):
        self.address, self.path = str(path), Path(path)

    def names(self, below="") -> list[str]:
        """Every object, without what a writer has not finished (`name#1`)."""
        return [name for name in self.all_names(below) if not STAGED.search(name)]

    def all_names(self, below="") -> list[str]:
        return [str(path.relative_to(self.path)) for path in (self.path / below).rglob("*") if path.is_file()]

    def log_names(self) -> list[str]:
        return [name for tenant in self.path.glob("tenant=*") for name in self.names(f"{tenant.name}/log")]

    def read(self, name: str) -> bytes:
        return (self.path / name).read_bytes()


class Bucket:
    """A store in a bucket, through an S3 API."""

    def __init__(self, client, bucket: str, prefix: str):
        self.client, self.bucket, self.prefix = client, bucket, prefix
        self.address = f"s3://{bucket}/{prefix}"

    def names(self, below="") -> list[str]:
        root = f"{self.prefix}/"
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=root + below)
        return [item["Key"].removeprefix(root) for page in pages for item in page.get("Contents", [])]

    all_names = names

    def log_names(self) -> list[str]:
        return [name for name in self.names("tenant=") if LOG.match(name)]

    def read(self, name: str) -> bytes:
        return self.client.get_object(Bucket=self.bucket, Key=f"{self.prefix}/{name}")["Body"].read()


@dataclass
class Seen:
    runs: dict[str, list[tuple[str, str]]] = field(default_factory=lambda: defaultdict(list))  # id to (day, tenant)
    figures: dict[str, dict[str, tuple]] = field(default_factory=dict)  # id, table
    files: set[str] = field(default_factory=set)  # data and log
    mistakes: list[str] = field(default_factory=list)


class Reader:
    def __init__(self, store, again: bool = False):
        """`again`: reads data files at each look, even if a file of that name was read before."""
        self.store, self.again, self.known = store, again, {}

    def look(self) -> Seen:
        days = defaultdict(lambda: {"run": set(), "state": set(), "removed": set()})
        for name in self.store.log_names():
            if match := LOG.match(name):
                tenant, day, kind, rest = match.groups()
                days[tenant, day][kind].add(rest)
        seen = Seen()
        for (tenant, day), log in sorted(days.items()):
            self.day(seen, tenant, day, log)
        return seen

    def day(self, seen, tenant, day, log):
        folder = f"tenant={tenant}/log/day={day}"
        files, runs, covered = [], [], set()
        for number in sorted(log["state"], key=int, reverse=True):
            state = json.loads(self.store.read(f"{folder}/state-{number}.json"))
            held = [run["run_id"] for run in state["runs"]]
            if not log["removed"] & set(held):
                files, runs, covered = state["files"], held, {*held, *state["removed"]}
                seen.files.add(f"{folder}/state-{number}.json")
                break
        for run in sorted(log["run"] - log["removed"] - covered):
            manifest = json.loads(self.store.read(f"{folder}/run-{run}.json"))
            files = files + manifest["files"]
            runs = [*runs, manifest["run"]["run_id"]]
            seen.files.add(f"{folder}/run-{run}.json")
        for run in runs:
            seen.runs[run].append((day, tenant))
        self.rows(seen, f"{tenant} {day}", files, runs)

    def rows(self, seen, place, files, runs):
        sums, hours, named, used = defaultdict(lambda: [0]), [0, 0], set(), set()
        paths = [file["path"] for file in files]
        if len(paths) != len(set(paths)):
            seen.mistakes.append(f"{place}: a file is listed twice")
        for file in files:
            seen.files.add(file["path"])
            rows = self.file(seen, file)
            named |= rows.get("named", set())
            used |= rows.get("used", set())
            hours = [a + b for a, b in zip(hours, rows.get("hours", (0, 0)))]
            for run, figures in rows.get("runs", {}).items():
                key = run, file["table"]
                before = sums[key] if key in sums else [0] * len(figures)
                sums[key] = [a + b for a, b in zip(before, figures)]
        for (run, table), figures in sums.items():
            seen.figures.setdefault(run, {})[table] = tuple(figures)
            if run not in runs:
                seen.mistakes.append(f"{place}: {table} has rows of {run}, which no manifest names")
        rollup = [sum(sums[run, "kernel_rollup"][at] for run in runs if (run, "kernel_rollup") in sums) for at in (0, 1)]
        if hours != rollup:
            seen.mistakes.append(f"{place}: kernel_hours sums to {hours}, kernel_rollup to {rollup}")
        if not used <= named:
            seen.mistakes.append(f"{place}: {len(used - named)} kernels have no name in kernel_dim")

    def file(self, seen, file) -> dict:
        if not self.again and file["sha256"] in self.known:
            return self.known[file["sha256"]]
        data = self.store.read(file["path"])
        if len(data) != file["bytes"] or hashlib.sha256(data).hexdigest() != file["sha256"]:
            seen.mistakes.append(f"{file['path']} is not what its manifest says")
            return {}
        table = pq.read_table(io.BytesIO(data))
        if table.num_rows != file["rows"]:
            seen.mistakes.append(f"{file['path']} has {table.num_rows} rows, its manifest says {file['rows']}")
        self.known[file["sha256"]] = figures_of(file["table"], table)
        return self.known[file["sha256"]]


def sealed(manifest: dict) -> bytes:
    """A manifest with its checksum, which is over all bytes that follow it."""
    body = json.dumps({name: value for name, value in manifest.items() if name != "sha256"}).encode()[1:]
    return b'{"sha256":"' + hashlib.sha256(body).hexdigest().encode() + b'",' + body


def figures_of(name: str, table: pa.Table) -> dict:
    if name == "kernel_dim":
        return {"named": set(table["kernel_id"].to_pylist())}
    if name == "kernel_hours":
        return {"hours": (sum(table["count"].to_pylist()), sum(table["total_ns"].to_pylist()))}
    columns = SUMS.get(name, ())
    runs = {}
    rows = zip(table["run_id"].to_pylist(), *(table[column].to_pylist() for column in columns))
    for run, *values in rows:
        values = [1, *values] if name == "kernels" else values or [1]
        before = runs.get(run, [0] * len(values))
        runs[run] = [a + b for a, b in zip(before, values)]
    return {"runs": runs, "used": set(table["kernel_id"].to_pylist()) if name == "kernels" else set()}


def judge(seen: Seen, runs: dict, wanted=None, maybe=(), without_events=()) -> list[str]:
    """What is wrong. `wanted`: ids that must be there; `maybe`: may be there; no others may."""
    wrong = list(seen.mistakes)
    wanted = set(runs) if wanted is None else set(wanted)
    for run in sorted(wanted - set(seen.runs)):
        wrong.append(f"run {run} is not in the store")
    for run, places in sorted(seen.runs.items()):
        if run not in wanted and run not in maybe:
            wrong.append(f"run {run} is in the store and should not be")
            continue
        if len(places) > 1:
            wrong.append(f"run {run} is in the store {len(places)} times: {places}")
            continue
        if places[0][0] != runs[run].day:
            wrong.append(f"run {run} is filed under {places[0][0]}, it began on {runs[run].day}")
        found = {table: figures for table, figures in seen.figures.get(run, {}).items() if table in runs[run].figures}
        expected = runs[run].figures
        if run in without_events:
            expected = {table: figures for table, figures in expected.items() if table in ROLLUPS}
        for table in sorted(expected | found):
            if expected.get(table) != found.get(table):
                wrong.append(f"run {run}, {table}: {found.get(table)} in the store, {expected.get(table)} expected")
    return wrong
