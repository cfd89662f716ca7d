"""Compares our YAML with OmegaConf's and PyYAML's, on random documents such as people write.

    python oracles/compose/yaml_diff.py VIEW_BINARY [--seed N] [--texts N]

VIEW_BINARY is the built `examples/yaml_view`. Run with a Python that has hydra-core 1.3.8. PyYAML reads YAML 1.1 with
its own extensions and our parser 1.2: damaged and unusual texts differ. Compared: the values with their types, what is
written of them, line and column of each node, and what is refused.
"""

import argparse
import collections
import io
import json
import random
import subprocess
import sys

import yaml
from hydra.plugins.config_source import ConfigSource
from omegaconf import OmegaConf
from omegaconf._utils import get_omega_conf_dumper, get_yaml_loader
from omegaconf.errors import GrammarParseError

from typed import typed

LOADER = get_yaml_loader()

WORDS = """
0 1 -1 +5 017 08 0o17 0x1F 0xG 0b11 0b2 1_000 1__0 _1 1_ 0_ 1:30 190:20:30 1:60 1:5:07 -1:30 1:30.5
1e3 1E3 1e-3 1e+3 1.5e3 1.5e+3 .5 +.5 -.5 5. 1.e3 1._5 1_.5 .5_ .inf -.inf +.Inf .INF .nan .NaN inf nan 1e5_0 1e400 1e-400
12345678901234567890 -99999999999999999999999 0xffffffffffffffffff 9223372036854775807 9223372036854775808
yes Yes YES no on Off true True TRUE false y n Y N null Null NULL ~ None nil
2020-01-01 2020-1-1 2001-12-14t21:59:43.10-05:00 127.0.0.1 ??? ${a.b} ${oc.env:X,1}
a abc a.b a-b a/b a:b a#b -a -- --- http://h/?x=1 C:\\x é 日本 😀 x\u200b
""".split()
MILD = ["a", "1", "2.5", "true", "null", "some words", "a-b", "x/y", "'q'", '"d"', "'two\n    lines'", '"esc\\n \\\n  aped"', "${x}", "é", "", "two\n    lines"]
QUOTED = ["''", '""', "'it''s'", '"\\x41"', '"\\u00e9"', '"\\U0001F600"', '"a\\tb"', "'1'", '"yes"', '"\\"q\\""', '"\\/"', '"\\e\\0\\a\\b\\v\\f\\r"',
          "' a '", '"a\n\n      b"']
TAGGED = ["!!str 1", "!!int '3'", "!!float 1", "!!bool 'yes'", "!!null ''", "!!str", "!!int x", "!foo 1", "!!set {a}", "! '1'"]


def scalar(rng, in_flow=False):
    pick = rng.random()
    if pick < 0.5:
        text = rng.choice(MILD)
    elif pick < 0.75:
        text = rng.choice(WORDS)
    elif pick < 0.85:
        text = rng.choice(QUOTED)
    elif pick < 0.88:
        text = rng.choice(TAGGED)
    else:
        text = rng.choice("0123456789") + "".join(rng.choice("0123456789_.:eE+-xb") for _ in range(rng.randint(0, 6))) + rng.choice("0123456789eb_.")
    # Within brackets `?`, `:` and a lone tag mean something else to each version.
    return "b" if in_flow and (text in ("", "!!str", "???", "---") or ":" in text or "{" in text) else text


def key(rng, taken):
    text = rng.choice([rng.choice("abcdefgh"), rng.choice("abcdefgh") + str(rng.randint(0, 99)), rng.choice(["1", "true", "2.5", "'q k'", '"d"', "two words", "é", "on"])])
    # A repeated key is refused by both; one in a while is enough.
    return text if text not in taken or rng.random() < 0.05 else f"k{len(taken)}"


