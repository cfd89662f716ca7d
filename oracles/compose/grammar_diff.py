"""Compares two grammars on random strings: overrides with hydra-core's, interpolations with OmegaConf's.

    python oracles/compose/grammar_diff.py override|interpolation <override_view or interpolation_view> COUNT SEED

Run with the venv of hydra-core 1.3.8. Strings are made from the part of the grammar that we have, and a third of them
then damaged. Compared: acceptance, and the answer with its types. Of overrides: key, package, value, its text in the
overrides of a job, and the values of a sweep; ranges of floating-point numbers may differ by what binary fractions
lose, as ours count in decimals. An interpolation is a value of a config with a few others; both resolve it.
"""
import itertools
import json
import math
import random
import subprocess
import sys
import warnings

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep, QuotedString, Sweep
from omegaconf import OmegaConf

from typed import typed

WORDS = ["a", "b", "foo", "bar-1", "_x", "true", "False", "TRUE", "null", "NULL", "None", "yes", "inf", "-inf",
         "nan", "-NaN", "infx", "nan-1", "truex", "e5", "n", "l1"]
NUMBERS = ["0", "1", "-1", "+5", "10", "007", "1_000", "1__0", "_1", "1_", "1.", ".5", "1.5", "-0", "-0.0", "0.0", "1e3",
           "1e-5", "1E+20", "1.e2", ".5e1", "1e400", "-1e400", "1e16", "123456789.125", "1e-7", "9223372036854775807",
           "9223372036854775808", "-9223372036854775809", "1" * 30, "1e1_0", "1e", "1e-", "+.5", "++1", "1.2.3", "3.0",
           "0.1", "0.30000000000000004", "2", "3", "4", "7", "-3", "100000000000000000000", "1e20", "1e22", "0x1F"]
CHARS = list("/-\\+.$%*@?|")
ESCAPES = ["\\\\", "\\(", "\\)", "\\[", "\\]", "\\{", "\\}", "\\:", "\\=", "\\,", "\\ ", "\\\t", "\\x"]
INSERTS = list("abnz019_-+.,:;=()[]{}'\"\\ \t\n/$%*@?|~&#!<>eE") + [
    "${", "${x}", "${a:", "${.", "\\${", "\\\\", "}}", "é", "٣", "\u00a0", "''", "inf", "null"]


class Maker:
    """Makes texts of what both grammars have: words, numbers, quoted text, lists and mappings."""

    def __init__(self, rng):
        self.r = rng

    def space(self):
        return self.r.choice(["", "", "", "", "", " ", "\t ", "  "])

    def pick(self, *weighted):
        return self.r.choices([f for _, f in weighted], [w for w, _ in weighted])[0]()

    def sequence(self, item, low=0, high=4):
        separator = self.space() + "," + self.space()
        return separator.join(item() for _ in range(self.r.randint(low, high)))

    def between(self, left, inside, right):
        return left + self.space() + inside + self.space() + right

    def list_(self, depth):
        return self.between("[", self.sequence(lambda: self.element(depth + 1)), "]")

    def mapping(self, depth):
        r = self.r
        key = lambda: self.pick((4, lambda: r.choice(WORDS)), (3, lambda: r.choice(NUMBERS)), (0.2, lambda: self.quoted(depth)),
                                (0.5, lambda: r.choice(CHARS)), (1, lambda: r.choice(WORDS) + " " + r.choice(NUMBERS)),
                                (0.5, lambda: r.choice(ESCAPES[:-1])))
        return self.between("{", self.sequence(lambda: self.between(key(), ":", self.element(depth + 1))), "}")

    def primitive(self, depth):
        r = self.r
        one = lambda: self.pick((4, lambda: r.choice(WORDS)), (4, lambda: r.choice(NUMBERS)), (2, lambda: r.choice(CHARS)),
                                (1.5, lambda: r.choice(ESCAPES[:-1])), (0.7, lambda: self.between("", ":", "")),
                                (1.5, lambda: self.interpolation(depth + 1)))
        mixed = lambda: "".join(one() + (" " if r.random() < 0.2 else "") for _ in range(r.randint(2, 5))).rstrip(" ")
        return self.pick((6, one), (2, lambda: self.quoted(depth)), (2, mixed)) or "a"

    def element(self, depth=0):
        if depth > 3:
            return self.primitive(depth)
        return self.pick((6, lambda: self.primitive(depth)), (1.5, lambda: self.list_(depth)), (1.5, lambda: self.mapping(depth)))

    def damaged(self, text):
        rng = self.r
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            at, action = rng.randint(0, len(text)), rng.random()
            if action < 0.5:
                text = text[:at] + rng.choice(INSERTS) + text[at:]
            elif action < 0.8:
                text = text[:at] + text[at + rng.randint(1, 3):]
            else:
                end = min(len(text), at + rng.randint(1, 6))
                text = text[:end] + text[at:end] + text[end:]
        return text

    def texts(self, count):
        """So many texts: every character of Latin-1 and a few beyond in every place, then made ones, a third damaged."""
        characters = [chr(i) for i in range(256)] + list("\u0130\u0660\u2003\u3000\ufeff\U0001d7d3")
        texts = [place.format(c, c) for c in characters for place in self.PLACES]
        while len(texts) < count:
            texts.append(self.text() if len(texts) % 3 else self.damaged(self.text()))
        return texts


