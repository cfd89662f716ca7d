"""The documents and data that `yaml_diff.py` compares."""

import json
import math
import os
import re
import struct

HERE = os.path.dirname(os.path.abspath(__file__))
CORPUS = os.environ.get("ROOFLENS_CORPUS", os.path.join(HERE, "../../../shared/data"))
ORACLE = os.path.join(CORPUS, "hydra-oracle")
SKIPPED_ROOTS = ("/proc", "/sys", "/dev")

SCALARS = """
0 1 -1 +5 017 08 0o17 0x1F 0xG 0b11 0b2 0b_ 0x_ 1_000 1__0 _1 1_ 0_ 1:30 190:20:30 1:60 1:5:07 -1:30 1:30.5
1e3 1E3 1e-3 1e+3 1.5e3 1.5e+3 .5 +.5 -.5 5. 1.e3 1._5 1_.5 .5_ .inf -.inf +.Inf .INF .nan .NaN inf nan 1e5_0 1e400 1e-400
12345678901234567890 -99999999999999999999999 0xffffffffffffffffff 9223372036854775807 9223372036854775808
yes Yes YES no on Off true True TRUE false y n Y N null Null NULL ~ None nil
2020-01-01 2020-1-1 2001-12-14t21:59:43.10-05:00 2020-01-01 12:30 127.0.0.1 = << ??? ${a.b} ${oc.env:X,1} ${ \\${x}
a abc a.b a-b a/b a:b a#b a,b -a -- --- ... ?a :a ::  - ? : @x `x %x !x &x *x |x >x 'x "x [x ]x {x }x x] x} x[ x{
http://h/?x=1 C:\\x é 日本 😀 ١٢ １２ \u00a0 \u2003x x\u200b \ufeffx
""".split(" ")
SCALARS = [word for part in SCALARS for word in part.split("\n")]

QUOTED = ["''", '""', "'a'", '"a"', "'it''s'", '"\\n"', '"\\x41"', '"\\u00e9"', '"\\U0001F600"', '"a\\tb"', "'1'",
          '"yes"', '"\\"q\\""', "'a\n  b'", '"a\n\n  b"', '"a \\\n  b"', '"\\/"', '"\\q"', '"\\ "', '"\\e\\0\\a\\b\\v\\f\\r"',
          '"\\N\\_\\L\\P"', "' a '", '"a', "'a", '"a"b', "'a' 'b'"]
TAGS = ["!!str", "!!int", "!!float", "!!bool", "!!null", "!!binary", "!!seq", "!!map", "!!set", "!!omap", "!!pairs",
        "!!timestamp", "!", "!foo", "!!foo", "!<tag:yaml.org,2002:str>", "!e!x"]
INDENTS = ["", " ", "  ", "    ", "\t"]


def real_texts():
    """Every YAML file of this machine and every text of the Hydra oracle."""
    texts = {}
    with open(f"{ORACLE}/compose_cases.jsonl", encoding="utf-8") as lines:
        for line in lines:
            case = json.loads(line)
            for name, text in case["files"].items():
                if isinstance(text, str):
                    texts.setdefault(text, f"compose {case['name']} {name}")
            if isinstance(case.get("ok"), str):
                texts.setdefault(case["ok"], f"compose {case['name']} result")
    with open(f"{ORACLE}/override_grammar_cases.jsonl", encoding="utf-8") as lines:
        for line in lines:
            text = json.loads(line)["in"]
            value = text.partition("=")[2]
            for form in (text, value, f"a: {value}\n", f"[{value}]"):
                texts.setdefault(form, f"grammar {text}")
    for root, folders, files in os.walk("/"):
        folders[:] = [folder for folder in folders
                      if not os.path.join(root, folder).startswith(SKIPPED_ROOTS)]
        for name in files:
            path = os.path.join(root, name)
            if name.endswith((".yaml", ".yml")) and os.path.isfile(path) and os.path.getsize(path) < 200_000:
                try:
                    with open(path, encoding="utf-8", newline="") as file:
                        texts.setdefault(file.read(), path)
                except (OSError, UnicodeDecodeError):
                    continue
    # Most files of this machine have tags of their own, which all readers refuse; without them
    # the rest of the file is compared too.
    for text, name in list(texts.items()):
        texts.setdefault(re.sub(r"(?<=[\s\[,])!+[A-Za-z_][\w./:-]*", "", text), f"untagged {name}")
    return [(name, text) for text, name in texts.items()]