def block(rng, indent, depth):
    pad, lines, taken = " " * indent, [], set()
    is_list = rng.random() < 0.35
    for _ in range(rng.randint(1, 4)):
        if not is_list:
            taken.add(name := key(rng, taken))
        head = pad + ("- " if is_list else name + rng.choice([": ", ": ", ":  ", " : "]))
        pick = rng.random()
        comment = rng.choice(["", "", "", " # note"])
        if depth > 0 and pick < 0.35:
            mark = rng.choice(["", "", "", " !!map", " !!seq"]) if rng.random() < 0.2 else ""
            lines.append(head.rstrip() + mark + comment + "\n" + block(rng, indent + rng.choice([1, 2, 2, 2, 4]), depth - 1))
        elif pick < 0.5:
            lines.append(head + flow(rng, 2).replace("\n", "\n" + pad) + comment + "\n")
        elif pick < 0.62:
            lines.append(head + block_scalar(rng, indent))
        elif pick < 0.7:
            lines.append(head.rstrip() + "\n" + pad + "  several words\n" + pad + "  and more\n")
        else:
            text = scalar(rng)
            lines.append(head + text.replace("\n", "\n" + pad) + comment + "\n")
        if rng.random() < 0.08:
            lines.append(rng.choice(["\n", pad + "# comment\n", "# comment\n", "   \n"]))
    return "".join(lines)


def block_scalar(rng, indent):
    header = rng.choice("|>") + rng.choice(["", "", "-", "+"]) + rng.choice(["", "", " # c", " "])
    pad = " " * (indent + rng.choice([1, 2, 2, 4]))
    lines = [pad + "text"] + [rng.choice([pad + "text", pad + "  more", pad + "a: b # c", "", pad + "- x", pad + "tab\tx", pad + "end  ", pad + "é"]) for _ in range(rng.randint(0, 4))]
    return header + "\n" + "".join(line + "\n" for line in lines)


def flow(rng, depth):
    pick = rng.random()
    if depth > 0 and pick < 0.3:
        items = rng.choice([", ", ", ", ",", " , "]).join(flow(rng, depth - 1) for _ in range(rng.randint(0, 3)))
        return "[" + items + rng.choice(["", "", "," if items else ""]) + "]"
    if depth > 0 and pick < 0.6:
        taken = set()
        pairs = []
        for _ in range(rng.randint(0, 3)):
            taken.add(name := key(rng, taken))
            pairs.append(name + ": " + flow(rng, depth - 1))
        return "{" + ", ".join(pairs) + "}"
    return scalar(rng, in_flow=True)


def merges(rng):
    lines, names = [], []
    for index in range(rng.randint(2, 5)):
        pairs = [f"{name}: {rng.randint(0, 9)}" for name in rng.sample("xyz", rng.randint(0, 2))]
        for _ in range(rng.randint(0, 2) if names else 0):
            source = rng.choice([f"*{rng.choice(names)}", "[" + ", ".join(f"*{rng.choice(names)}" for _ in range(rng.randint(0, 3))) + "]", "{x: 5, q: 1}", rng.choice(["{}", "{z: 1}", "1", "[1]"])])
            pairs.insert(rng.randint(0, len(pairs)), f"<<: {source}")
        lines.append(f"k{index}: &m{index} {{{', '.join(pairs)}}}\n")
        names.append(f"m{index}")
    lines.append(rng.choice(["", f"l: [*{names[0]}, &s text, *s]\n", "" if rng.random() < 0.8 else "l: *nowhere\n", f"l:\n- *{names[-1]}\n"]))
    return "".join(lines)


def random_text(rng):
    kind = rng.choice(["tree", "tree", "tree", "scalar", "merge"])
    if kind == "tree":
        text = block(rng, 0, rng.randint(1, 4))
    elif kind == "scalar":
        text = rng.choice(["a: {}", "- {}", "{}\n"]).replace("{}", scalar(rng))
    else:
        text = merges(rng)
    if rng.random() < 0.05:
        text = text.replace("\n", rng.choice(["\r\n", "\r"]))
    if rng.random() < 0.1:
        text = rng.choice(["---\n", "\ufeff", "# c\n", "# @package a\n", "\n# @package _global_\n"]) + text
    return kind, text


class Refused(Exception):
    """What OmegaConf would refuse after PyYAML has read it."""


def checked(value, path=()):
    """Refuses what a config cannot hold."""
    if id(value) in path or len(path) > 250:
        raise Refused("recursive or too deep")
    below = path + (id(value),)
    if isinstance(value, list):
        for item in value:
            checked(item, below)
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, (str, int, float, bool)):
                raise Refused("key type")
            checked(item, below)
    elif not isinstance(value, (str, int, float, bool, type(None))):
        raise Refused(f"type {type(value).__name__}")


