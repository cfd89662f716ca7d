"""Bytes to parsed JSON, also from files that are cut short or not strictly JSON."""

import gzip
import json
import os
import re
import zlib
from decimal import Decimal
from pathlib import Path

# Larger traces take a minute in all. .ci/full reads them, too.
QUICK_BYTES = 500_000


def read_bytes(path) -> tuple[bytes, bool]:
    """The decompressed bytes, and whether the file was whole."""
    data = Path(path).read_bytes()
    if data[:2] != b"\x1f\x8b":
        return data, True
    try:
        return gzip.decompress(data), True
    except (EOFError, OSError, zlib.error):
        return inflate_what_is_left(data), False


def inflate_what_is_left(data: bytes) -> bytes:
    inflater, out = zlib.decompressobj(31), bytearray()
    for at in range(0, len(data), 512):
        try:
            out += inflater.decompress(data[at : at + 512])
        except zlib.error:
            break
    return bytes(out)


def parse(data: bytes) -> tuple[dict | None, bool]:
    """The top-level object (a bare array becomes its traceEvents) and whether it was whole."""
    text = data.decode("utf-8-sig", errors="replace")
    try:
        top = json.loads(text, parse_float=Decimal, strict=False)
        whole = True
    except (ValueError, RecursionError):
        top, whole = salvage(text), False
    if isinstance(top, list) and any(isinstance(e, dict) and "ph" in e for e in top):
        top = {"traceEvents": top}
    if not isinstance(top, dict) or not isinstance(top.get("traceEvents"), list):
        return None, whole
    return top, whole


def salvage(text: str) -> dict | None:
    """The events before the first one that cannot be read."""
    key = re.search(r'"traceEvents"\s*:\s*\[|\A\s*\[(?=\s*\{)', text)
    if key is None:
        return None
    top = {"traceEvents": []}
    rank = re.search(r'"distributedInfo"\s*:\s*\{[^}]*?"rank"\s*:\s*(\d+)', text)
    if rank:
        top["distributedInfo"] = {"rank": int(rank.group(1))}
    decoder = json.JSONDecoder(parse_float=Decimal, strict=False)
    skip = re.compile(r"[\s,]*")
    at = skip.match(text, key.end()).end()
    while at < len(text) and text[at] == "{":
        try:
            event, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        top["traceEvents"].append(event)
        at = skip.match(text, at).end()
    return top


def corpus_traces(corpus) -> list[Path]:
    """Every file of the corpus that could be a trace, smallest first."""
    found = [p for p in Path(corpus).rglob("*") if p.name.endswith((".json", ".json.gz", ".raw.gz"))]
    return sorted(found, key=lambda p: (p.stat().st_size, str(p)))


def chosen_traces(corpus) -> list[Path]:
    """Every file of the corpus that could be a trace if ROOFLENS_WHOLE_CORPUS is set, otherwise the small ones."""
    everything = "ROOFLENS_WHOLE_CORPUS" in os.environ
    return [path for path in corpus_traces(corpus) if everything or path.stat().st_size <= QUICK_BYTES]


def is_kineto(path) -> bool:
    """Whether the file speaks of events at all (cheaper than loading it)."""
    return b'"traceEvents"' in read_bytes(path)[0]
