"""What the Python package does with files that are not good, and with text that wants to be HTML."""

import json
import re
from pathlib import Path
from oracle import FIXTURES, Judge, hub_snapshot


TRACE = FIXTURES / "kineto/decode.json"
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"


def raised(rooflens, call, kind: str, *words: str, command: str = ""):
    """A `rooflens.Error` of this kind, whose fact and hint have these words."""
    try:
        found = call()
    except rooflens.Error as error:
        text = f"{error} {error.hint}"
        if error.kind != kind or not all(word in text for word in words) or not isinstance(error, Exception):
            yield f"{error.kind}: {text}"
        if not error.hint or (command and error.command != command):
            yield f"hint {error.hint!r}, command {error.command!r}"
    except BaseException as error:
        yield f"{type(error).__name__} and no rooflens.Error: {error}"
    else:
        yield f"no error: {found!r}"


def hostile(rooflens, folder: Path):
    """Names of a trace are text, wherever they are shown."""
    record = json.loads(TRACE.read_text())
    for event in record["traceEvents"]:
        if event.get("cat") in ("kernel", "cpu_op"):
            event["name"] = HOSTILE
    trace = folder / "hostile.json"
    trace.write_text(json.dumps(record))
    answer = rooflens.analyze(trace)
    other = rooflens.compare(TRACE, trace)
    pages = {
        "analysis": answer._repr_html_(), "kernels": answer.kernels._repr_html_(), "operators": answer.operators._repr_html_(),
        "event table": answer.tables["kernel_dim"]._repr_html_(), "comparison": other._repr_html_(),
        "account": other.account._repr_html_(), "html()": answer.html(), "comparison html()": other.html(),
    }
    for name, page in pages.items():
        # The reports have scripts of their own.
        if "<script>alert" in page or re.search(r"<img[^>]*onerror", page):
            yield f"{name} is HTML of the trace's making"
    if not any("&lt;script&gt;alert" in page for page in pages.values()):
        yield "the name is not shown at all"


def truncated(rooflens, folder: Path):
    """Half of a trace is analysed, and its notes say so."""
    trace = folder / "half.json"
    data = TRACE.read_bytes()
    trace.write_bytes(data[: len(data) * 6 // 10])
    answer = rooflens.analyze(trace)
    if answer.kernels.num_rows == 0 or not answer.verdict:
        yield "no kernels"
    if not any(note["severity"] == "data_loss" for note in answer.notes):
        yield f"no note of data loss: {answer.notes}"
    if answer.tables["notes"].num_rows != len(answer.notes) or answer.stopped:
        yield f"{answer.tables['notes']!r}, stopped {answer.stopped}"


def hub(rooflens, folder: Path, monkey):
    """A model by its name, from a cache on this machine."""
    config = folder / "example/config.json"
    hub_snapshot(folder / "hub", "org/tiny", config.read_text())
    monkey["HF_HUB_CACHE"] = str(folder / "hub")
    named = rooflens.cost("org/tiny", hardware="h100", context="4k")
    direct = rooflens.cost(config, hardware="h100", context="4k")
    if named.document["phases"] != direct.document["phases"]:
        yield "org/tiny costs something else than its config"
    known = rooflens.analyze(folder / "example/decode-eager.json", model="org/tiny", hardware="h100")
    direct = rooflens.analyze(folder / "example/decode-eager.json", model=config, hardware="h100")
    if known.document["ledger"] != direct.document["ledger"]:
        yield "the ledger with org/tiny is not that of its config"
    yield from raised(rooflens, lambda: rooflens.cost("org/tiny@v9", hardware="h100"), "data", "main",
                      command="hf download org/tiny --revision v9")


def check_errors(judge: Judge, rooflens, args, folder: Path) -> None:
    import os

    config, example = folder / "example/config.json", folder / "example/decode-eager.json"
    (folder / "text.json").write_text("hello\n")
    (folder / "full").mkdir()
    (folder / "full/notes.txt").write_text("mine")
    absent = "hf download org/absent"
    os.environ["HF_HUB_CACHE"] = str(folder / "no-cache")
    cases = {
        "missing file": (lambda: rooflens.analyze("/missing/trace.json"), "data", "/missing/trace.json"),
        "not a trace": (lambda: rooflens.analyze(folder / "text.json"), "data", "text.json", "list formats"),
        "no trace at all": (lambda: rooflens.analyze([]), "usage"),
        "unknown hardware": (lambda: rooflens.cost(config, hardware="h9000"), "usage", "h9000", "list hardware"),
        "unknown hardware of a trace": (lambda: rooflens.analyze(example, model=config, hardware="h9000"), "usage", "h9000"),
        "missing config": (lambda: rooflens.cost(folder / "none/config.json"), "data", "config.json"),
        "no config": (lambda: rooflens.cost([]), "usage"),
        "three configs": (lambda: rooflens.cost([config] * 3), "usage"),
        "not a run": (lambda: rooflens.Run(folder / "full"), "data", "full"),
        "output is not ours": (lambda: rooflens.analyze(example, output=folder / "full"), "usage", "full"),
        "one side": (lambda: rooflens.compare(example), "usage", "two"),
        "wrong gate": (lambda: rooflens.compare(example, example, fail_on=["faster!"]), "usage", "faster!"),
        "unknown word": (lambda: rooflens.explain("no such word"), "usage", "no such word"),
    }
    for name, (call, kind, *words) in cases.items():
        judge.check(f"error: {name}", raised(rooflens, call, kind, *words))
    for name, call in {"cost": lambda: rooflens.cost("org/absent"),
                       "analyze": lambda: rooflens.analyze(example, model="org/absent")}.items():
        judge.check(f"error: {name}, a model that is not in the cache",
                    raised(rooflens, call, "data", "org/absent", absent, command=absent))
    judge.check("error: arguments that cannot be parsed", parsed(rooflens, config))
    judge.check("names of a trace are not HTML", hostile(rooflens, folder))
    judge.check("a truncated trace", truncated(rooflens, folder))
    judge.check("models by name, offline", hub(rooflens, folder, os.environ))


def parsed(rooflens, config):
    for given, kind in [({"tpot": "fast"}, ValueError), ({"batch": "x"}, ValueError), ({"batch": -1}, (ValueError, OverflowError)),
                        ({"tpot": float("nan")}, (ValueError, rooflens.Error)), ({"nonsense": 1}, TypeError), ({"batch": {}}, TypeError)]:
        try:
            rooflens.cost(config, **given)
        except kind:
            continue
        except Exception as error:
            yield f"{given}: {type(error).__name__}: {error}"
        else:
            yield f"{given}: no error"
