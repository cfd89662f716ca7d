"""Compares this crate's YAML with OmegaConf's and PyYAML's, on files and on random documents.

    python oracles/compose/yaml_diff.py VIEW_BINARY [--seed N] [--texts N] [--data N] [--show N]

VIEW_BINARY is the built `examples/yaml_view`. Run with a Python that has hydra-core 1.3.8.
"""

import argparse
import collections
import io
import json
import os
import random
import subprocess
import sys

import yaml
from hydra.plugins.config_source import ConfigSource
from omegaconf import OmegaConf
from omegaconf._utils import get_omega_conf_dumper, get_yaml_loader
from omegaconf.errors import GrammarParseError

sys.path.insert(0, os.path.dirname(__file__))
from yaml_cases import random_data, random_text, real_texts  # noqa: E402

LOADER = get_yaml_loader()


class Refused(Exception):
    """What OmegaConf would refuse after PyYAML has read it."""


def typed(value, path=()):
    if id(value) in path or len(path) > 500:
        raise Refused("recursive or too deep")
    if value is None:
        return ["null"]
    if isinstance(value, bool):
        return ["bool", value]
    if isinstance(value, int):
        return ["int", str(value)]
    if isinstance(value, float):
        return ["float", repr(value)]
    if isinstance(value, str):
        return ["str", value]
    if isinstance(value, bytes):
        return ["bytes", list(value)]
    below = path + (id(value),)
    if isinstance(value, (list, tuple)):
        return ["list", [typed(item, below) for item in value]]
    if isinstance(value, dict):
        if any(not isinstance(key, (str, bytes, int, float, bool)) for key in value):
            raise Refused("key type")
        return ["map", [[typed(key), typed(item, below)] for key, item in value.items()]]
    raise Refused(f"type {type(value).__name__}")


def unshared(value):
    """A copy whose containers are all distinct, so that the dumper writes no anchors."""
    if isinstance(value, (list, tuple)):
        return [unshared(item) for item in value]
    if isinstance(value, dict):
        return {key: unshared(item) for key, item in value.items()}
    return value


def to_yaml(value):
    """OmegaConf's dump; where it refuses an interpolation's grammar, its dumper's."""
    try:
        if isinstance(value, (dict, list)):
            return OmegaConf.to_yaml(OmegaConf.create(value))
    except (GrammarParseError, RecursionError):
        pass
    return yaml.dump(value, default_flow_style=False, allow_unicode=True, sort_keys=False,
                     Dumper=get_omega_conf_dumper())


def load(text):
    """OmegaConf.load without the part that parses interpolations."""
    value = yaml.load(io.StringIO(text, newline=None), Loader=LOADER)
    if value is not None and not isinstance(value, (list, dict, str)):
        raise Refused("root scalar")
    if isinstance(value, str):
        value = yaml.load(value, Loader=LOADER)
        if isinstance(value, str):
            value = {value: None}
        elif value is not None and not isinstance(value, (list, dict)):
            raise Refused("root scalar")
    return value


def view(case):
    if "text" in case:
        try:
            shared = load(case["text"])
            data = typed(shared)
            value = unshared(shared)
            result = {"data": data, "dump": to_yaml(value), "repr": repr(value)}
        except Exception as error:  # every refusal counts as one
            result = {"error": f"{type(error).__name__}: {error}"}
        try:
            text = io.StringIO(case["text"], newline=None).read()[:512]
            result["header"] = {"package": ConfigSource._get_header_dict(text)["package"]}
        except ValueError as error:
            result["header"] = {"error": str(error)}
        return result
    value = case["value"]
    dump = to_yaml(value)
    again = view({"text": dump})
    again.pop("header")
    return {"dump": dump, "repr": repr(value), "again": again}


def differs(theirs, ours):
    """The names of the parts that differ; two refusals are the same whatever their words."""
    if isinstance(theirs, dict) and ("error" in theirs or "error" in ours):
        parts = [] if ("error" in theirs) == ("error" in ours) else ["refusal"]
        for part in ("header",):
            if part in theirs and differs(theirs[part], ours[part]):
                parts.append(part)
        return parts
    parts = []
    for part, value in theirs.items():
        if isinstance(value, dict):
            parts += [f"{part}.{inner}" for inner in differs(value, ours[part])]
        elif value != ours[part]:
            parts.append(part)
    return parts


