#!/usr/bin/env python3
"""Every metric of a `.ncu-rep` file as Rooflens reads it, against `ncu --import --page raw`; and the pages
that ncu prints in units of its choice, read back, against the file.

    python3 check_ncu.py --view BIN --ncu NCU [--corpus DIR]

BIN is the example `ncu_view` of rooflens-ingest, NCU is Nsight Compute 2024.2 or later.
"""

import csv
import io
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from rooflens_cli import arguments, existing

# Columns that ncu makes itself: not metrics of the file.
OWN = 13


def exported(ncu: Path, file: Path) -> tuple[list[str], list[str], list[list[str]]]:
    """Names, units, and a row for each launch; in base units, with all digits."""
    argv = [ncu, "--import", file, "--csv", "--page", "raw", "--print-units", "base", "--print-fp"]
    text = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
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


def printed(args, file: Path, launches: list[dict]) -> tuple[int, list[str]]:
    """Values of the pages that ncu prints for people, held against the file's own."""
    compared, differ = 0, []
    for page in ("raw", "details"):
        argv = [args.ncu, "--import", file, "--csv", "--page", page]
        text = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
        with tempfile.NamedTemporaryFile("w", suffix=".csv") as copy:
            copy.write("==PROF== talk before the table\n" + text)
            copy.flush()
            seen = subprocess.run([args.view, copy.name], capture_output=True, text=True, check=True).stdout
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


def main() -> int:
    parser = arguments(__doc__.split("\n")[0], binary_required=False)
    parser.add_argument("--view", type=existing, required=True, metavar="BIN")
    parser.add_argument("--ncu", type=existing, required=True, metavar="NCU")
    args = parser.parse_args()
    files = sorted((args.corpus / "ncu").glob("*.ncu-rep"))
    compared = wrong = 0
    for file in files:
        text = subprocess.run([args.view, file], capture_output=True, text=True, check=True).stdout
        launches = [json.loads(line) for line in text.splitlines()]
        head, _, rows = exported(args.ncu, file)
        differ = [] if len(rows) == len(launches) else [f"{len(launches)} launches, ncu {len(rows)}"]
        for number, (row, launch) in enumerate(zip(rows, launches)):
            for name, shown in list(zip(head, row))[OWN:]:
                if name not in launch["metrics"]:
                    if shown:
                        differ.append(f"launch {number}: {name} is missing, ncu {shown}")
                    continue
                compared += 1
                if not same(shown, launch["metrics"][name]):
                    differ.append(f"launch {number}: {name} {launch['metrics'][name]}, ncu {shown}")
        again, differ_again = printed(args, file, launches)
        compared += again
        differ += differ_again
        wrong += len(differ)
        print(f"{'differs' if differ else 'exact':8}{file.name}  ({len(launches)} launches)", flush=True)
        for line in differ[:12]:
            print(f"        {line}")
    print(f"check_ncu: {compared} values of {len(files)} files, {wrong} mismatches")
    return 0 if compared and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
