"""Holds our override grammar against hydra-core's, on random strings.

Run with a Python that has hydra-core 1.3.8:
    python oracles/compose/override_diff.py <path of the override_view example> [count] [seed]

Strings are made from the part of the grammar that we have, and a third of them then damaged. Compared: acceptance, key,
package, the value with its types, its text in the overrides of a job, and the values of a sweep. Ranges of
floating-point numbers may differ by what binary fractions lose: ours count in decimals.
"""
import itertools
import json
import math
import random
import sys
import time
import warnings

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep, QuotedString, Sweep

from texts import answers, drawn, typed

warnings.simplefilter("ignore")
SHOWN = 60
OPTIONS = ["a", "aa", "ab", "b", "base", "big-1", "c.d", "x", "y_1", "zz"]


class Loader:
    def get_group_options(self, group_name, results_filter=None):
        return OPTIONS


# --- strings ---------------------------------------------------------------------------------------
WORDS = ["a", "b", "foo", "bar-1", "_x", "true", "False", "TRUE", "null", "NULL", "None", "yes", "inf", "-inf",
         "nan", "-NaN", "infx", "nan-1", "truex", "e5", "x" * 5]
NUMBERS = ["0", "1", "-1", "+5", "10", "007", "1_000", "1__0", "_1", "1_", "1.", ".5", "1.5", "-0", "-0.0", "0.0", "1e3",
           "1e-5", "1E+20", "1.e2", ".5e1", "1e400", "-1e400", "1e16", "123456789.125", "1e-7", "9223372036854775807",
           "9223372036854775808", "-9223372036854775809", "1" * 30, "1e1_0", "1e", "1e-", "+.5", "++1", "1.2.3", "3.0",
           "0.1", "0.30000000000000004", "2", "3", "4", "7", "-3", "100000000000000000000", "1e20", "1e22", "0x1F"]
CHARS = list("/-\\+.$%*@?|")
ESCAPES = ["\\\\", "\\(", "\\)", "\\[", "\\]", "\\{", "\\}", "\\:", "\\=", "\\,", "\\ ", "\\\t", "\\x"]
INSERTS = list("abz019_-+.,:;=()[]{}'\"\\ \t\n/$%*@?|~&#!<>eE") + ["${", "${x}", "é", "٣", "\u00a0", "''", "]", "inf", "null"]


class Maker:
    def __init__(self, rng):
        self.r = rng

    def space(self):
        return self.r.choice(["", "", "", "", "", " ", "\t ", "  "])

    def pick(self, *weighted):
        return self.r.choices([f for _, f in weighted], [w for w, _ in weighted])[0]()

    def key(self):
        r = self.r
        word = lambda: r.choice(["a", "b", "foo", "_x", "a-b", "a1", "hydra"])
        path = lambda: ".".join(r.choice(["a", "b-c", "$x", "0", "10", "1_0", "x$", "_"]) for _ in range(r.randint(1, 3)))
        key = self.pick((6, word), (3, path), (2, lambda: "/".join(word() for _ in range(r.randint(2, 3)))), (0.3, str))
        if r.random() < 0.15:
            key += "@" + self.pick((3, word), (2, path), (1, str))
        return key

    def quoted(self):
        r = self.r
        q = r.choice("'\"")
        other = "\"" if q == "'" else "'"
        parts = ["a", " ", "\\" + q, "\\\\", "\\", other, ",", "é", "\n", "${x}", "[", "1", "-2.5", "true", "3", "\\n", "  7 ", "1_0", "a*", "?", "[ab]", "[!a]*", "[a-c]"]
        inner = "".join(r.choice(parts) for _ in range(r.choice([0, 1, 1, 1, 2, 3, 4])))
        return q + inner + q

    def primitive(self):
        r = self.r
        def mixed():
            out = ""
            for _ in range(r.randint(2, 5)):
                out += self.pick((3, lambda: r.choice(WORDS)), (3, lambda: r.choice(NUMBERS)), (2, lambda: r.choice(CHARS)),
                                 (1, lambda: r.choice(ESCAPES)), (1, lambda: " "), (0.7, lambda: self.space() + ":" + self.space()),
                                 (0.7, self.interpolation))
            return out
        return self.pick((4, lambda: r.choice(WORDS)), (5, lambda: r.choice(NUMBERS)), (2, self.quoted), (1, lambda: r.choice(CHARS)),
                         (1, lambda: "".join(r.choice(ESCAPES[:-1]) for _ in range(r.randint(1, 3)))), (1, self.interpolation), (2, mixed))

    def interpolation(self):
        rare = ["${}", "${x", "${a:${b}}", "${\n}"]
        return self.r.choice(rare if self.r.random() < 0.1 else ["${a}", "${a.b}", "${oc.env:X,y}", "${ a }", "${'q'}"])

    def sequence(self, item, low=0, high=4):
        n = self.r.randint(low, high)
        out = ""
        for i in range(n):
            out += (self.space() + "," + self.space() if i else "") + item()
        return out

    def list_(self, depth):
        return "[" + self.space() + self.sequence(lambda: self.element(depth + 1)) + self.space() + "]"

    def dict_(self, depth):
        r = self.r
        key = lambda: self.pick((4, lambda: r.choice(WORDS)), (3, lambda: r.choice(NUMBERS)), (0.3, self.quoted), (0.5, lambda: r.choice(CHARS)),
                                (1, lambda: r.choice(WORDS) + " " + r.choice(NUMBERS)), (0.5, lambda: r.choice(ESCAPES)))
        pair = lambda: key() + self.space() + ":" + self.space() + self.element(depth + 1)
        return "{" + self.space() + self.sequence(pair) + self.space() + "}"

    def function(self):
        r = self.r
        name = r.choice(["choice", "range", "range", "glob"])
        if name == "choice":
            item, low, high = lambda: self.element(1), 1, 4
        elif name == "range":
            numbers = r.choice([lambda: str(r.randint(-6, 12)), lambda: str(r.randint(-12, 24) / 4)])
            item, low, high = numbers, 1, 3
        else:
            pattern = lambda: r.choice(["*", "a*", "?", "b", "*1", "c*"])
            item, low, high = (r.choice([pattern, lambda: "'[!a]*'", lambda: "'[a-c]'", lambda: "[" + self.sequence(pattern, 0, 3) + "]"]), 1, 2)
        body = self.sequence(item, low, high)
        if name == "range" and r.random() < 0.2:
            body = r.choice(["start=1,stop=", "1,step=2,stop=", "stop=9,start=", "x="]) + item()
        return name + r.choice(["", "", "", " "]) + "(" + self.space() + body + self.space() + ")"

    def element(self, depth=0):
        if depth > 3:
            return self.primitive()
        return self.pick((6, self.primitive), (1.5, lambda: self.list_(depth)), (1.5, lambda: self.dict_(depth)))

    def value(self):
        return self.pick((6, self.element), (3, self.function), (1.5, lambda: self.sequence(self.element, 2, 4)), (0.3, str))

    def override(self):
        r = self.r
        prefix = r.choices(["", "+", "++", "~", "+++", "~+"], [8, 2, 1, 2, 0.1, 0.1])[0]
        key = self.key()
        if prefix == "~" and r.random() < 0.4:
            return prefix + key
        return prefix + key + "=" + self.space() + self.value() + r.choice(["", "", "", "", " "])