def random_text(rng, real):
    kind = rng.choice(["tree", "tree", "tree", "soup", "tokens", "tokens", "woven", "woven", "lines", "scalar", "merge"]
                      + ["mutated"] * (2 if real else 0))
    if kind == "tree":
        text = block(rng, 0, rng.randint(1, 4))
    elif kind == "scalar":
        text = rng.choice(["a: {}", "- {}", "{}: 1", "[{}]", "{{a: {}}}", "{}\n", "a:\n  {}\n"]).replace("{}", scalar(rng), 1).replace("{{", "{").replace("}}", "}")
    elif kind == "merge":
        text = merges(rng)
    elif kind == "soup":
        text = "".join(rng.choice(SOUP) for _ in range(rng.randint(1, 14)))
    elif kind == "tokens":
        text = "".join(token(rng) for _ in range(rng.randint(1, 12)))
    elif kind == "woven":
        text = woven(rng, block(rng, 0, rng.randint(0, 2)))
    elif kind == "lines":
        text = "".join(rng.choice(INDENTS[:4]) * rng.randint(0, 2) + rng.choice(LINES) + "\n" for _ in range(rng.randint(1, 6)))
    else:
        text = mutated(rng, rng.choice(real))
    if rng.random() < 0.03:
        text = text.replace("\n", rng.choice(["\r\n", "\r", "\x85", "\u2028", "\u2029"]))
    if rng.random() < 0.1:
        text = text.rstrip("\n")
    if rng.random() < 0.03:
        text = rng.choice(["---\n", "--- ", "\ufeff", "%YAML 1.1\n---\n", "# c\n", "# @package a\n", "\n# @package _global_\n"]) + text
    if rng.random() < 0.03:
        text += rng.choice(["---\n", "...\n", "...", "---\nb: 1\n", "# end", "...\n# x\n"])
    return kind, text


SOUP = ["a", "b", "1", " ", " ", "  ", "\n", "\n", "\n  ", "\n- ", "- ", ": ", ":", ", ", ",", "[", "]", "{", "}", "'", '"', "#", " #c",
        "&x ", "*x", "*x ", "!!str ", "! ", "|", ">", "|-\n", ">+\n", "|2\n", "? ", "?", "\t", "---", "...", "%", "@", "`", "<<: ", "\\", "é", "~", "null"]
LINES = ["a: 1", "b:", "c: d", "- x", "- - y", "- k: v", "? q", ": r", "# note", "", "text", "s: |", "t: >-", "u: 'x", "y'", 'v: "z', 'w"',
         "e: [1,", "2]", "f: {g: 1,", "h: 2}", "i: &n", "j: *n", "k: !!str", "l: >", "more text  ", "\tx", "m: a b", "n: a #c", "o: a#c", "p : 1",
         '"q": 1', "'r': 2", "[s]: 1", "{t: 1}: 2", "u: - v", "- : x", "-", "a:b", "z: {a: 1}", "---", "..."]


