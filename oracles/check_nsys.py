#!/usr/bin/env python3
"""Kernels by device time as Rooflens sums them, against `nsys stats --report cuda_gpu_kern_sum`.

    python3 check_nsys.py --rooflens BIN --nsys NSYS [--corpus DIR]

NSYS is Nsight Systems 2023.4 or later; it reads SQLite files that newer versions exported.
"""

import csv
import io
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rooflens_cli import arguments, existing

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


def summed(nsys: Path, file: Path) -> dict[str, dict]:
    """The rows of nsys by name. It writes beside its input, so it gets a copy."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "report.sqlite"
        shutil.copy(file, copy)
        argv = [nsys, "stats", "-q", "--report", "cuda_gpu_kern_sum", "--format", "csv", copy]
        text = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    lines = text.splitlines(keepends=True)
    start = next((at for at, line in enumerate(lines) if line.startswith("Time (%)")), None)
    if start is None:
        return {}
    rows = list(csv.DictReader(io.StringIO("".join(lines[start:]))))
    named = {row["Name"]: row for row in rows}
    assert len(named) == len(rows), "nsys has a name twice"
    return named


def ours(rooflens: Path, file: Path) -> dict[str, dict]:
    """The rows of Rooflens by name."""
    argv = [rooflens, "--quiet", "kernels", "top", file, "--k", "100000", "--format", "json"]
    text = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    return {row["name"]: row for row in json.loads(text)["kernels"]}


def same(shown: str, value, digits: int) -> bool:
    """Whether a value is what nsys shows; it has 0.0 for the deviation of a single launch."""
    if value is None:
        return float(shown) == 0.0
    return abs(float(shown) - value) <= 0.5000001 * 10.0**-digits if digits else float(shown) == value


def main() -> int:
    parser = arguments(__doc__.split("\n")[0])
    parser.add_argument("--nsys", type=existing, required=True, metavar="NSYS")
    args = parser.parse_args()
    compared = wrong = 0
    files = sorted((args.corpus / "nsys").glob("*.sqlite"))
    for file in files:
        theirs, rows = summed(args.nsys, file), ours(args.rooflens, file)
        differ = [f"only nsys has {name[:90]}" for name in theirs.keys() - rows.keys()]
        differ += [f"only Rooflens has {name[:90]}" for name in rows.keys() - theirs.keys()]
        for name in theirs.keys() & rows.keys():
            for column, field, digits in COLUMNS:
                compared += 1
                if not same(theirs[name][column], rows[name][field], digits):
                    differ.append(f"{name[:60]}: {field} {rows[name][field]}, nsys {theirs[name][column]}")
        wrong += len(differ)
        print(f"{'differs' if differ else 'exact':8}{file.name}  ({len(rows)} kernels)", flush=True)
        for line in differ[:8]:
            print(f"        {line}")
    print(f"check_nsys: {compared} values of {len(files)} files, {wrong} mismatches")
    return 0 if compared and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