# Where a character may matter.
PLACES = (
    "{}=1", "a{}=1", "a.{}=1", "a/{}=1", "a@{}=1", "a={}", "a=x{}y", "a={}{}", "a=\\{}", "a='{}'", "a='\\{}'", "a=[{}]",
    "a={{x:{}}}", "a={{{}:x}}", "a=choice({})", "a=x{}", "a=1{}", "a=-{}", "a=${{{}}}",
)


# --- what hydra says -------------------------------------------------------------------------------
def plain(value):
    """The value without quotes, as a config holds it."""
    if isinstance(value, QuotedString):
        return value.text
    if isinstance(value, Sweep):
        raise ValueError("a sweep inside something else")
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        if None in value:
            raise ValueError("null as a key")
        return {plain(key): plain(item) for key, item in value.items()}
    return value


def oracle(parser, text):
    try:
        parsed = parser.parse_override(text)
        value = parsed._value
        plain(value.list if isinstance(value, ChoiceSweep) else None if isinstance(value, Sweep) else value)
    except RecursionError:
        raise
    except Exception:
        return {"err": True}
    parsed.config_loader = Loader()
    view = {"key": parsed.key_or_group, "package": parsed.package, "key_text": parsed.get_key_element(), "sweep": None}
    if parsed.is_sweep_override():
        try:
            view["sweep"] = list(itertools.islice(parsed.sweep_string_iterator(), SHOWN))
        except Exception:
            view["sweep"] = "error"
    else:
        view["value"] = typed(plain(value))
        view["text"] = "null" if parsed.value_type is None else parsed.get_value_element_as_str(space_after_sep=False)
    return view


def same(want, got):
    if "null cannot be a key" in got.get("err", ""):
        # In a value that a later one replaces, too.
        return True
    if "err" in want or "err" in got:
        # What ours refuses while it reads, Hydra may refuse when the sweep is listed.
        return ("err" in want or want["sweep"] == "error") == ("err" in got or got["sweep"] == "error")
    if want == got:
        return True
    try:
        left, right = [float(text) for text in want["sweep"]], [float(text) for text in got["sweep"]]
    except (TypeError, ValueError):
        return False
    close = all(math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9) for a, b in zip(left, right))
    return close and abs(len(left) - len(right)) <= 1 and any("." in text for text in want["sweep"])


def main():
    binary, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 50_000
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else int(time.time())
    print(f"seed {seed}, {count} strings")
    rng = random.Random(seed)
    texts = drawn(rng, count, PLACES, Maker(rng).override, INSERTS)
    parser = OverridesParser.create()
    differences = accepted = 0
    for text, got in zip(texts, answers(binary, [{"in": text, "options": OPTIONS} for text in texts])):
        want = oracle(parser, text)
        accepted += "err" not in want
        if not same(want, got):
            differences += 1
            if differences <= 25:
                print("DIFFERENT", json.dumps(text), "\n  hydra", json.dumps(want), "\n  ours ", json.dumps(got))
    print(f"{len(texts)} strings, {accepted} accepted, {differences} differences")
    sys.exit(differences > 0)


main()
