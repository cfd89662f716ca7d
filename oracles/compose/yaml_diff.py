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
import re
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


def places(loader, node):
    """Line and column of a node and of those below, once its construction has merged what it merges."""
    below = []
    if node.tag == "tag:yaml.org,2002:map" and isinstance(node, yaml.MappingNode):
        pairs = {loader.construct_object(key, deep=True): value for key, value in node.value}
        below = [places(loader, value) for value in pairs.values()]
    elif node.tag == "tag:yaml.org,2002:seq" and isinstance(node, yaml.SequenceNode):
        below = [places(loader, item) for item in node.value]
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            pair = [places(loader, part) for part in item.value[0]]
            below.append([item.start_mark.line + 1, item.start_mark.column + 1, pair])
    return [node.start_mark.line + 1, node.start_mark.column + 1, below]


def load(text):
    """OmegaConf.load without the part that parses interpolations; and the places of the nodes."""
    loader = LOADER(io.StringIO(text, newline=None))
    node = loader.get_single_node()
    value = None if node is None else loader.construct_document(node)
    typed(value)
    if isinstance(value, str):
        return load_text(value), None
    if value is not None and not isinstance(value, (list, dict)):
        raise Refused("root scalar")
    return value, [1, 1, []] if node is None else places(loader, node)


def load_text(value):
    """A document that is one text is read once more."""
    if isinstance(value, str):
        value = yaml.load(value, Loader=LOADER)
        if isinstance(value, str):
            value = {value: None}
        elif value is not None and not isinstance(value, (list, dict)):
            raise Refused("root scalar")
    return value


def near(error):
    """The places a refusal of the text may name: where it was noticed, or what it began with."""
    if isinstance(error, yaml.constructor.ConstructorError):
        return []
    marks = [getattr(error, name, None) for name in ("problem_mark", "context_mark")]
    return [[mark.line + 1, mark.column + 1] for mark in marks if mark]


def view(case):
    if "text" in case:
        try:
            shared, found = load(case["text"])
            data = typed(shared)
            value = unshared(shared)
            result = {"data": data, "dump": to_yaml(value), "repr": repr(value)}
            if found:
                result["places"] = found
        except Exception as error:  # every refusal counts as one
            result = {"error": f"{type(error).__name__}: {error}", "near": near(error)}
        try:
            text = io.StringIO(case["text"], newline=None).read()[:512]
            result["header"] = {"package": ConfigSource._get_header_dict(text)["package"]}
        except ValueError as error:
            result["header"] = {"error": str(error)}
        return result
    value = case["value"]
    dump = to_yaml(value)
    again = view({"text": dump})
    for part in ("header", "places"):
        again.pop(part, None)
    return {"dump": dump, "repr": repr(value), "again": again}


def differs(theirs, ours):
    """The names of the parts that differ; two refusals are the same whatever their words."""
    if isinstance(theirs, dict) and ("error" in theirs or "error" in ours):
        parts = [] if ("error" in theirs) == ("error" in ours) else ["refusal"]
        if not parts and theirs.get("near") and ours["place"] not in theirs["near"]:
            parts.append("place")
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


def reason(parts, theirs, ours):
    """Why a difference is known; None where it is not."""
    error = ours.get("error", "")
    if parts in (["refusal"], ["place"]) and re.search(r"code D[89A-F]\w\w is not a character", error):
        return "an escape of half a surrogate pair: no text, and Hydra cannot write it"
    if parts == ["place"] and "is never closed" in error and re.search("<(stream|document)", theirs["error"]):
        return "a bracket that is never closed: we name the bracket, PyYAML the end"
    if parts == ["place"] and "is not allowed in YAML" in error:
        return "a control character after another problem: we look for it first"
    return None


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
    seeds = [text for _, text in real]
    for _ in range(arguments.texts):
        kind, text = random_text(rng, seeds)
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
        why = reason(parts, theirs, ours) if parts else None
        if why:
            known[why] += 1
        elif parts:
            mark = (case["kind"], ",".join(parts))
            found[mark] += 1
            shown[mark] += 1
            if shown[mark] <= arguments.show:
                print("----", mark, case.get("from", ""))
                print(" in    ", repr(case.get("text", case.get("value")))[:600])
                for part in ("error", "data", "dump", "repr", "places", "near", "place", "header", "again"):
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
