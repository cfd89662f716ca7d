"""Every metric of a `.ncu-rep` file as Rooflens reads it, with its unit, against `ncu --import --page raw`.

Also the pages that ncu prints in units of its choice, read back, against the file; and the counters of `rooflens kernels
analyze`, against the same pages and against CSV files of ncu. --view is the example `ncu_view` of rooflens-ingest.
"""

import csv
import io
import json
import math
from pathlib import Path
from oracle import main, must, needs, said


# Columns that ncu makes itself: not metrics of the file.
OWN = 13


def exported(ncu: Path, file: Path) -> tuple[list[str], list[str], list[list[str]]]:
    """Names, units, and a row for each launch; in base units, with all digits."""
    text = said(ncu, "--import", file, "--csv", "--page", "raw", "--print-units", "base", "--print-fp")
    head, units, *rows = csv.reader(io.StringIO(text))
    return head, units, rows


def same(shown: str, value) -> bool:
    """Whether a value is what ncu shows: it rounds numbers to six digits behind the point."""
    if isinstance(value, str):
        return shown.strip() == value.strip()
    if value is None:
        return shown in ("", "no data")
    try:
        number = float(shown.replace(",", ""))
    except ValueError:
        return False
    if number == value:
        return True
    digits = len(shown.partition(".")[2])
    return abs(number - value) <= 0.5000001 * 10.0**-digits + 1e-9 * abs(value)


def printed(args, scratch: Path, file: Path, launches: list[dict]) -> tuple[int, list[str]]:
    """Values of the pages that ncu prints for people, held against the file's own."""
    compared, differ = 0, []
    for page in ("raw", "details"):
        copy = scratch / f"{page}.csv"
        copy.write_text("==PROF== talk before the table\n" + said(args.ncu, "--import", file, "--csv", "--page", page))
        seen = said(args.view, copy)
        rows = [json.loads(line) for line in seen.splitlines()]
        if len(rows) != len(launches):
            differ.append(f"page {page}: {len(rows)} launches of {len(launches)}")
        for number, (row, launch) in enumerate(zip(rows, launches)):
            for name, value in row["metrics"].items():
                whole = launch["metrics"].get(name)
                if not isinstance(value, (int, float)) or not isinstance(whole, (int, float)):
                    continue
                compared += 1
                # Two digits behind the point, of a number that may be in its largest unit.
                if abs(value - whole) > max(0.005001, 0.00501 * abs(whole)):
                    differ.append(f"page {page}, launch {number}: {name} {value}, the file {whole}")
    return compared, differ


def plain(counter: str):
    """A counter that is a metric of the report as it is."""
    return lambda metric: metric(counter)


def quotient(part: str, whole: str, scale: float = 1.0):
    def value(metric):
        upper, lower = metric(part), metric(whole)
        return None if upper is None or not lower else scale * upper / lower
    return value


def of_warp(ratio: str):
    return lambda metric: None if metric(ratio) is None else metric(ratio) * 100 / 32


def used(operation: str):
    """Bytes used of a sector; 0 stands for no access."""
    return lambda metric: metric(f"smsp__sass_average_data_bytes_per_sector_mem_global_op_{operation}.ratio") or None


def excess(metric):
    sectors, ideal = (metric(f"memory_l2_theoretical_sectors_global{end}") for end in ("", "_ideal"))
    return None if ideal is None or not sectors else 100 * (sectors - ideal) / sectors


def per_request(metric):
    conflicts = metric(CONFLICTS)
    counts = [metric(f"smsp__{name}.sum") for name in SHARED]
    return None if conflicts is None or None in counts or not sum(counts) else conflicts / sum(counts)


CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"
SHARED = (
    "sass_inst_executed_op_shared_ld", "sass_inst_executed_op_shared_st", "inst_executed_op_ldsm",
    "inst_executed_op_shared_atom",
)
SECTORS, REQUESTS = "l1tex__t_sectors_pipe_lsu_mem_global_op_{}.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_{}.sum"
TENSOR = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_"
# The counters of the product, computed here from what ncu shows.
COUNTERS = {
    "tensor_pipe_pct": plain(TENSOR + "active"),
    "tensor_pipe_elapsed_pct": plain(TENSOR + "elapsed"),
    "issue_slots_pct": plain("sm__inst_issued.avg.pct_of_peak_sustained_active"),
    "issue_active_pct": plain("smsp__issue_active.avg.pct_of_peak_sustained_active"),
    "eligible_warps": plain("smsp__warps_eligible.avg.per_cycle_active"),
    "active_warps": plain("smsp__warps_active.avg.per_cycle_active"),
    "warp_execution_pct": of_warp("smsp__thread_inst_executed_per_inst_executed.ratio"),
    "warp_execution_pred_pct": of_warp("smsp__thread_inst_executed_pred_on_per_inst_executed.ratio"),
    "load_sectors_per_request": quotient(SECTORS.format("ld"), REQUESTS.format("ld")),
    "store_sectors_per_request": quotient(SECTORS.format("st"), REQUESTS.format("st")),
    "load_bytes_per_sector": used("ld"),
    "store_bytes_per_sector": used("st"),
    "excess_sectors_pct": excess,
    "bank_conflicts": plain(CONFLICTS),
    "bank_conflicts_per_request": per_request,
    "bank_conflicts_pct": quotient(CONFLICTS, "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", 100.0),
}
# What the details page calls those counters that it shows.
SHOWN = {
    "eligible_warps": "Eligible Warps Per Scheduler",
    "active_warps": "Active Warps Per Scheduler",
    "issue_active_pct": "One or More Eligible",
    "issue_slots_pct": "Issue Slots Busy",
}


