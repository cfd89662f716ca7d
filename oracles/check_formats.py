"""Other formats: plain sums over the same bytes against Rooflens.

rocprofv3, rocpd, allocator snapshots, logs of libraries, exports of trtexec, metrics of servers and folders of
rocprof-compute, of the corpus and of `fixtures/`. CSV is read with Python's csv, a database with sqlite3 through separate
joins, a snapshot with an unpickler that refuses every class. Numbers must be equal, except shares.
"""

import collections
import csv
import pickle
import sqlite3
from pathlib import Path

import log_truth
from oracle import FIXTURES, analyze, differences, main, must

PARTS = ("kernel", "memory_copy", "hip_api", "hsa_api", "rccl_api", "marker_api")


def kernel_sums(report: dict) -> dict:
    return {row["name"]: (row["count"], row["total_ns"], row["max_ns"]) for row in report.get("kernels") or []}


def sums(spans) -> dict:
    found = collections.defaultdict(list)
    for name, start, end in spans:
        found[name].append(end - start)
    return {name: (len(times), sum(times), max(times)) for name, times in found.items()}


def copy_name(direction: str) -> str:
    source, _, target = direction.removeprefix("MEMORY_COPY_").partition("_TO_")
    return f"Memcpy {source[0]}to{target[0]} ({source.capitalize()} -> {target.capitalize()})"


def csv_records(path: Path):
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            yield row, int(row["Start_Timestamp"]), int(row["End_Timestamp"])


def csv_set(path: Path) -> list[Path]:
    """The file and its siblings: those with the same prefix."""
    for part in PARTS:
        prefix = path.name.removesuffix(f"_{part}_trace.csv")
        if prefix != path.name:
            return [file for other in PARTS if (file := path.with_name(f"{prefix}_{other}_trace.csv")).exists()]
    return [path]


def csv_truth(path: Path) -> dict:
    device, calls, ranges, edges = [], 0, 0, []
    for file in csv_set(path):
        for row, start, end in csv_records(file):
            edges += [start, end]
            if "Kernel_Name" in row:
                device.append((row["Kernel_Name"], start, end))
            elif "Direction" in row:
                device.append((copy_name(row["Direction"]), start, end))
            elif not row["Domain"].startswith("MARKER_"):
                calls += 1
            else:
                ranges += end > start
    rows = {"kernels": len(device), "api": calls, "phases": ranges}
    return {"kernels": sums(device), "rows": rows, "span_ns": max(edges) - min(edges)}


def database_truth(path: Path) -> dict:
    base = sqlite3.connect(path)
    [suffix] = [
        name.removeprefix("rocpd_string")
        for (name,) in base.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'rocpd_string%'")
    ]
    kernels = base.execute(
        f"""SELECT coalesce(nullif(s.display_name, ''), s.kernel_name), d.start, d."end"
            FROM rocpd_kernel_dispatch{suffix} d JOIN rocpd_info_kernel_symbol{suffix} s ON s.id = d.kernel_id"""
    ).fetchall()
    copies = base.execute(
        f"""SELECT s.string, c.start, c."end" FROM rocpd_memory_copy{suffix} c
            JOIN rocpd_string{suffix} s ON s.id = c.name_id"""
    ).fetchall()
    regions = base.execute(
        f"""SELECT c.string LIKE 'MARKER%', r.start, r."end" FROM rocpd_region{suffix} r
            JOIN rocpd_event{suffix} e ON e.id = r.event_id JOIN rocpd_string{suffix} c ON c.id = e.category_id"""
    ).fetchall()
    device = kernels + [(copy_name(name), start, end) for name, start, end in copies]
    edges = [edge for _, start, end in device + regions for edge in (start, end)]
    ranges = sum(marker for marker, _, _ in regions)
    rows = {"kernels": len(device), "api": len(regions) - ranges, "phases": ranges}
    return {"kernels": sums(device), "rows": rows, "span_ns": max(edges) - min(edges)}


