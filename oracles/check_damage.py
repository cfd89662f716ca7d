#!/usr/bin/env python3
"""Damaged, odd and hostile files: never a crash, never silence.

Each file must give exit 0 with valid JSON (and a data_loss note whenever the file ends before its end) or exit 5 with a
line that starts with `hint:`. A signal, a timeout, exit 101 or 70, or the word "panicked" is a failure, as is any other
exit code. A cut trace must count exactly the events that stand whole before the cut.
"""

import gzip
import os
import random
import subprocess
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice
from pathlib import Path

import damage_cases as cases
from damage_cases import LOSS, NOTED, READ, REFUSED, SALVAGED, Case
from trace_file import read_bytes
from oracle import UNREADABLE, analyze, kineto_folder, main, option

RAW = "tracelens/inference/vllm_decode_full/graph_execution.json.gz"  # 0.5 MB unpacked
PACKED = "tracelens/inference/sglang_decode/sglang_Qwen3-8B_decode.json.gz"
TIMEOUT_S = 300


def judge(case: Case, outcome) -> str | None:
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


def check_all(judge_all, args, scratch: Path) -> None:
    corpus = kineto_folder(args.corpus)
    raw, _ = read_bytes(corpus / RAW)
    ends, numbered = Counter(), enumerate(all_cases(raw, (corpus / PACKED).read_bytes(), args))
    workers = 2 * (os.cpu_count() or 1)
    with ThreadPoolExecutor(workers) as pool:
        while batch := list(islice(numbered, 8 * workers)):
            for case, ended, wrong in pool.map(lambda one: run(args.rooflens, scratch, one), batch):
                ends[ended] += 1
                if wrong:
                    judge_all.check(case.label, [wrong])
    judge_all.check(f"{ends.total()} files (seed {args.seed})", [], *(f"{n} {end}" for end, n in sorted(ends.items())))


if __name__ == "__main__":
    count = [option("--cuts", type=int, default=1000), option("--flips", type=int, default=200)]
    main(check_all, *count, option("--seed", type=int, default=1))