def near(name: str, found, expected) -> bool:
    """Counts are exact, and so is what is divided of them; of means ncu shows two digits behind the point."""
    if found is None or expected is None:
        return found is None and expected is None
    shown = 0.0 if "sectors" in name or "conflicts" in name else 0.00501
    return abs(found - expected) <= (shown * 100 / 32 if "execution" in name else shown) + 1e-9 * abs(expected)


def analyzed(binary: Path, path: Path) -> list[dict]:
    kernels = must(binary, "kernels", "analyze", path, "--format", "json").report()["kernels"]
    return sorted(kernels, key=lambda kernel: kernel["launch"])


def counters(args, file: Path, head: list[str], rows: list[list[str]]) -> tuple[int, list[str]]:
    """The counters of `rooflens kernels analyze` against those of the page that ncu prints."""
    compared, differ = 0, []
    for number, (kernel, row) in enumerate(zip(analyzed(args.rooflens, file), rows, strict=True)):
        cells = dict(zip(head, row))

        def metric(name: str):
            try:
                value = float(cells.get(name, "").replace(",", ""))
            except ValueError:
                return None
            return value if math.isfinite(value) else None
        for name, expected in COUNTERS.items():
            compared += 1
            if not near(name, kernel["counters"][name], expected(metric)):
                differ.append(f"launch {number}: {name} {kernel['counters'][name]}, ncu {expected(metric)}")
    return compared, differ


def printed_counters(args, folder: Path) -> tuple[int, list[str]]:
    """The same against the cells of CSV files, a folder for each launch."""
    compared, differ = 0, []
    for inner in sorted(path for path in folder.iterdir() if path.is_dir() and path.name.startswith("kernel_")):
        cells = {}
        for file in sorted(inner.glob("*.csv")):
            lines = [line for line in file.read_text(errors="replace").splitlines(True) if not line.startswith("==")]
            for row in csv.DictReader(lines):
                if row.get("Metric Name"):
                    cells[row["Metric Name"]] = row["Metric Value"]
        (kernel,) = analyzed(args.rooflens, inner)
        for name in COUNTERS:
            shown = cells.get(SHOWN.get(name, ""))
            expected = None if shown is None else float(shown.replace(",", ""))
            compared += 1
            if not near(name, kernel["counters"][name], expected):
                differ.append(f"{inner.name}: {name} {kernel['counters'][name]}, the file {expected}")
    return compared, differ


def metrics(head: list[str], units: list[str], rows: list[list[str]], launches: list[dict]) -> tuple[int, list[str]]:
    """Every metric and unit of the file against the page."""
    compared, differ = 0, []
    for number, (row, launch) in enumerate(zip(rows, launches, strict=True)):
        for name, shown, unit in list(zip(head, row, units))[OWN:]:
            told = launch["units"].get(name)
            if name not in launch["metrics"]:
                differ += [f"launch {number}: {name} is missing, ncu {shown}"] if shown else []
            elif not same(shown, launch["metrics"][name]):
                differ.append(f"launch {number}: {name} {launch['metrics'][name]}, ncu {shown}")
            if told not in (None, unit):
                differ.append(f"launch {number}: {name} in {told}, ncu {unit}")
            compared += (name in launch["metrics"]) + (told is not None)
    return compared, differ


def check_all(judge, args, scratch: Path) -> None:
    for file in sorted((args.corpus / "ncu").glob("*.ncu-rep")):
        launches = [json.loads(line) for line in said(args.view, file).splitlines()]
        head, units, rows = exported(args.ncu, file)
        parts = metrics(head, units, rows, launches), printed(args, scratch, file, launches), counters(args, file, head, rows)
        differ = [line for _, lines in parts for line in lines]
        judge.check(file.name, differ, f"{len(launches)} launches, {sum(count for count, _ in parts)} values")
    for folder in sorted(args.corpus.glob("llm-perf-opt/reports/*/ncu*")):
        compared, differ = printed_counters(args, folder)
        judge.check(f"{folder.name}, CSV", differ, f"{compared} values")


if __name__ == "__main__":
    main(check_all, needs("--view"), needs("--ncu"))