class Overrides(Maker):
    # Where a character may matter.
    PLACES = (
        "{}=1", "a{}=1", "a.{}=1", "a/{}=1", "a@{}=1", "a={}", "a=x{}y", "a={}{}", "a=\\{}", "a='{}'", "a='\\{}'", "a=[{}]",
        "a={{x:{}}}", "a={{{}:x}}", "a=choice({})", "a=x{}", "a=1{}", "a=-{}", "a=${{{}}}",
    )
    OPTIONS = ["a", "aa", "ab", "b", "base", "big-1", "c.d", "x", "y_1", "zz"]
    QUOTED = ["a", " ", "\\\\", "\\", ",", "é", "\n", "${x}", "[", "1", "-2.5", "true", "3", "\\n", "  7 ", "1_0", "a*", "?",
              "[ab]", "[!a]*", "[a-c]"]
    SHOWN = 60

    def __init__(self, rng):
        super().__init__(rng)
        self.parser = OverridesParser.create()

    def get_group_options(self, group_name, results_filter=None):
        return self.OPTIONS

    def question(self, text):
        return {"in": text, "options": self.OPTIONS}

    def quoted(self, _depth=0):
        q = self.r.choice("'\"")
        parts = [*self.QUOTED, "\\" + q, "\"" if q == "'" else "'"]
        return q + "".join(self.r.choice(parts) for _ in range(self.r.choice([0, 1, 1, 1, 2, 3, 4]))) + q

    def interpolation(self, _depth=0):
        rare = ["${}", "${x", "${a:${b}}", "${\n}"]
        return self.r.choice(rare if self.r.random() < 0.1 else ["${a}", "${a.b}", "${oc.env:X,y}", "${ a }", "${'q'}"])

    def key(self):
        r = self.r
        word = lambda: r.choice(["a", "b", "foo", "_x", "a-b", "a1", "hydra"])
        path = lambda: ".".join(r.choice(["a", "b-c", "$x", "0", "10", "1_0", "x$", "_"]) for _ in range(r.randint(1, 3)))
        key = self.pick((6, word), (3, path), (2, lambda: "/".join(word() for _ in range(r.randint(2, 3)))), (0.3, str))
        return key + ("@" + self.pick((3, word), (2, path), (1, str)) if r.random() < 0.15 else "")

    def function(self):
        r = self.r
        name = r.choice(["choice", "range", "range", "glob"])
        pattern = lambda: r.choice(["*", "a*", "?", "b", "*1", "c*"])
        number = r.choice([lambda: str(r.randint(-6, 12)), lambda: str(r.randint(-12, 24) / 4)])
        globbed = [pattern, lambda: "'[!a]*'", lambda: "'[a-c]'", lambda: "[" + self.sequence(pattern, 0, 3) + "]"]
        item, high = {"choice": (lambda: self.element(1), 4), "range": (number, 3), "glob": (r.choice(globbed), 2)}[name]
        body = self.sequence(item, 1, high)
        if name == "range" and r.random() < 0.2:
            body = r.choice(["start=1,stop=", "1,step=2,stop=", "stop=9,start=", "x="]) + item()
        return name + r.choice(["", "", "", " "]) + self.between("(", body, ")")

    def text(self):
        r = self.r
        prefix = r.choices(["", "+", "++", "~", "+++", "~+"], [8, 2, 1, 2, 0.1, 0.1])[0]
        if prefix == "~" and r.random() < 0.4:
            return prefix + self.key()
        value = self.pick((6, self.element), (3, self.function), (1.5, lambda: self.sequence(self.element, 2, 4)), (0.3, str))
        return prefix + self.key() + "=" + self.space() + value + r.choice(["", "", "", "", " "])

    def theirs(self, text):
        try:
            parsed = self.parser.parse_override(text)
            value = parsed._value
            plain(value.list if isinstance(value, ChoiceSweep) else None if isinstance(value, Sweep) else value)
        except RecursionError:
            raise
        except Exception:
            return {"err": True}
        parsed.config_loader = self
        view = {"key": parsed.key_or_group, "package": parsed.package, "key_text": parsed.get_key_element(), "sweep": None}
        if parsed.is_sweep_override():
            try:
                view["sweep"] = list(itertools.islice(parsed.sweep_string_iterator(), self.SHOWN))
            except Exception:
                view["sweep"] = "error"
        else:
            view["value"] = typed(plain(value))
            view["text"] = "null" if parsed.value_type is None else parsed.get_value_element_as_str(space_after_sep=False)
        return view

    @staticmethod
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


def plain(value):
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


