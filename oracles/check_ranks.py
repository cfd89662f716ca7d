#!/usr/bin/env python3
"""Waiting, transfer and stragglers: planted jobs of ranks in lockstep.

    python3 check_ranks.py --rooflens BIN --xtask XTASK [--traces 40] [--seed N] [--keep DIR]

`xtask make-trace --lockstep` plants ranks that meet in collectives, their clocks apart: one is late by slower
kernels, more kernels or a busy host, or all have jitter alone. Waiting and transfer must be found within a point,
by rank and in the ledger, the straggler be named with its cause in every job that has one and nobody in the
others, and the bandwidth of the collectives be within 2 % of what was planted. A rank alone must not be split.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from check_ledger import by_line, check_sums
from rooflens_cli import analyze, arguments, existing

POINTS = 0.01  # of the devices' time
RATES = 0.02
SHOWN = 8


def check(binary, xtask, keep, seed) -> tuple[str, float, list[str]]:
    folder = Path(tempfile.mkdtemp(prefix=f"lockstep-{seed}-", dir=keep))
    argv = [xtask, "make-trace", "--lockstep", "--seed", str(seed), "-o", folder]
    made = subprocess.run(argv, capture_output=True, text=True)
    if made.returncode != 0:
        return f"seed {seed}", 0.0, [made.stderr.strip()]
    planted = json.loads((folder / "truth.json").read_text())
    outcome = analyze(binary, folder / "traces")
    alone = analyze(binary, folder / "traces" / "rank-0.json")
    if outcome.code != 0 or alone.code != 0:
        return f"seed {seed}", 0.0, [f"exit codes {outcome.code}, {alone.code}: {outcome.stderr.strip()[:300]}"]
    report = outcome.report()
    off: list[tuple[float, str]] = []
    wrong = [
        *check_sums(report["ledger"]),
        *check_split(planted, report, off),
        *check_straggler(planted, report),
        *check_rates(planted, report),
        *check_alone(planted, alone.report()),
    ]
    wrong += [f"{where} is {share * 100:.2f} points off" for share, where in off if share > POINTS]
    if not (wrong and keep):
        shutil.rmtree(folder)
    late = planted["straggler"]
    label = f"seed {seed}, {planted['hardware']}, tp {planted['tp']}, {late['what'] if late else 'jitter alone'}"
    return label, max(off)[0], wrong


def check_split(planted, report, off):
    """Waiting and transfer, of all devices and by rank."""
    ledger, wall = report["ledger"], planted["wall_ns"]
    if ledger["wall_ns"] != wall:
        yield f"wall_ns {ledger['wall_ns']}, planted {wall}"
    lines = by_line(ledger["lines"])
    for line, key in (("comm_wait", "exposed_wait_ns"), ("communication", "exposed_transfer_ns")):
        want = sum(rank[key] for rank in planted["ranks"])
        off.append((abs(lines.get(line, 0) - want) / wall, line))
    waits = report["communication"]["waits"]
    if [row["rank"] for row in waits] != list(range(planted["tp"])):
        yield f"waits of ranks {[row['rank'] for row in waits]}"
        return
    for row, want in zip(waits, planted["ranks"]):
        off.append((abs(row["wait_ns"] - want["wait_ns"]) / (wall / planted["tp"]), f"waiting of rank {row['rank']}"))


def check_straggler(planted, report):
    """Who is late, and what makes it so; nobody without a straggler."""
    rows, late = report["stragglers"]["rows"], planted["straggler"]
    advised = any(item["rule"] == "straggler" for item in report["advice"]["items"])
    if advised != bool(rows):
        yield f"{len(rows)} stragglers, advice {advised}"
    if late is None:
        if rows:
            yield f"rank {rows[0]['rank']} is named, none was planted"
        return
    if [row["rank"] for row in rows] != [late["rank"]]:
        yield f"ranks {[row['rank'] for row in rows]} are named, planted is {late['rank']}"
        return
    cause = rows[0]["causes"][0]
    what = "kernels" if late["what"] == "launches" else late["what"]
    if (cause["what"], cause["class"], cause["idle"]) != (what, late["class"], late["idle"]):
        yield f"late by {cause['what']} {cause['class']} {cause['idle']}, planted {late}"
    if late["what"] == "launches" and cause["own_count"] <= cause["others_count"]:
        yield f"{cause['own_count']} kernels against {cause['others_count']}: it has no more"


def check_rates(planted, report):
    """The one collective of the job: its transfer, its bandwidth, and the share of the link."""
    want, rows = planted["collectives"], report["communication"]["collectives"]
    if len(rows) != 1 or report["communication"]["matched"] != want["calls"]:
        yield f"{len(rows)} collectives, {report['communication']['matched']} matched of {want['calls']}"
        return
    row = rows[0]
    if row["algorithm"] != want["algorithm"]:
        yield f"algorithm {row['algorithm']}, planted {want['algorithm']}"
    pairs = [("transfer_p50_ns", "transfer_ns"), ("bus_gb_per_s", "bus_gb_per_s"), ("link_share", "link_share")]
    for key, planted_key in pairs:
        got, expected = row[key], want[planted_key]
        if (got is None) != (expected is None):
            yield f"{key} {got}, planted {expected}"
        # The median rank leaves up to 200 ns after the first.
        elif got is not None and abs(got / expected - 1) > RATES + 200 / want["transfer_ns"]:
            yield f"{key} {got}, planted {expected}"


def check_alone(planted, report):
    """One rank cannot know whether it waits."""
    ledger, rank = report["ledger"], planted["ranks"][0]
    if "comm_wait" in by_line(ledger["lines"]) or not ledger["not_computed"]["comm_wait"].startswith("only one rank"):
        yield "a rank alone is split"
    exposed = rank["exposed_wait_ns"] + rank["exposed_transfer_ns"]
    if by_line(ledger["lines"])["communication"] != exposed:
        yield f"communication of rank 0 alone {by_line(ledger['lines'])['communication']}, planted {exposed}"


def main() -> int:
    parser = arguments(__doc__.split("\n")[0])
    parser.add_argument("--xtask", type=existing, required=True, metavar="BIN")
    parser.add_argument("--traces", type=int, default=40, metavar="N", help="how many jobs are planted")
    parser.add_argument("--seed", type=int, default=1, help="of the first")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep planted jobs that failed")
    args = parser.parse_args()
    if args.keep:
        args.keep.mkdir(parents=True, exist_ok=True)
    failed, farthest, kinds = 0, (0.0, ""), {}
    with ProcessPoolExecutor() as pool:
        seeds = range(args.seed, args.seed + args.traces)
        for label, far, wrong in pool.map(partial(check, args.rooflens, args.xtask, args.keep), seeds):
            farthest = max(farthest, (far, label))
            kind = label.rsplit(", ", 1)[-1]
            kinds[kind] = kinds.get(kind, 0) + 1
            failed += bool(wrong)
            if wrong:
                print(f"WRONG {label}")
                print(*(f"      {line}" for line in wrong[:SHOWN]), sep="\n")
    made = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    print(
        f"ranks: {args.traces} planted jobs ({made}), the farthest share {farthest[0] * 100:.3f} points off "
        f"({farthest[1]}); {failed} wrong"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
