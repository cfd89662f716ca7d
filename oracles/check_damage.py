"""Damaged, odd and hostile files: never a crash, never silence.

Each file must give exit 0 with valid JSON (and a data_loss note whenever the file ends before its end) or exit 5 with a
line that starts with `hint:`. A signal, a timeout, exit 101 or 70, or the word "panicked" is a failure, as is any other
exit code. A cut trace must count exactly the events that stand whole before the cut.
"""

import bisect
import gzip
import json
import os
import random
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from oracle import UNREADABLE, analyze, main, option
from trace_file import read_bytes

RAW = "tracelens/inference/vllm_decode_full/graph_execution.json.gz"  # 0.5 MB unpacked
PACKED = "tracelens/inference/sglang_decode/sglang_Qwen3-8B_decode.json.gz"
TIMEOUT_S = 300

# What the outcome must be.
ANY = "any"  # exit 0 with valid JSON, or exit 5 with a hint
READ = "read"  # exit 0, nothing lost
REFUSED = "refused"  # exit 5 with a hint
LOSS = "loss"  # exit 0 with a data_loss note, or exit 5 with a hint
SALVAGED = "salvaged"  # exit 0 with a data_loss note: whole events stand before the damage
NOTED = "noted"  # exit 0 with a warning or data_loss note, or exit 5 with a hint


@dataclass
class Case:
    label: str
    data: bytes
    expect: str = ANY
    events: int | None = None  # how many events must be counted, where that is known
    undamaged: int = 0  # how many there were; if fewer are counted a note must say so
    suffix: str = ".json"


def event_ends(data: bytes) -> list[int]:
    """The byte offset at which each event of a well-formed trace ends."""
    text = data.decode("latin-1")  # one character a byte, so offsets are those of the file
    at = re.search(r'"traceEvents"\s*:\s*\[', text).end()
    decoder, separator, ends = json.JSONDecoder(), re.compile(r"[\s,]*"), []
    while True:
        at = separator.match(text, at).end()
        if text[at] != "{":
            return ends
        _, at = decoder.raw_decode(text, at)
        ends.append(at)


def cuts(data: bytes, count: int, rng: random.Random) -> Iterator[Case]:
    """The file ends early: at random bytes, and at every byte around some event ends."""
    ends = event_ends(data)
    whole = len(data.rstrip())
    edges = [end + step for end in rng.sample(ends, min(5, len(ends))) for step in range(-2, 4)]
    edges += [0, 1, 2, 10, whole - 1, whole - 2, ends[0] - 1, ends[0], ends[-1]]
    places = edges[:count] + [rng.randrange(whole) for _ in range(count - len(edges))]
    for place in places:
        events = bisect.bisect_right(ends, place)
        expect = SALVAGED if events else LOSS
        yield Case(f"cut at byte {place}", data[:place], expect, events if events else None)


def flips(data: bytes, events: int, count: int, rng: random.Random, suffix=".json") -> Iterator[Case]:
    """From 1 to 50 bytes hold something else."""
    for number in range(count):
        damaged = bytearray(data)
        width = rng.randint(1, 50)
        for _ in range(width):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        label = f"flip {number}: {width} bytes{suffix}"
        yield Case(label, bytes(damaged), undamaged=events, suffix=suffix)


def gzip_cuts(packed: bytes, count: int, rng: random.Random) -> Iterator[Case]:
    for _ in range(count):
        place = rng.randrange(2, len(packed))
        yield Case(f"gzip cut at byte {place}", packed[:place], LOSS, suffix=".json.gz")


def gzip_tails(packed: bytes) -> Iterator[Case]:
    """The last eight bytes of a gzip file are its checksum and its length."""
    wrong_sum = packed[:-8] + bytes(b ^ 0xFF for b in packed[-8:-4]) + packed[-4:]
    wrong_length = packed[:-4] + bytes(b ^ 0xFF for b in packed[-4:])
    yield Case("gzip: wrong checksum", wrong_sum, NOTED, suffix=".json.gz")
    yield Case("gzip: wrong length", wrong_length, NOTED, suffix=".json.gz")
    yield Case("gzip: no tail", packed[:-8], LOSS, suffix=".json.gz")
    yield Case("gzip: half a tail", packed[:-3], LOSS, suffix=".json.gz")
    yield Case("gzip: garbage after the end", packed + b"garbage" * 9, ANY, suffix=".json.gz")
    yield Case("gzip: header only", packed[:10], LOSS, suffix=".json.gz")
    yield Case("gzip: of nothing", gzip.compress(b""), REFUSED, suffix=".json.gz")
    yield Case("gzip: 256 MB of blanks", gzip.compress(b" " * (1 << 28), 6), REFUSED, suffix=".json.gz")