class Interpolations(Maker):
    PLACES = (
        "{}", "x{}y", "${{{}}}", "${{a.{}}}", "${{a{}:1}}", "${{show:{}}}", "${{show:\\{}}}", "${{show:'{}'}}", "${{show:{{x:{}}}}}",
        "\\{}${{a}}",
    )
    CONFIG = {"a": "text", "b": 7, "n": None, "t": True, "f": 1.5, "foo": {"a": 1, "b": "x", "n": "a"}, "l": ["p", {"q": 2}],
              "0": "zero", "k": "foo"}
    TEXT = ["a", " ", "\\", "\\\\", "\\\\\\", "$", "\\${", "\\\\\\${x}", "$$", "é", "\n", "{", "}", "'", '"', ":", ".", "x y", "[0]",
            "\\${a}"]
    KEYS = ["a", "b", "foo", "foo.a", "foo.b", "n", "t", "f", "l", "l.0", "l.1.q", "k", "0", "a-b", "$x", "é", "a,b", "#", "x\ny",
            "_", "a/b", "1.5"]
    RESOLVERS = ["show"] * 6 + ["oc.select", "oc.decode", "oc.create", "oc.dict.keys", "oc.dict.values", "oc.env", "foo.oc", "_x"]

    def __init__(self, rng):
        super().__init__(rng)
        OmegaConf.register_new_resolver("show", lambda *arguments: "|".join(map(repr, arguments)))

    def question(self, text):
        return {"config": json.dumps({**self.CONFIG, "x": text})}

    def name(self, depth, names):
        return self.interpolation(depth + 1) if depth < 3 and self.r.random() < 0.12 else self.r.choice(names)

    def interpolation(self, depth=0):
        r = self.r
        if depth > 3 or r.random() < 0.5:
            out = "." * r.choice([0, 0, 0, 1, 2, 3])
            for i in range(r.choice([1, 1, 2, 3])):
                key = self.name(depth, self.KEYS)
                out += f"[{key}]" if r.random() < 0.25 else ("." if i else "") + key
            return self.between("${", out, "}")
        arguments = self.sequence(lambda: "" if r.random() < 0.06 else self.element(depth + 1), 0, 3)
        return self.between("${", self.between(self.name(depth, self.RESOLVERS), ":", arguments), "}")

    def quoted(self, depth=0):
        r = self.r
        q = r.choice("'\"")
        parts = [lambda: r.choice(self.TEXT).replace(q, "\\" + q)] * 5
        parts += [lambda: "\\" + q, lambda: "\\\\\\" + q, lambda: self.interpolation(depth + 1) if depth < 3 else "w"]
        inner = "".join(r.choice(parts)() for _ in range(r.choice([0, 1, 1, 2, 3, 4])))
        return q + inner + ("\\" if (len(inner) - len(inner.rstrip("\\"))) % 2 else "") + q

    def text(self):
        r = self.r
        path = lambda: r.choice(["a", "b", ".", "..", "[", "]", "[0]", "[a.b]", "\n", "é", "[]"])
        part = lambda: r.choice(self.TEXT) if r.random() < 0.6 else self.interpolation()
        return self.pick((3, self.interpolation), (2.5, lambda: self.element() + r.choice(["", "", "", " "])),
                         (1, lambda: "".join(path() for _ in range(r.randint(0, 8)))),
                         (3.5, lambda: "".join(part() for _ in range(r.randint(1, 5)))))

    def theirs(self, text):
        try:
            config = OmegaConf.create({**self.CONFIG, "x": text})
            OmegaConf.resolve(config)
            return {"ok": typed(OmegaConf.to_container(config)["x"])}
        except Exception:
            return {"err": True}

    @staticmethod
    def same(want, got):
        # A mapping of arguments cannot have null as a key here.
        return want.get("ok") == got.get("ok") or "resolves to null" in got.get("err", "")


def answers(binary, questions):
    """What our program says to each question, a JSON line each."""
    feed = "".join(json.dumps(question) + "\n" for question in questions)
    ran = subprocess.run([binary], input=feed, capture_output=True, encoding="utf-8", check=True)
    lines = [json.loads(line) for line in ran.stdout.split("\n")[:-1]]
    assert len(lines) == len(questions), (len(lines), len(questions))
    return lines


def main():
    kind, binary, count, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
    warnings.simplefilter("ignore")
    print(f"seed {seed}, {count} strings")
    maker = {"override": Overrides, "interpolation": Interpolations}[kind](random.Random(int(seed)))
    texts = maker.texts(count)
    differing = accepted = 0
    for text, got in zip(texts, answers(binary, [maker.question(text) for text in texts])):
        want = maker.theirs(text)
        accepted += "err" not in want
        if not maker.same(want, got):
            differing += 1
            if differing <= 25:
                print("DIFFERENT", json.dumps(text), "\n  theirs", json.dumps(want), "\n  ours  ", json.dumps(got))
    print(f"{len(texts)} strings, {accepted} accepted, {differing} differences")
    sys.exit(differing > 0)


main()
