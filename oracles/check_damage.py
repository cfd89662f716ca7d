#!/usr/bin/env python3
"""Damaged, odd and hostile files: never a crash, never silence.

    python3 check_damage.py --rooflens BIN [--corpus DIR] [--cuts 1000] [--flips 200] [--seed 1]

Each file must give exit 0 with valid JSON (and a data_loss note whenever the file ends
before its end) or exit 5 with a line that starts with `hint:`. A signal, a timeout,
exit 101 or 70, or the word "panicked" is a failure, as is any other exit code. A cut
trace must count exactly the events that stand whole before the cut.
"""

import gzip
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path

import damage_cases as cases
from damage_cases import LOSS, NOTED, READ, REFUSED, SALVAGED, Case
from rooflens_cli import UNREADABLE, analyze, arguments, kineto_folder
from trace_file import read_bytes

RAW = "tracelens/inference/vllm_decode_full/graph_execution.json.gz"  # 0.5 MB unpacked
PACKED = "tracelens/inference/sglang_decode/sglang_Qwen3-8B_decode.json.gz"
TIMEOUT_S = 300


def judge(case: Case, outcome) -> str | None:
    """What is wrong with this outcome, if anything."""
    said = outcome.stderr.strip().replace("\n", " | ")[-300:]
    if "panicked" in outcome.stderr or outcome.code not in (0, UNREADABLE):
        return f"exit code {outcome.code}: {said}"
    if outcome.code == UNREADABLE:
        if not outcome.hint:
            return f"refused without a hint: {said}"
        readable = case.expect in (READ, SALVAGED)
        return f"refused, though events could be read: {said}" if readable else None
    if case.expect == REFUSED:
        return "read, though there is nothing to read"
    try:
        report = outcome.report()
    except ValueError as error:
        return f"stdout is not JSON: {error}"
    severities = {note["severity"] for note in report["notes"]}
    if case.expect in (LOSS, SALVAGED) and "data_loss" not in severities:
        return f"no data_loss note: {report['notes']}"
    if case.expect == NOTED and not severities & {"warning", "data_loss"}:
        return f"no note: {report['notes']}"
    if case.expect == READ and "data_loss" in severities:
        return f"nothing is lost, yet: {report['notes']}"
    if case.events is not None and report["trace"]["events"] != case.events:
        return f"{report['trace']['events']} events counted, {case.events} are whole"
    if report["trace"]["events"] < case.undamaged and not severities & {"warning", "data_loss"}:
        return f"{report['trace']['events']} of {case.undamaged} events counted, and no note"
    return None


def run(binary, folder: Path, numbered: tuple[int, Case]) -> tuple[Case, str, str | None]:
    number, case = numbered
    path = folder / f"case-{number}{case.suffix}"
    path.write_bytes(case.data)
    try:
        outcome = analyze(binary, path, timeout_s=TIMEOUT_S)
        ended = f"exit {outcome.code}"
        wrong = judge(case, outcome)
    except subprocess.TimeoutExpired:
        ended, wrong = "timeout", f"still running after {TIMEOUT_S} s"
    path.unlink()
    return case, ended, wrong


def all_cases(raw: bytes, packed: bytes, args):
    """Generated one after the other: a thousand half-megabyte files need not be held at once."""
    rng = random.Random(args.seed)
    in_raw = len(cases.event_ends(raw))
    in_packed = len(cases.event_ends(gzip.decompress(packed)))
    return chain(
        [Case("the whole file", raw, READ, in_raw)],
        [Case("the whole gzip file", packed, READ, in_packed, suffix=".json.gz")],
        cases.cuts(raw, args.cuts, rng),
        cases.flips(raw, in_raw, args.flips, rng),
        cases.flips(packed, in_packed, args.flips, rng, ".json.gz"),
        cases.gzip_cuts(packed, max(args.cuts // 5, 1), rng),
        cases.gzip_tails(packed),
        cases.gzip_forms(raw),
        cases.not_traces(),
        cases.nesting(),
        cases.numbers(),
        cases.odd_texts(),
    )


def keep(folder: Path, number: int, case: Case) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"failure-{number}{case.suffix}"
    path.write_bytes(case.data)
    return path


def main() -> int:
    parser = arguments(__doc__.split("\n")[0])
    parser.add_argument("--cuts", type=int, default=1000)
    parser.add_argument("--flips", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2 * (os.cpu_count() or 1))
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the files that failed")
    args = parser.parse_args()
    corpus = kineto_folder(args.corpus)
    raw, _ = read_bytes(corpus / RAW)
    packed = (corpus / PACKED).read_bytes()
    ends, failures, started = Counter(), [], time.monotonic()
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(args.workers) as pool:
        numbered = enumerate(all_cases(raw, packed, args))
        for batch in batches(numbered, 8 * args.workers):
            for case, ended, wrong in pool.map(lambda n: run(args.rooflens, Path(scratch), n), batch):
                ends[ended] += 1
                if wrong:
                    failures.append(wrong)
                    print(f"wrong   {case.label}: {wrong}", flush=True)
                    if args.keep:
                        print(f"        kept as {keep(args.keep, len(failures), case)}")
    outcomes = ", ".join(f"{n} {end}" for end, n in sorted(ends.items()))
    print(
        f"check_damage: {sum(ends.values())} files in {time.monotonic() - started:.0f} s "
        f"(seed {args.seed}): {outcomes}; {len(failures)} wrong"
    )
    return 1 if failures else 0


def batches(items, size):
    batch = []
    for item in items:
        batch.append(item)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


if __name__ == "__main__":
    sys.exit(main())