class Plain(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"{module}.{name} in a snapshot")


def site(frames: list[dict]) -> str:
    """The innermost frame of the user's own, else of Python, else any."""

    def whose(frame):
        file = frame["filename"]
        if not file.endswith(".py") and not file.startswith("<"):
            return 2
        folders = file.replace("\\", "/").split("/")
        library = any(
            it in ("site-packages", "dist-packages", "torch") or it.startswith(("python3.", "torchinductor"))
            for it in folders
        )
        return 1 if library else 0

    if not frames:
        return "(no stack was recorded)"
    frame = min(frames, key=whose)  # the first of the best
    file = frame["filename"].replace("\\", "/").rsplit("/", 1)[-1]
    return frame["name"] if file in ("", "??") else f"{file}({frame['line']}): {frame['name']}"


def snapshot_truth(path: Path) -> list[dict]:
    with open(path, "rb") as file:
        snapshot = Plain(file).load()
    devices = []
    for device, trace in enumerate(snapshot["device_traces"]):
        segments = [it for it in snapshot["segments"] if it["device"] == device]
        if not trace and not segments:
            continue
        blocks = [block for it in segments for block in it["blocks"]]
        held = [block for block in blocks if block["state"] == "active_allocated"]
        free = [block["size"] for block in blocks if block["state"] == "inactive"]
        asked = sum(block["requested_size"] for block in held)
        reserved = sum(it["total_size"] for it in segments)
        # Forwards, from what must have been there before: what is held at the end less what the events change.
        change = {"alloc": 1, "free_requested": -1}
        before = asked - sum(it["size"] * change.get(it["action"], 0) for it in trace)
        total, peak, at, live, best = before, None, None, {}, {}
        for it in trace:
            if it["action"] == "alloc":
                live[it["addr"]] = (site(it["frames"]), it["size"])
            elif it["action"] == "free_requested":
                live.pop(it["addr"], None)
            elif not it["action"].startswith("segment_"):
                continue
            total += it["size"] * change.get(it["action"], 0)
            if peak is None or total > peak:
                peak, at, best = total, it["time_us"], dict(live)
        sites = collections.defaultdict(lambda: [0, 0])
        for name, size in best.values():
            sites[name][0] += size
            sites[name][1] += 1
        top = sorted(((name, *it) for name, it in sites.items() if it[0] > 0), key=lambda it: (-it[1], it[0]))
        # PyTorch gives segments that are free as a whole back before it fails: these are cached.
        idle = [it["total_size"] - it["active_size"] for it in segments]
        scattered = sum(size for size, it in zip(idle, segments) if it["active_size"] > 0)
        timed = [it["time_us"] for it in trace if it["action"] in change or it["action"].startswith("segment_")]
        devices.append(
            {
                "device": device,
                "allocations": sum(it["action"] == "alloc" and it["size"] > 0 for it in trace),
                "releases": sum(it["action"] == "free_requested" and it["size"] > 0 for it in trace),
                "peak_allocated_bytes": peak,
                "peak_ts_ns": (at - min(timed)) * 1000 if timed else None,
                "at_peak": [{"site": name, "bytes": size, "allocations": count} for name, size, count in top[:10]],
                "older_at_peak_bytes": peak - sum(it[1] for it in top) if best or sites else None,
                "at_end": {
                    "reserved_bytes": reserved,
                    "allocated_bytes": sum(it["allocated_size"] for it in segments),
                    "requested_bytes": sum(it["requested_size"] for it in segments),
                    "pending_bytes": sum(it["active_size"] - it["allocated_size"] for it in segments),
                    "free_bytes": reserved - sum(it["active_size"] for it in segments),
                    "largest_free_bytes": max(free, default=0),
                    "scattered_free_bytes": scattered,
                    "cached_bytes": sum(idle) - scattered,
                    "fragmentation": scattered / reserved if reserved else None,
                },
            }
        )
    return devices


