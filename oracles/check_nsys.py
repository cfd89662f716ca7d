"""Kernels as Rooflens sums them, by name and by NVTX range, against `nsys stats`: cuda_gpu_kern_sum, nvtx_kern_sum.

--nsys is Nsight Systems 2023.4 or later; it reads SQLite files that newer versions exported.
"""

import csv
import io
import math
import os
import shutil
import sqlite3
import statistics
import tempfile
from pathlib import Path

from oracle import analyze, main, must, needs, run, said

# Column of nsys, field of Rooflens, digits that nsys prints.
COLUMNS = [
    ("Total Time (ns)", "total_ns", 0),
    ("Instances", "count", 0),
    ("Avg (ns)", "mean_ns", 1),
    ("Med (ns)", "median_ns", 1),
    ("Min (ns)", "min_ns", 0),
    ("Max (ns)", "max_ns", 0),
    ("StdDev (ns)", "stddev_ns", 1),
]

RANGE_COLUMNS = [("NVTX Inst", "ranges", 0), ("Kern Inst", "count", 0)] + [
    column for column in COLUMNS if column[1] != "count"
]

STYLES = {"": None, "PushPop": "push_pop", "StartEnd": "start_end"}

# Durations of the kernels of one group, each kernel once, and how many ranges launched them. The report of
# nsys sums over pairs of range and kernel: in ranges of one name inside each other a kernel counts twice.
ONCE = """
WITH range AS (
    SELECT e.rowid AS id, e.start, e.end, e.globalTid AS thread FROM NVTX_EVENTS AS e
    LEFT JOIN StringIds AS s ON s.id = e.textId
    WHERE e.eventType = 59 AND e.endGlobalTid IS NULL AND coalesce(s.value, e.text) = ?1
        AND (e.globalTid & 0xFFFFFF) = ?2
), pair AS (
    SELECT k.rowid AS kernel, k.end - k.start AS duration, range.id AS range
    FROM range JOIN CUPTI_ACTIVITY_KIND_RUNTIME AS r
        ON r.globalTid = range.thread AND range.start <= r.start AND range.end >= r.end
    JOIN CUPTI_ACTIVITY_KIND_KERNEL AS k
        ON k.correlationId = r.correlationId AND (k.globalPid >> 24) = (r.globalTid >> 24)
    JOIN StringIds AS n ON n.id = k.demangledName AND n.value = ?3
)
SELECT count(DISTINCT range), group_concat(DISTINCT kernel || ':' || duration) FROM pair
"""


def stats(nsys: Path, file: Path, report: str, first: str) -> str:
    """A report of nsys as CSV, from its header on. nsys writes next to its input, so it gets a copy."""
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copy(file, Path(folder) / "report.sqlite")
        text = said(nsys, "stats", "-q", "--report", report, "--format", "csv", copy)
    start = text.find(first)
    return "" if start < 0 else text[start:].rstrip("\n") + "\n"


def rows_of(text: str) -> list[dict]:
    return list(csv.DictReader(io.StringIO(text)))


def top(rooflens: Path, file: Path, *more: str) -> list[dict]:
    return must(rooflens, "--quiet", "kernels", "top", file, "--k", "1000000", "--format", "json", *more).report()["kernels"]


def summary(args, file: Path, scratch: Path) -> str:
    """`summary_cuda_gpu_kern_sum.csv` of a run whose timeline is this file, whose config asks for CSV."""
    project, folder = scratch / f"{file.stem}-project", scratch / f"{file.stem}-run"
    must(args.rooflens, "init", project)
    config = said(args.rooflens, "--quiet", "config", "show", "--resolve", "output.formats=[csv]", cwd=project)
    must(args.rooflens, "--quiet", "import", file, "-o", folder)
    # What tells a run of `rooflens run` from a trace: its plan and its config.
    (folder / "plan.json").write_text("{}")
    (folder / ".rooflens").mkdir()
    (folder / ".rooflens" / "config.yaml").write_text(config)
    must(args.rooflens, "--quiet", "report", folder)
    path = folder / "report" / "summary_cuda_gpu_kern_sum.csv"
    return path.read_bytes().decode() if path.exists() else ""


def keyed(rows: list[dict], key) -> dict:
    found = {key(row): row for row in rows}
    assert len(found) == len(rows), "a row stands twice"
    return found


def kernels(args, file: Path) -> tuple[dict, dict]:
    """Kernels by name: of nsys, of Rooflens."""
    theirs = rows_of(stats(args.nsys, file, "cuda_gpu_kern_sum", "Time (%)"))
    return keyed(theirs, lambda row: row["Name"]), keyed(top(args.rooflens, file), lambda row: row["name"])


def ranges(args, file: Path) -> tuple[dict, dict]:
    """Kernels by range, thread and name: of nsys, of Rooflens."""
    number = lambda text: int(text) if text else None  # noqa: E731
    theirs = keyed(
        rows_of(stats(args.nsys, file, "nvtx_kern_sum", "NVTX Range")),
        lambda row: (row["NVTX Range"], STYLES[row["Style"]], number(row["PID"]), number(row["TID"]), row["Kernel Name"]),
    )
    ours = keyed(
        top(args.rooflens, file, "--by", "range"),
        lambda row: (row["range"] or "", row["style"], row["pid"], row["tid"], row["name"]),
    )
    return theirs, ours