def gzip_forms(data: bytes) -> Iterator[Case]:
    """Whole files, in forms that are unusual and allowed."""
    events, half = len(event_ends(data)), len(data) // 2
    members = gzip.compress(data[:half]) + gzip.compress(data[half:])
    yield Case("gzip: two members", members, READ, events, suffix=".json.gz")
    yield Case("gzip named .json", gzip.compress(data), READ, events, suffix=".json")
    yield Case("JSON named .json.gz", data, READ, events, suffix=".json.gz")
    yield Case("byte-order mark", b"\xef\xbb\xbf" + data, READ, events)
    yield Case("blanks around", b" \n\t" + data + b"\n\n \n", READ, events)


KERNEL = {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 10, "dur": 5,
          "args": {"device": 0, "stream": 7, "correlation": 1}}


def kernel(**changes) -> str:
    return json.dumps({**KERNEL, **changes})


def trace(*events: str, tail: str = "") -> bytes:
    return ('{"schemaVersion":1,"traceEvents":[' + ",".join(events) + tail + "]}").encode()


def numbered(text: str, key: str, value: str) -> str:
    """An event as text with one number written another way."""
    return re.sub(rf'"{key}": [^,}}]+', f'"{key}": {value}', text)


def not_traces() -> Iterator[Case]:
    for label, data in {
        "empty file": b"",
        "one newline": b"\n",
        "plain text": b"this is no trace\n" * 100,
        "HTML": b"<!doctype html><html><body>404</body></html>",
        "zero bytes": bytes(100_000),
        "random bytes": random.Random(7).randbytes(300_000),
        "a ZIP archive": b"PK\x03\x04" + random.Random(8).randbytes(5_000),
    }.items():
        yield Case(label, data, REFUSED)
    for text in ('{"hello": [1, 2, 3]}', '"traceEvents"', "17", "null", '{"traceEvents": 3}', '{"traceEvents": null}',
                 '{"traceEvents": {"a": 1}}', "[1, 2, [3, 4], null]"):  # fmt: skip
        yield Case(text, text.encode(), REFUSED)
    yield Case("no events", b'{"traceEvents": []}', ANY)


def nesting(depth: int = 1_000_000) -> Iterator[Case]:
    deep = "[" * depth
    closed = deep + "]" * depth
    for label, text in (("arrays", deep), ("objects", '{"a":' * depth), ("closed arrays", closed)):
        yield Case(f"{label} a million deep", text.encode(), REFUSED)
    yield Case("an event with a deep value", trace(kernel(), kernel()[:-1] + f', "deep": {closed}}}', kernel()), ANY)
    yield Case("an event with an open deep value", trace(kernel())[:-2] + b', {"a":' + deep.encode(), LOSS)
    yield Case("a deep value before the events", f'{{"metadata":{closed},"traceEvents":[{kernel()}]}}'.encode(), ANY)


NOT_TIMES = ["1e400", "-1e400", "9" * 400, "-" + "9" * 400, "1e308", "18446744073709551616", "NaN",
             "Infinity", "-Infinity", "null", "true", "[]", "{}", "0x10", "1_000", "--5", "1e", "1.2.3"]
ODD_NUMBERS = ["0", "-0.0", "1e-400", "9223372036854775807", "9223372036854775.807", "1.5e3", "1e3",
               "0.0004", "12.3456789", '"12.5"', "01", ".5", "5.", "+5"]