def compare(found, truth):
    """Where `truth` says something else; keys that only `found` has are not looked at."""

    def shared(found, truth):
        if isinstance(truth, dict) and isinstance(found, dict):
            return {key: shared(found.get(key), truth[key]) for key in truth}
        if isinstance(truth, list) and isinstance(found, list) and len(truth) == len(found):
            return [shared(*pair) for pair in zip(found, truth)]
        return found

    return differences(shared(found, truth), truth, tolerance=1e-12)


def traced(truth: dict):
    def check(report: dict):
        found = {"kernels": kernel_sums(report), "rows": report["trace"]["rows"], "span_ns": report["trace"]["span_ns"]}
        # Phases are also derived; those of the file are at least there.
        least = min(found["rows"]["phases"], truth["rows"]["phases"])
        yield from compare({**found, "rows": {**found["rows"], "phases": least}}, truth)
        extra = sorted(set(found["kernels"]) - set(truth["kernels"]))
        yield from (f"kernel {name} is not in the file" for name in extra)

    return check


def logged(read, truth: dict):
    """A log of a library: what `read` makes of the report."""

    def check(report: dict):
        found, wanted = read(report), dict(truth)
        # trtexec prints shares with six digits.
        told = wanted.pop("told", {})
        yield from (f"share of {name}" for name, share in told.items() if abs(found["told"][name] - share) > 1e-6)
        yield from compare(found, wanted)

    return check


def cases(corpus: Path, scratch: Path):
    """Files to analyze, each with what looks at the report."""
    traces = ("kernel_trace", "memory_copy_trace", "hip_runtime_trace", "hip_compile_trace", "hsa_api_trace", "marker_api_trace")
    recorded = [path for path in (corpus / "rocm").glob("*/*.csv") if path.stem in traces]
    for path in sorted(recorded) + sorted((FIXTURES / "rocprofv3").glob("*_trace.csv")):
        yield path, traced(csv_truth(path))
    for sql in sorted((FIXTURES / "rocpd").glob("*.sql")):
        path = scratch / f"{sql.stem}.db"
        with sqlite3.connect(path) as base:
            base.executescript(sql.read_text())
        base.close()
        yield path, traced(database_truth(path))
    for path in both(corpus, "torchmem", "torchmem", "*.pickle"):
        yield path, lambda report, path=path: compare(report["memory"], snapshot_truth(path))
    for path in both(corpus, "logs", "blaslog", "*.log"):
        yield path, logged(log_truth.found_gemms, log_truth.gemms(path))
    for path in sorted((FIXTURES / "nccl").glob("*")):
        yield path, logged(log_truth.found_collectives, log_truth.collectives(path))
    for path in both(corpus, "tensorrt", "tensorrt", "*.profile.json"):
        kinds = [path.with_name(path.name.replace(".profile.", f".{kind}.")) for kind in ("profile", "graph", "timing")]
        yield path, logged(log_truth.found_engine, log_truth.engine([file for file in kinds if file.exists()]))
    for path in sorted((FIXTURES / "metrics").glob("*.txt")):
        yield path, logged(log_truth.found_served, log_truth.served(path))


def both(corpus: Path, folder: str, fixture: str, pattern: str) -> list[Path]:
    return sorted((corpus / folder).glob(pattern)) + sorted((FIXTURES / fixture).glob(pattern))


def check_all(judge, args, scratch: Path) -> None:
    for path, look in cases(args.corpus, scratch):
        outcome = analyze(args.rooflens, path)
        wrong = look(outcome.report()) if outcome.code == 0 else [outcome.failure()]
        judge.check(f"{path.parent.name}/{path.name}", wrong)
    for path in [*sorted((args.corpus / "rocm").glob("rocprof-compute_*")), *sorted((FIXTURES / "rocprof_compute").iterdir())]:
        report = must(args.rooflens, "kernels", "analyze", path, "--format", "json").report()
        judge.check(f"{path.parent.name}/{path.name}", compare(log_truth.found_workload(report), log_truth.workload(path)))


if __name__ == "__main__":
    main(check_all)