def counted_twice(file: Path, key: tuple, row: dict) -> bool:
    """Whether the file itself, asked for every kernel once, says what Rooflens says and nsys does not."""
    with sqlite3.connect(f"file:{file}?immutable=1", uri=True) as database:
        found, pairs = database.execute(ONCE, (key[0], key[3], key[4])).fetchone()
    times = [int(pair.split(":")[1]) for pair in (pairs or "").split(",") if pair]
    if (found, len(times)) != (row["ranges"], row["count"]) or not times:
        return False
    said = [row[field] for field in ("total_ns", "mean_ns", "median_ns", "min_ns", "max_ns")]
    true = [sum(times), statistics.fmean(times), statistics.median(times), min(times), max(times)]
    deviation = statistics.stdev(times) if len(times) > 1 else 0.0
    return all(math.isclose(a, b, rel_tol=1e-9) for a, b in zip(said, true)) and math.isclose(
        row["stddev_ns"] or 0.0, deviation, rel_tol=1e-9
    )


def same(shown: str, value, digits: int) -> bool:
    """Whether a value is what nsys shows; it has 0.0 for the deviation of a single launch."""
    if value is None:
        return float(shown) == 0.0
    return abs(float(shown) - value) <= 0.5000001 * 10.0**-digits if digits else float(shown) == value


def exported(args, report: Path) -> str:
    """What becomes of a report that nsys itself must export: the same as of its export in the corpus."""
    env = {**os.environ, "ROOFLENS_NSYS": str(args.nsys)}
    answers = []
    for file in (report, report.with_suffix(".sqlite")):
        done = run(args.rooflens, "--quiet", "analyze", file, "--format", "json", env=env)
        if done.code == 3 and "later Nsight Systems" in done.stderr:
            return "refused" if done.hint else "refused without a hint"
        if done.code:
            return done.failure()
        answers.append(done.report())
    return "exact" if answers[0] == answers[1] else "differs"


def folders(args, report: Path, scratch: Path) -> str:
    """The folders of tables that nsys makes of a report, against its SQLite file, whole JSON by whole JSON."""
    found = []
    for kind, name in (("sqlite", "of-nsys.sqlite"), ("parquetdir", "of-nsys"), ("arrowdir", "of-nsys")):
        path = scratch / report.stem / kind / name
        path.parent.mkdir(parents=True)
        run(args.nsys, "export", "--type", kind, "-o", path, report)
        if not path.exists():
            return "refused"
        outcome = analyze(args.rooflens, path)
        found.append(outcome.stdout.replace(b"of-nsys.sqlite", b"of-nsys") if outcome.code == 0 else outcome.stderr)
    return "exact" if found[0] == found[1] == found[2] else "differs"


def compared(file: Path, read, columns, theirs: dict, rows: dict):
    """The differences that the file itself does not explain."""
    yield from (f"only nsys has {key}" for key in theirs.keys() - rows.keys())
    yield from (f"only Rooflens has {key}" for key in rows.keys() - theirs.keys())
    for key in theirs.keys() & rows.keys():
        off = [
            f"{key}: {field} {rows[key][field]}, nsys {theirs[key][column]}"
            for column, field, digits in columns
            if not same(theirs[key][column], rows[key][field], digits)
        ]
        if off and not (read is ranges and counted_twice(file, key, rows[key])):
            yield from off


def check_all(judge, args, scratch: Path) -> None:
    for file in sorted((args.corpus / "nsys").glob("*.sqlite")):
        for read, columns in ((kernels, COLUMNS), (ranges, RANGE_COLUMNS)):
            theirs, rows = read(args, file)
            judge.check(f"{file.name}: {read.__name__}", compared(file, read, columns, theirs, rows), f"{len(rows)} rows")
        theirs, ours = stats(args.nsys, file, "cuda_gpu_kern_sum", "Time (%)").splitlines(), summary(args, file, scratch).splitlines()
        off = [f"{a!r}, nsys {b!r}" for a, b in zip(ours, theirs) if a != b] + ["lines"] * (len(ours) != len(theirs))
        judge.check(f"{file.name}: cuda_gpu_kern_sum as CSV", off, f"{len(ours)} lines")
    reports = sorted((args.corpus / "nsys").glob("*.nsys-rep"))
    verdicts = {file.name: exported(args, file) for file in reports}
    verdicts |= {f"{file.name} as folders": folders(args, file, scratch) for file in reports}
    for name, verdict in verdicts.items():
        judge.check(name, [] if verdict in ("exact", "refused") else [verdict], verdict)
    judge.check("a report is read", [] if "exact" in verdicts.values() else ["none is exact"])


if __name__ == "__main__":
    main(check_all, needs("--nsys"))