# What the scanner tells apart, by the part of it that does.
TOKENS = [
    ["\n", "\n", "\n", "\n ", "\n  ", "\n  ", "\n   ", "\n\n", "\r\n", "\r", "\x85", "\u2028", "\u2029", "\n\t", " \n"],
    [" ", " ", " ", "  ", "\t", "\ufeff", "\xa0"],
    ["a", "b", "ab c", "1", "-1.5", "yes", "~", "é", "日", "x:y", "a#b", "-a", "?a", ":a", "a'b", "a\\b", "k" * 1020, "<<", "="],
    ["a: ", "b: ", "- ", "- ", "? ", ": ", ":", "-", "?", "a:", "'q': ", '"q": ', "[k]: "],
    ["[", "]", "{", "}", ",", ", ", "[a, ", "{a: ", "[]", "{}", "{a:", "[a: ", "{a", "[? ", "a]", "b}"],
    ["'", '"', "''", '""', "'a'", '"b"', "'a ", '"a ', " a'", ' a"'],
    ["\\", '\\"', "\\n", "\\x41", "\\u00e9", "\\U0001F600", "\\ud800", "\\U00110000", "\\x4", "\\\n", "\\ ", "\\\t", "\\/", "\\q", "\\N", "\\L", "\\0"],
    ["&a ", "&b", "*a", "*a ", "*b ", "*a: ", "&a\n", "&-_ ", "&é", "*a,", "&a:"],
    ["!", "! ", "!!str ", "!!int ", "!x ", "!!map ", "!!seq ", "!<tag:yaml.org,2002:str> ", "!<!> ", "!e!str ", "!a%41 ", "!a%C3%A9 ", "!a%C3 ", "!!str,", "!!", "!e!", "!!null\n", "!!binary "],
    ["#", " #", " # c", "# c\n", "#c"],
    ["%YAML 1.1\n", "%YAML 1.2 # c\n", "%YAML 2.0\n", "%YAML 01.1\n", "%YAML\n", "%TAG ! tag:yaml.org,2002:\n", "%TAG !e! tag:yaml.org,2002:\n", "%TAG !! !\n", "%X a b\n", "%", "%é\n", "%TAG !e x\n"],
    ["---", "--- ", "---\n", "...", "...\n", "\n---\n", "\n...\n", "\n--- ", "---\t", "\n---a"],
    ["|", ">", "|\n", ">\n", "|-\n", ">+\n", "|2\n", ">1-\n", "|+3\n", "|0", "| # c\n", "|#c\n", ">\t\n", "|\n  a\n", ">\n a\n\n b\n  c\n", "|-\r\n a\r\n", ">\u2028 a\u2028 b\u2028", "|9\n", "|--"],
    ["@", "`", "\x07", "\x7f", "\ufffe", "😀"],
]
TOKEN_WEIGHTS = [8, 6, 8, 8, 5, 4, 2, 2, 2, 2, 1, 1, 3, 0.3]


def token(rng):
    return rng.choice(rng.choices(TOKENS, TOKEN_WEIGHTS)[0])


def woven(rng, text):
    """A document with a few tokens put in, or put over what was there."""
    for _ in range(rng.randint(1, 3)):
        at = rng.randint(0, len(text))
        text = text[:at] + token(rng) + text[at + rng.choice([0, 0, 1, 2]):]
    return text


# Documents of these are mostly accepted, so that what is around them is compared.
MILD = ["a", "1", "2.5", "true", "null", "some words", "a-b", "x/y", "'q'", '"d"', "'two\n    lines'", '"esc\\n \\\n  aped"', "${x}", "é", "", "two\n    lines"]


def scalar(rng):
    if rng.random() < 0.6:
        return rng.choice(MILD)
    pick = rng.random()
    if pick < 0.55:
        text = rng.choice(SCALARS)
    elif pick < 0.7:
        text = rng.choice(QUOTED)
    elif pick < 0.8:
        text = rng.choice(TAGS) + " " + rng.choice(SCALARS + QUOTED)
    elif pick < 0.9:
        text = "".join(rng.choice("0123456789_.:eE+-xb") for _ in range(rng.randint(1, 7)))
    else:
        text = "".join(rng.choice("ab1 :#-,[]{}'\"&*!|>%@`?\\\té") for _ in range(rng.randint(1, 8)))
    return text


def key(rng):
    return rng.choice([rng.choice("abcdefgh"), rng.choice("abcdefgh") + str(rng.randint(0, 99)), scalar(rng)])


