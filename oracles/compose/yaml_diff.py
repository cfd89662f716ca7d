"""Compares our YAML with OmegaConf's and PyYAML's, on random documents such as people write.

    python oracles/compose/yaml_diff.py VIEW_BINARY [--seed N] [--texts N] [--data N]

VIEW_BINARY is the built `examples/yaml_view`. Run with a Python that has hydra-core 1.3.8. PyYAML reads YAML 1.1 with
its own extensions and our parser 1.2: damaged and unusual texts differ. Compared: the values with their types, what is
written of them, line and column of each node, and what is refused.
"""

import argparse
import collections
import io
import json
import math
import random
import struct
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


def random_data(rng, depth):
    size = rng.choice([0, 1, 1, 2, 3])
    if rng.random() < 0.4:
        return [random_value(rng, depth - 1) for _ in range(size)]
    return {random_key(rng): random_value(rng, depth - 1) for _ in range(size)}


def random_key(rng):
    keys = [0, 1, -5, 10**30, 2.5, 1e20, True, False, math.inf, 1.0]
    long = rng.choice("abcdef") * rng.choice([1, 3, 121, 122, 123, 124, 130])
    return rng.choices([random_string(rng), long, rng.choice(keys), rng.choice("abcdefgh")], [6, 1, 1, 2])[0]


def random_value(rng, depth):
    if depth > 0 and rng.random() < 0.5:
        return random_data(rng, depth)
    whole = [0, 1, -1, rng.randint(-10**6, 10**6), 2**63 - 1, 2**63, -2**63, -2**63 - 1, 10**40]
    value = rng.choice([*FLOATS, struct.unpack("d", rng.randbytes(8))[0]])
    return rng.choices([random_string(rng), math.nan if math.isnan(value) else value, rng.choice(whole), rng.choice([None, True, False])],
                       [6, 1, 1, 2])[0]


FLOATS = [0.0, -0.0, 1.0, 1e15, 1e16, 1e17, 1e-4, 1e-5, 1.5e-7, 1e22, 5e-324, 1.7976931348623157e308, math.inf, -math.inf, 0.1 + 0.2]
TEXTS = ["a", "word", "config", "${x.y}", "it's", '"q"', "#x", "a:", ":b", "-", "--", "x" * 30, "long-word-with-dashes", "é", "日本", "😀", "1", "yes", "'", ",", "path/to/file", "\\", "{", "[1]", "%", "x" * 90, "\u00a0"]
PIECES = list("ab1 :#-?,[]{}'\"&*!|>%@`\\ye.0_+=~<") + [" ", " ", "  ", "\n", "\n", "\n\n", "\t", "\r", "\x00", "\x1b", "\x7f", "\xa0", "\ufeff", "\ufffe", "\U0010ffff", "😀", "é", "\u200b", "\u0301"]
TIMES = ["", "T1:02:03", " 01:02:03.5", "t1:02:03Z", "  1:02:03 +1", " 1:02:03-01:30", "T1:2:03", "x"]


def random_string(rng):
    def some(pieces, low, high, between=""):
        return between.join(rng.choice(pieces) for _ in range(rng.randint(low, high)))

    day = f"{rng.randint(0, 9999):04}-{rng.randint(0, 99):0{rng.randint(1, 2)}}-{rng.randint(0, 99):02}"
    words = " ".join(some("abc\t\"é😀", 1, 12) for _ in range(rng.randint(1, 25)))
    return rng.choices([
        rng.choice(WORDS + QUOTED), some(TEXTS, 1, 30, rng.choice([" ", " ", "  ", "\n"])), some(TEXTS[:3], 10, 40, " "),
        some("0123456789_.:eE+-xb Ttz", 1, 12), day + rng.choice(TIMES), rng.choice(["\t", "é", "\\", "\n"]) + words, some(PIECES, 0, 20),
    ], [25, 25, 10, 10, 5, 5, 20])[0]  # fmt: skip


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


def view(case):
    if "text" in case:
        try:
            shared, found = load(case["text"])
            value = unshared(shared)
            result = {"data": typed(shared), "dump": to_yaml(value), "repr": repr(value)}
            if found:
                result["places"] = found
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
    for part in ("header", "places"):
        again.pop(part, None)
    return {"dump": dump, "repr": repr(value), "again": again}


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
    parser.add_argument("--data", type=int, default=10000)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    print("seed", arguments.seed)
    made = [random_text(rng) for _ in range(arguments.texts)]
    cases = [{"kind": kind, "text": text} for kind, text in made]
    cases += [{"kind": "data", "value": random_data(rng, rng.randint(1, 5))} for _ in range(arguments.data)]
    sent = [{"text": case["text"]} if "text" in case else {"data": typed(case["value"])} for case in cases]
    feed = "".join(json.dumps(one) + "\n" for one in sent)
    run = subprocess.run([arguments.binary], input=feed, capture_output=True, encoding="utf-8", check=True)
    answers = run.stdout.split("\n")[:-1]
    assert len(answers) == len(cases), (len(answers), len(cases))
    refused, found = 0, collections.Counter()
    for case, answer in zip(cases, answers):
        theirs, ours = view(case), json.loads(answer)
        refused += "error" in theirs
        if parts := differs(theirs, ours):
            mark = f"{case['kind']}: {', '.join(parts)}"
            found[mark] += 1
            if found[mark] <= 10:
                print("----", mark, "\n in    ", repr(case.get("text", case.get("value")))[:600])
                for part in theirs.keys() | ours.keys():
                    if theirs.get(part) != ours.get(part):
                        print(f" py {part}: {theirs.get(part)!r:.500}\n rs {part}: {ours.get(part)!r:.500}")
    print(f"{len(cases)} cases, {refused} refused by PyYAML; differences: {dict(found) or 'none'}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
