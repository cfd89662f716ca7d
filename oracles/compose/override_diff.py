"""Holds our override grammar against hydra-core's, on random strings.

Run with a Python that has hydra-core 1.3.8:
    python oracles/compose/override_diff.py <path of the override_view example> [count] [seed]

Strings are made from the grammar, and a third of them then damaged. Compared: acceptance, kind, key,
package, the parsed value with its types and quotes, both serialised forms, and the values of a sweep.
"""
import itertools
import json
import random
import sys
import time
import warnings

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep, Glob, IntervalSweep, QuotedString, RangeSweep

from texts import answers, drawn

warnings.simplefilter("ignore")
SHOWN = 60
OPTIONS = ["a", "aa", "ab", "b", "base", "big-1", "c.d", "x", "y_1", "zz"]


class Loader:
    def get_group_options(self, group_name, results_filter=None):
        return OPTIONS


# --- strings ---------------------------------------------------------------------------------------
WORDS = ["a", "b", "foo", "bar-1", "_x", "true", "False", "TRUE", "null", "NULL", "None", "yes", "inf", "-inf",
         "nan", "-NaN", "infx", "nan-1", "truex", "choice", "int", "e5", "x" * 5]
NUMBERS = ["0", "1", "-1", "+5", "10", "007", "1_000", "1__0", "_1", "1_", "1.", ".5", "1.5", "-0", "-0.0", "0.0", "1e3",
           "1e-5", "1E+20", "1.e2", ".5e1", "1e400", "-1e400", "1e16", "123456789.125", "1e-7", "9223372036854775807",
           "9223372036854775808", "-9223372036854775809", "1" * 30, "1e1_0", "1e", "1e-", "+.5", "++1", "1.2.3", "3.0",
           "0.1", "0.30000000000000004", "2", "3", "4", "7", "-3", "100000000000000000000", "1e20", "1e22", "0x1F"]
CHARS = list("/-\\+.$%*@?|")
ESCAPES = ["\\\\", "\\(", "\\)", "\\[", "\\]", "\\{", "\\}", "\\:", "\\=", "\\,", "\\ ", "\\\t", "\\x"]
INSERTS = list("abz019_-+.,:;=()[]{}'\"\\ \t\n/$%*@?|~&#!<>eE") + ["${", "${x}", "é", "٣", "\u00a0", "''", "choice(", "]", "inf", "null"]
FUNCTIONS = ["int", "float", "str", "bool", "choice", "range", "interval", "glob", "sort", "shuffle", "tag"]
NAMES = ["value", "start", "stop", "step", "end", "sweep", "list", "reverse", "include", "exclude", "x"]


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

    def function(self, depth):
        r = self.r
        name = r.choice(FUNCTIONS + ["range", "range", "choice", "sort", "shuffle"]) if r.random() < 0.96 else r.choice(["foo", "true", "json_str", "ints"])
        number = lambda: r.choice(NUMBERS) if r.random() < 0.5 else str(r.randint(-6, 12)) if r.random() < 0.6 else str(round(r.uniform(-2, 4), r.randint(1, 3)))
        def argument():
            return self.pick((3, number), (4, lambda: self.element(depth + 1)), (1, lambda: r.choice(WORDS)))
        if name in ("range", "interval") and r.random() < 0.85:
            whole = lambda: str(r.randint(-6, 12))
            item, low, high = r.choice([number, whole]), 1 if name == "range" else 2, 3 if name == "range" else 2
        elif name in ("sort", "shuffle", "choice", "int", "float", "bool", "str") and r.random() < 0.5:
            kind = r.choice([number, lambda: r.choice(WORDS), self.quoted, lambda: "[" + self.sequence(number, 0, 6) + "]",
                             lambda: self.function(depth + 1) if depth < 3 else "1"])
            item, low, high = kind, 1, r.choice([1, 1, 3, 8])
        elif name == "glob":
            pattern = lambda: r.choice(["*", "a*", "?", "[ab]*", "'[!a]*'", "'[a-c]'", "*1", "b", "'c.d'", "'*'", "1", "null"])
            item, low, high = (pattern if r.random() < 0.6 else lambda: "[" + self.sequence(pattern, 0, 3) + "]"), 1, 2
        else:
            item, low, high = argument, 0, 3
        def named():
            value = item()
            if r.random() < 0.04:
                return r.choice(NAMES) + self.space() + "=" + self.space() + value
            return value
        body = self.sequence(named, low, high)
        if r.random() < 0.15:
            extra = r.choice(["reverse=true", "reverse=false", "reverse=1", "exclude=a*", "exclude=[a,b]", "step=2", "stop=9", "list=[2,1]", "sweep=choice(b,a)",
                              "sweep=range(5,1,-2)", "value=[1,2.5]", "list=null", "value=null"])
            body += ("," if body else "") + extra
        if name == "tag" and r.random() < 0.8:
            body = ",".join(r.choice(["t1", "'t 2'", "t3", "1"]) for _ in range(r.randint(0, 2)))
            body += ("," if body else "") + self.function(depth + 1) if depth < 4 else ""
        return name + r.choice(["", "", "", " "]) + "(" + self.space() + body + self.space() + ")"

    def element(self, depth=0):
        if depth > 3:
            return self.primitive()
        return self.pick((6, self.primitive), (1.5, lambda: self.list_(depth)), (1.5, lambda: self.dict_(depth)), (1.5, lambda: self.function(depth)))

    def value(self):
        return self.pick((6, self.element), (4, lambda: self.function(0)), (1.5, lambda: self.sequence(self.element, 2, 4)), (0.3, str))

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
    "a={{x:{}}}", "a={{{}:x}}", "a=int('{}5')", "a=int('5{}')", "a=float(\"{}1.5\")", "a=int({})", "a=x{}", "a=1{}", "a=-{}", "a=${{{}}}",
)