def unshared(value):
    """A copy whose containers are all distinct, so that the dumper writes no anchors."""
    if isinstance(value, list):
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


def places(loader, node, lines):
    """Line and column of a node and of those below, once its construction has merged what it merges. Of nodes with an
    anchor or a tag ours is the place of the value, of block texts that of their first line, of lists that of
    their first item, and of nothing any."""
    below = []
    if isinstance(node, yaml.MappingNode):
        pairs = {loader.construct_object(key, deep=True): value for key, value in node.value}
        below = [places(loader, value, lines) for value in pairs.values()]
    elif isinstance(node, yaml.SequenceNode):
        below = [places(loader, item, lines) for item in node.value]
    mark = node.start_mark
    if node.value == "" or lines[mark.line][mark.column:mark.column + 1] in ("&", "!", "|", ">", "-", ""):
        return [None, None, below]
    return [mark.line + 1, mark.column + 1, below]


def same_places(theirs, ours):
    here = theirs[0] is None or theirs[:2] == ours[:2]
    return here and len(theirs[2]) == len(ours[2]) and all(map(same_places, theirs[2], ours[2]))


def load(text):
    """OmegaConf.load without the part that parses interpolations; and the places of the nodes."""
    text = io.StringIO(text, newline=None).read()
    loader = LOADER(text)
    node = loader.get_single_node()
    value = None if node is None else loader.construct_document(node)
    checked(value)
    if isinstance(value, str):
        # A document that is one text is read once more.
        value = yaml.load(value, Loader=LOADER)
        value, node = ({value: None} if isinstance(value, str) else value), "again"
        checked(value)
    if value is not None and not isinstance(value, (list, dict)):
        raise Refused("root scalar")
    return value, None if node == "again" else [1, 1, []] if node is None else places(loader, node, text.removeprefix("\ufeff").split("\n"))


def view(text):
    try:
        shared, found = load(text)
        value = unshared(shared)
        result = {"data": typed(shared), "dump": to_yaml(value), "repr": repr(value)}
        if found:
            result["places"] = found
    except Exception as error:  # every refusal counts as one
        result = {"error": f"{type(error).__name__}: {error}"}
    try:
        head = io.StringIO(text, newline=None).read()[:512]
        result["header"] = {"package": ConfigSource._get_header_dict(head)["package"]}
    except ValueError as error:
        result["header"] = {"error": str(error)}
    return result


# PyYAML refuses tabs between words. Decision 12 lists this difference.
TAB = "found character '\\t' that cannot start any token"


def differs(theirs, ours):
    """The names of the parts that differ; two refusals are the same whatever their words."""
    if TAB in theirs.get("error", ""):
        return []
    if "error" in theirs or "error" in ours:
        return [] if ("error" in theirs) == ("error" in ours) else ["refusal"]
    parts = []
    for part, value in theirs.items():
        if isinstance(value, dict):
            parts += [f"{part}.{inner}" for inner in differs(value, ours[part])]
        elif not same_places(value, ours[part]) if part == "places" else value != ours[part]:
            parts.append(part)
    return parts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--texts", type=int, default=20000)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    print("seed", arguments.seed)
    made = [random_text(rng) for _ in range(arguments.texts)]
    feed = "".join(json.dumps({"text": text}) + "\n" for _, text in made)
    run = subprocess.run([arguments.binary], input=feed, capture_output=True, encoding="utf-8", check=True)
    answers = run.stdout.split("\n")[:-1]
    assert len(answers) == len(made), (len(answers), len(made))
    refused, found = 0, collections.Counter()
    for (kind, text), answer in zip(made, answers):
        theirs, ours = view(text), json.loads(answer)
        refused += "error" in theirs
        if parts := differs(theirs, ours):
            mark = f"{kind}: {', '.join(parts)}"
            found[mark] += 1
            if found[mark] <= 10:
                print("----", mark, "\n in    ", repr(text)[:600])
                for part in theirs.keys() | ours.keys():
                    if theirs.get(part) != ours.get(part):
                        print(f" py {part}: {theirs.get(part)!r:.500}\n rs {part}: {ours.get(part)!r:.500}")
    print(f"{len(made)} texts, {refused} refused by PyYAML; differences: {dict(found) or 'none'}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