# Places where the YAML 1.2 event parser is narrower than PyYAML: what it says there, and why.
NARROWER = {
    "may not precede any of": "{a:{b: 1}} and {a:[1]}: 1.2 wants a space after the colon",
    "cannot start with '-' followed by": "[-]: 1.2 has no lone dash in brackets",
    "invalid indentation in multiline quoted": "a quoted text going on at its key's column or left of it",
    "tab cannot be used as indentation": "a quoted text going on after a tab",
    "BOM must not appear": "U+FEFF inside the text",
    "U+FEFF is not allowed": "U+FEFF inside the text",
    "comments must be separated": "a '#' directly after a quoted text or a bracket",
    "simple key expected ':'": "a key or an alias directly before its colon, such as *a: 1",
    "may only have letters, digits": "an anchor directly before its colon, such as &a: 1",
    "wrongly indented line in block": "a comment less indented than an empty block with an indentation mark",
    "a block text must be indented": "a block text at the margin, without text but with a comment",
    "'?' and a leading ':' have a meaning": "[?a]: 1.1 reads an explicit key; refused here, with a hint",
}


def is_text_with_breaks(text):
    """Whether the document is one text that has the breaks by escapes, and so is read again."""
    try:
        value = yaml.load(text, Loader=LOADER)
    except Exception:  # refused, so not a text
        return False
    return isinstance(value, str) and any(mark in value for mark in ("\u2028", "\u2029"))


def reason(case, parts, theirs, ours):
    """Why a difference is known; None where it is not. Of written data nothing is excused."""
    if "value" in case and not all(part.startswith("again.") for part in parts):
        return None
    text = case.get("text") or theirs.get("dump", "")
    if any(mark in text for mark in ("\u2028", "\u2029")) or is_text_with_breaks(text):
        return "U+2028 and U+2029 are line breaks in 1.1 only"
    if "scanning a directive" in theirs.get("error", ""):
        return "a directive with a name 1.1 does not allow is passed over"
    error = ours.get("error") or ours.get("again", {}).get("error") or ""
    return next((why for words, why in NARROWER.items() if words in error and "error" not in theirs), None)


def has_surrogate(case):
    return any("\ud800" <= char <= "\udfff" for char in case.get("text", ""))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--texts", type=int, default=20000)
    parser.add_argument("--data", type=int, default=10000)
    parser.add_argument("--real", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--show", type=int, default=10)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    print("seed", arguments.seed)

    real = real_texts() if arguments.real else []
    cases = [{"kind": "real", "from": name, "text": text} for name, text in real]
    for _ in range(arguments.texts):
        kind, text = random_text(rng, [text for _, text in real])
        cases.append({"kind": kind, "text": text})
    for _ in range(arguments.data):
        cases.append({"kind": "data", "value": random_data(rng)})
    cases = [case for case in cases if not has_surrogate(case)]

    lines = []
    for case in cases:
        sent = {"text": case["text"]} if "text" in case else {"data": typed(case["value"])}
        lines.append(json.dumps(sent))
    run = subprocess.run([arguments.binary], input="\n".join(lines) + "\n", capture_output=True,
                         text=True, encoding="utf-8")
    if run.returncode:
        sys.exit(f"the view failed: {run.stderr}")
    answers = run.stdout.split("\n")[:-1]
    assert len(answers) == len(cases), (len(answers), len(cases))

    totals, refused, found, shown, known = (collections.Counter() for _ in range(5))
    for case, answer in zip(cases, answers):
        theirs, ours = view(case), json.loads(answer)
        totals[case["kind"]] += 1
        refused[case["kind"]] += "error" in theirs
        parts = differs(theirs, ours)
        why = reason(case, parts, theirs, ours) if parts else None
        if why:
            known[why] += 1
        elif parts:
            mark = (case["kind"], ",".join(parts))
            found[mark] += 1
            shown[mark] += 1
            if shown[mark] <= arguments.show:
                print("----", mark, case.get("from", ""))
                print(" in    ", repr(case.get("text", case.get("value")))[:600])
                for part in ("error", "data", "dump", "repr", "header", "again"):
                    if theirs.get(part) != ours.get(part):
                        print(f" py {part}:", repr(theirs.get(part))[:500])
                        print(f" rs {part}:", repr(ours.get(part))[:500])
    for kind in totals:
        wrong = sum(count for mark, count in found.items() if mark[0] == kind)
        print(f"{kind}: {totals[kind]} cases, {refused[kind]} refused by PyYAML, {wrong} differ")
    for why, count in known.most_common():
        print(f"known: {count:5} {why}")
    print("unexplained differences:", dict(found) or "none")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