def block(rng, indent, depth):
    pad = " " * indent
    lines = []
    is_list = rng.random() < 0.35
    for _ in range(rng.randint(1, 4)):
        head = pad + ("- " if is_list else key(rng) + rng.choice([": ", ": ", ":  ", " : "]))
        pick = rng.random()
        comment = rng.choice(["", "", "", " # note"])
        if depth > 0 and pick < 0.35:
            anchor = rng.choice(["", "", "", "&a", "&b1", "!!map", "!!seq", "!!omap"])
            lines.append(head.rstrip() + (" " + anchor if anchor else "") + comment + "\n" + block(rng, indent + rng.choice([1, 2, 2, 2, 4]), depth - 1))
        elif pick < 0.5:
            lines.append(head + flow(rng, 2) + comment + "\n")
        elif pick < 0.62:
            lines.append(head + block_scalar(rng, indent))
        elif pick < 0.66:
            lines.append(head + rng.choice(["*a", "*b1", "&a 1", "&b1 [x, y]", "&a {k: 1}"]) + "\n")
        elif pick < 0.7:
            lines.append(head.rstrip() + "\n" + pad + "  several words\n" + pad + "  " + scalar(rng) + "\n")
        else:
            lines.append(head + scalar(rng) + comment + "\n")
        if rng.random() < 0.08:
            lines.append(rng.choice(["\n", pad + "# comment\n", "# comment\n", "   \n"]))
    return "".join(lines)


def block_scalar(rng, indent):
    header = rng.choice("|>") + rng.choice(["", "", "-", "+", "2", "4-", "+1"]) + rng.choice(["", "", " # c", " "])
    pad = " " * (indent + rng.choice([1, 2, 2, 4]))
    lines = [rng.choice([pad + "text", pad + "  more", pad + "a: b # c", "", pad + "- x", pad, pad + "tab\tx", pad + "end  ", pad + "é", pad + "\tx"])
             for _ in range(rng.randint(0, 5))]
    return header + "\n" + "".join(line + "\n" for line in lines)


def flow(rng, depth):
    pick = rng.random()
    gap = rng.choice(["", "", " ", "\n   "])
    if depth > 0 and pick < 0.3:
        return "[" + gap + rng.choice([", ", ", ", ",", " ,\n    "]).join(flow(rng, depth - 1) for _ in range(rng.randint(0, 3))) + rng.choice(["", "", ",", gap]) + "]"
    if depth > 0 and pick < 0.6:
        entry = lambda: key(rng) + rng.choice([": ", ": ", ":", " : ", ""]) + flow(rng, depth - 1)
        return "{" + gap + ", ".join(entry() for _ in range(rng.randint(0, 3))) + rng.choice(["", "", ",", gap]) + "}"
    return scalar(rng)


def merges(rng):
    lines = []
    names = []
    for index in range(rng.randint(2, 5)):
        name = f"m{index}"
        pairs = [f"{rng.choice('xyz')}: {rng.randint(0, 9)}" for _ in range(rng.randint(0, 2))]
        for _ in range(rng.randint(0, 2) if names else 0):
            source = rng.choice([f"*{rng.choice(names)}", "[" + ", ".join(f"*{rng.choice(names)}" for _ in range(rng.randint(0, 3))) + "]", "{x: 5, q: 1}", "1", "[1]", "*" + name])
            pairs.insert(rng.randint(0, len(pairs)), f"<<: {source}")
        nested = "in: " if rng.random() < 0.2 else ""
        body = f"&{name} {{{', '.join(pairs)}}}"
        lines.append(f"k{index}: {{{nested}{body}}}\n" if nested else f"k{index}: {body}\n")
        names.append(name)
    return "".join(lines)


def mutated(rng, text):
    lines = text.splitlines(keepends=True)
    if len(lines) > 30:
        start = rng.randrange(len(lines) - 20)
        lines = lines[start:start + rng.randint(5, 20)]
    text = "".join(lines)
    for _ in range(rng.randint(0, 3)):
        at = rng.randint(0, len(text))
        act = rng.random()
        if act < 0.4:
            text = text[:at] + rng.choice([rng.choice(SOUP), token(rng)]) + text[at:]
        elif act < 0.7:
            text = text[:at] + text[at + rng.randint(1, 3):]
        else:
            other = rng.randint(0, len(text))
            text = text[:at] + text[other:other + 10] + text[at:]
    return text