def numbers() -> Iterator[Case]:
    """What is no time must not pass for one: a kernel of unknown length does not last 0 ns."""
    for value in NOT_TIMES + ODD_NUMBERS:
        shown = value if len(value) < 30 else value[:10] + "…"
        for key in ("ts", "dur", "device", "stream", "pid", "tid", "correlation"):
            event = numbered(kernel(), key, value)
            expect = NOTED if key in ("ts", "dur") and value in NOT_TIMES else ANY
            yield Case(f"{key} is {shown}", trace(kernel(), event, kernel(ts=30)), expect)
    yield Case("dur is negative", trace(kernel(), kernel(dur=-5)), NOTED)
    yield Case("ts is negative", trace(kernel(), kernel(ts=-5)), READ, 2)
    apart = [kernel(ts=-9_000_000_000_000_000), kernel(ts=9_000_000_000_000_000)]
    yield Case("stamps 570 years apart", trace(*apart))
    yield Case("durations that add up beyond 64 bits", trace(*[kernel(dur=9_000_000_000_000_000)] * 5))


def odd_texts() -> Iterator[Case]:
    plain = kernel()
    yield Case("duplicate keys in an event", trace('{"name": "first", ' + plain[1:]), ANY, 1)
    yield Case("out of order", trace(*[kernel(ts=t) for t in (50, 10, 40, 20, 30)]), READ, 5)
    yield Case("all at the same time", trace(*[plain] * 5), READ, 5)
    yield Case("trailing comma", trace(plain, plain, tail=","), ANY, 2)
    yield Case("array of events", ("[" + plain + "," + plain + "]").encode(), READ, 2)
    yield Case("array of events, never closed", ("[" + plain + ",\n" + plain + ",\n").encode(), ANY, 2)
    yield Case("5 MB name", trace(plain, kernel(name="x" * 5_000_000)), READ, 2)
    yield Case("5 MB argument", trace(plain, kernel(args={"device": 0, "note": "y" * 5_000_000})), READ, 2)
    yield Case("empty name", trace(kernel(name="")), READ, 1)
    yield Case("escapes in a name", trace(kernel(name='a"b\\c\n\t\u00e9\u4e2d')), READ, 1)
    yield Case("a lone surrogate", trace(plain.replace("gemm", "\\ud800")), ANY, 1)
    yield Case("a zero character", trace(plain.replace("gemm", "\\u0000")), READ, 1)
    yield Case("invalid UTF-8 in a name", trace(plain).replace(b"gemm", b"ge\xff\xfemm\xc3"), ANY, 1)
    yield Case("cut UTF-8 at a quote", trace(plain).replace(b"gemm", b"gemm\xe4\xb8"), ANY, 1)
    yield Case("control characters in a name", trace(plain).replace(b"gemm", b"ge\x00\x01\n\t\x1fmm"), ANY, 1)
    yield Case("name is a number", trace(plain.replace('"gemm"', "12")), ANY, 1)
    yield Case("no name", trace('{"ph":"X","cat":"kernel","ts":1,"dur":1}'), ANY, 1)
    yield Case("no dur", trace(plain, '{"ph":"X","cat":"kernel","name":"k","ts":1}'), NOTED, 2)
    yield Case("no ts", trace(plain, '{"ph":"X","cat":"kernel","name":"k","dur":1}'), NOTED, 2)
    yield Case("args is a list", trace(kernel(args=[1, 2])), ANY, 1)
    yield Case("args is a string", trace(kernel(args="x")), ANY, 1)
    yield Case("begin without end", trace('{"ph":"B","name":"a","ts":1,"pid":1,"tid":1}', plain), ANY, 2)
    yield Case("a hundred thousand empty events", trace(*["{}"] * 100_000), ANY, 100_000)
    yield Case("a hundred thousand devices", trace(
        *[kernel(pid=n, args={"device": n, "stream": n}) for n in range(100_000)]), READ, 100_000)


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
    in_raw = len(event_ends(raw))
    in_packed = len(event_ends(gzip.decompress(packed)))
    return chain(
        [Case("the whole file", raw, READ, in_raw)],
        [Case("the whole gzip file", packed, READ, in_packed, suffix=".json.gz")],
        cuts(raw, args.cuts, rng),
        flips(raw, in_raw, args.flips, rng),
        flips(packed, in_packed, args.flips, rng, ".json.gz"),
        gzip_cuts(packed, max(args.cuts // 5, 1), rng),
        gzip_tails(packed),
        gzip_forms(raw),
        not_traces(),
        nesting(),
        numbers(),
        odd_texts(),
    )


def check_all(judge_all, args, scratch: Path) -> None:
    corpus = args.corpus / "kineto"
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