# --- what hydra says -------------------------------------------------------------------------------
def raw(v):
    if v is None or isinstance(v, (bool, str)):
        return v
    if isinstance(v, int):
        return {"$int": str(v)}
    if isinstance(v, float):
        return {"$float": repr(v)}
    if isinstance(v, QuotedString):
        return {"$q": ["'" if v.quote.name == "single" else '"', v.text]}
    if isinstance(v, list):
        return [raw(x) for x in v]
    if isinstance(v, dict):
        return {"$map": [[raw(a), raw(b)] for a, b in v.items()]}
    number = lambda n: raw(int(n)) if isinstance(n, bool) else raw(n)
    if isinstance(v, ChoiceSweep):
        return {"$choice": {"items": raw(v.list), "simple": v.simple_form, "shuffle": v.shuffle, "tags": sorted(v.tags)}}
    if isinstance(v, RangeSweep):
        return {"$range": {"start": number(v.start), "stop": number(v.stop), "step": number(v.step), "shuffle": v.shuffle, "tags": sorted(v.tags)}}
    if isinstance(v, IntervalSweep):
        return {"$interval": {"start": number(v.start), "end": number(v.end), "tags": sorted(v.tags)}}
    if isinstance(v, Glob):
        return {"$glob": {"include": raw(v.include), "exclude": raw(v.exclude)}}
    raise AssertionError(type(v))


def has_glob(v):
    if isinstance(v, list):
        return any(map(has_glob, v))
    if isinstance(v, dict):
        return any(map(has_glob, v.values()))
    return isinstance(v, Glob)


def text_of(parsed, spaced):
    if has_glob(parsed._value):  # hydra writes the fields of a glob as a mapping; we refuse
        return None
    try:
        return parsed.get_value_element_as_str(space_after_sep=spaced)
    except Exception:
        return None


def too_long_to_shuffle(v):
    if not (isinstance(v, RangeSweep) and v.shuffle and v.step):
        return False
    try:
        return abs((v.stop - v.start) / v.step) > 5000 or v.stop in (float("inf"), float("-inf"))
    except Exception:
        return False


def swept(parsed, seed):
    if too_long_to_shuffle(parsed._value):
        return "long"
    random.seed(seed)
    try:
        values = parsed._value.list if isinstance(parsed._value, ChoiceSweep) else []
        if any(has_glob(x) for x in values):
            return "error"
        return list(itertools.islice(parsed.sweep_string_iterator(), SHOWN))
    except Exception:
        return "error"


def oracle(parser, text, seed):
    random.seed(seed)
    try:
        parsed = parser.parse_override(text)
    except RecursionError:
        raise
    except Exception:
        return {"err": True}
    parsed.config_loader = Loader()
    view = {"type": parsed.type.name, "key": parsed.key_or_group, "package": parsed.package,
            "value_type": parsed.value_type.name if parsed.value_type else None, "key_text": parsed.get_key_element()}
    if parsed.value_type is None:
        return view
    view["raw"] = raw(parsed._value)
    if parsed.is_sweep_override():
        view["sweep"] = swept(parsed, seed)
    else:
        view["value_str"] = text_of(parsed, False)
        view["value_spaced"] = text_of(parsed, True)
    return view


def same(want, got):
    if "err" in want or "err" in got:
        return ("err" in want) == ("err" in got)
    if got.get("sweep") == "endless" or want.get("sweep") == "long":
        # ours refuses what hydra counts for ever; a shuffled one hydra would have to hold whole
        endless = want["sweep"] == "long" or len(want["sweep"]) == SHOWN
        return endless and {**want, "sweep": 0} == {**got, "sweep": 0}
    return want == got


def main():
    binary, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 50_000
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else int(time.time())
    print(f"seed {seed}, {count} strings")
    rng = random.Random(seed)
    texts = drawn(rng, count, PLACES, Maker(rng).override, INSERTS)
    cases = [{"in": t, "seed": i % 1000, "options": OPTIONS} for i, t in enumerate(texts)]
    count = len(cases)
    parser = OverridesParser.create()
    differences = accepted = 0
    kinds = {}
    for case, got in zip(cases, answers(binary, cases)):
        want = oracle(parser, case["in"], case["seed"])
        accepted += "err" not in want
        kinds[want.get("value_type", "error")] = kinds.get(want.get("value_type", "error"), 0) + 1
        if not same(want, got):
            differences += 1
            if differences <= 25:
                print("DIFFERENT", json.dumps(case["in"]), "\n  hydra", json.dumps(want), "\n  ours ", json.dumps(got))
    print(f"{count} strings, {accepted} accepted, {differences} differences; {kinds}")
    sys.exit(differences > 0)


main()