def random_data(rng, depth=None):
    depth = rng.randint(1, 5) if depth is None else depth
    size = rng.choice([0, 1, 1, 2, 3])
    if rng.random() < 0.4:
        return [random_value(rng, depth - 1) for _ in range(size)]
    return {random_key(rng): random_value(rng, depth - 1) for _ in range(size)}


def random_key(rng):
    pick = rng.random()
    if pick < 0.6:
        return random_string(rng)
    if pick < 0.7:
        return rng.choice("abcdef") * rng.choice([1, 3, 121, 122, 123, 124, 130])
    if pick < 0.8:
        return rng.choice([0, 1, -5, 10**30, 2.5, 1e20, True, False, math.inf, b"bytes", b"", 1.0])
    return rng.choice("abcdefgh")


def random_value(rng, depth):
    if depth > 0 and rng.random() < 0.5:
        return random_data(rng, depth)
    pick = rng.random()
    if pick < 0.6:
        return random_string(rng)
    if pick < 0.7:
        return random_float(rng)
    if pick < 0.8:
        return rng.choice([0, 1, -1, rng.randint(-10**6, 10**6), 2**63 - 1, 2**63, -2**63, -2**63 - 1, 10**40])
    if pick < 0.85:
        return bytes(rng.randrange(256) for _ in range(rng.choice([0, 1, 2, 3, 56, 57, 58, 120])))
    return rng.choice([None, True, False])


def random_float(rng):
    pick = rng.random()
    if pick < 0.3:
        return rng.choice([0.0, -0.0, 1.0, 1e15, 1e16, 1e17, 123456789012345680.0, 1e-4, 1e-5, 1.5e-7, 1e22, 1e300, 5e-324, 1.7976931348623157e308, math.inf, -math.inf, math.nan, 0.1 + 0.2])
    if pick < 0.6:
        return rng.uniform(-1000, 1000)
    value = struct.unpack("d", rng.randbytes(8))[0]
    return math.nan if math.isnan(value) else value


WORDS = ["a", "word", "config", "${x.y}", "it's", '"q"', "#x", "a:", ":b", "-", "--", "x" * 30, "long-word-with-dashes", "é", "日本", "😀", "1", "yes", "'", ",", "path/to/file", "\\", "{", "[1]", "%", "\u2028", "x" * 90, "\u00a0"]
PIECES = list("ab1 :#-?,[]{}'\"&*!|>%@`\\ye.0_+=~<") + [" ", " ", "  ", "\n", "\n", "\n\n", "\t", "\r", "\x00", "\x1b", "\x7f", "\x85", "\xa0", "\u2028", "\u2029", "\ufeff", "\ufffe", "\U0010ffff", "😀", "é", "٣", "\u200b", "\u0301"]


def random_string(rng):
    pick = rng.random()
    if pick < 0.25:
        return rng.choice(SCALARS)
    if pick < 0.5:
        return rng.choice([" ", " ", "  ", "\n"]).join(rng.choice(WORDS) for _ in range(rng.randint(1, 30)))
    if pick < 0.6:
        return " ".join(rng.choice(WORDS[:3]) for _ in range(rng.randint(10, 40)))
    if pick < 0.7:
        return "".join(rng.choice("0123456789_.:eE+-xb Ttz") for _ in range(rng.randint(1, 12)))
    if pick < 0.75:
        return f"{rng.randint(0, 9999):04}-{rng.randint(0, 99):0{rng.randint(1, 2)}}-{rng.randint(0, 99):02}" + rng.choice(["", "T1:02:03", " 01:02:03.5", "t1:02:03Z", "  1:02:03 +1", " 1:02:03-01:30", "T1:2:03", "x"])
    if pick < 0.8:
        return rng.choice(["\t", "é", "\\", "\n"]) + " ".join("".join(rng.choice("abc\t\"é😀") for _ in range(rng.randint(1, 12))) for _ in range(rng.randint(1, 25)))
    return "".join(rng.choice(PIECES) for _ in range(rng.randint(0, 20)))
