"""Holds our interpolations against OmegaConf's, on random strings.

Run with a Python that has omegaconf 2.3:
    python oracles/compose/interpolation_diff.py <path of the interpolation_view example> [count] [seed]

Each string is a value of a config with a few others. Both resolve it. Compared: acceptance, and the answer with its types.
"""
import json
import random
import sys
import time
import warnings

from omegaconf import OmegaConf

from texts import answers, drawn, typed

warnings.simplefilter("ignore")
OmegaConf.register_new_resolver("show", lambda *arguments: "|".join(map(repr, arguments)))
CONFIG = {"a": "text", "b": 7, "n": None, "t": True, "f": 1.5, "foo": {"a": 1, "b": "x", "n": "a"}, "l": ["p", {"q": 2}], "0": "zero", "k": "foo"}

# --- strings ---------------------------------------------------------------------------------------
WORDS = ["a", "b", "foo", "bar-1", "_x", "true", "False", "null", "NULL", "inf", "-inf", "nan", "infx", "nan-1", "n", "l1"]
NUMBERS = ["0", "1", "-1", "+5", "007", "1_000", "1__0", "1.", ".5", "-0", "-0.0", "1e3", "1e-5", "1.e2", "1e400", "1e16",
           "9223372036854775808", "1" * 30, "1e1_0", "1e", "1.2.3", "1.0"]
CHARS = list("/-\\+.$%*@?|")
ESCAPES = ["\\\\", "\\(", "\\)", "\\[", "\\]", "\\{", "\\}", "\\:", "\\=", "\\,", "\\ ", "\\\t", "\\x", "\\'"]
TEXT = ["a", " ", "\\", "\\\\", "\\\\\\", "$", "\\${", "\\\\\\${x}", "$$", "é", "\n", "{", "}", "'", '"', ":", ".", "x y", "[0]", "\\${a}"]
INSERTS = list("abn019_-+.,:;=()[]{}'\"\\ \t\n/$%*@?|~&#!<>e") + ["${", "${x}", "é", "''", "\\${", "\\\\", "}}", "${a:", "${.", "[", "]"]
KEYS = ["a", "b", "foo", "foo.a", "foo.b", "n", "t", "f", "l", "l.0", "l.1.q", "k", "0", "a-b", "$x", "é", "a,b", "#", "x\ny", "_", "a/b", "1.5"]


class Maker:
    def __init__(self, rng):
        self.r = rng

    def space(self):
        return self.r.choice(["", "", "", "", " ", "\t", "  "])

    def pick(self, *weighted):
        return self.r.choices([f for _, f in weighted], [w for w, _ in weighted])[0]()

    def name(self, depth):
        return self.interpolation(depth + 1) if depth < 3 and self.r.random() < 0.12 else self.r.choice(KEYS)

    def node(self, depth):
        r = self.r
        out = "." * r.choice([0, 0, 0, 1, 2, 3])
        for i in range(r.choice([1, 1, 2, 3])):
            key = self.name(depth)
            out += f"[{key}]" if r.random() < 0.25 else ("." if i else "") + key
        return "${" + self.space() + out + self.space() + "}"

    def resolver(self, depth):
        r = self.r
        word = lambda: self.interpolation(depth + 1) if depth < 3 and r.random() < 0.08 else r.choice(["oc", "show", "foo", "_x"])
        name = r.choice(["show"] * 6 + ["oc.select", "oc.decode", "oc.create", "oc.dict.keys", "oc.dict.values", "oc.env", ".".join(word() for _ in range(2))])
        return "${" + self.space() + name + self.space() + ":" + self.space() + self.sequence(depth + 1) + self.space() + "}"

    def interpolation(self, depth=0):
        return self.node(depth) if depth > 3 or self.r.random() < 0.5 else self.resolver(depth)

    def sequence(self, depth):
        r = self.r
        items = ["" if r.random() < 0.06 else self.element(depth) for _ in range(r.choice([0, 1, 1, 2, 3]))]
        out = ""
        for i, item in enumerate(items):
            out += (self.space() + "," + self.space() if i else "") + item
        return out

    def element(self, depth):
        if depth > 3:
            return self.primitive(depth)
        return self.pick((6, lambda: self.primitive(depth)), (2, lambda: self.quoted(depth)), (1.2, lambda: "[" + self.space() + self.sequence(depth + 1) + self.space() + "]"),
                         (1.2, lambda: self.mapping(depth)))

    def mapping(self, depth):
        r = self.r
        key = lambda: self.pick((4, lambda: r.choice(WORDS)), (3, lambda: r.choice(NUMBERS)), (0.1, lambda: self.quoted(depth)), (0.4, lambda: r.choice(CHARS)),
                                (1, lambda: r.choice(WORDS) + " " + r.choice(NUMBERS)), (0.5, lambda: r.choice(ESCAPES[:12])))
        pairs = [key() + self.space() + ":" + self.space() + self.element(depth + 1) for _ in range(r.choice([0, 1, 2, 3]))]
        return "{" + self.space() + (self.space() + "," + self.space()).join(pairs) + self.space() + "}"

    def primitive(self, depth):
        r = self.r
        one = lambda: self.pick((4, lambda: r.choice(WORDS)), (4, lambda: r.choice(NUMBERS)), (2, lambda: r.choice(CHARS)), (1.5, lambda: r.choice(ESCAPES[:12])),
                                (1, lambda: ":"), (2, lambda: self.interpolation(depth + 1) if depth < 3 else "z"))
        return one() if r.random() < 0.5 else "".join(one() + (" " if r.random() < 0.2 else "") for _ in range(r.randint(1, 4))).rstrip(" ") or "a"

    def quoted(self, depth):
        r = self.r
        q = r.choice("'\"")
        parts = [lambda: r.choice(TEXT).replace(q, "\\" + q)] * 5 + [lambda: "\\" + q, lambda: "\\\\\\" + q, lambda: self.interpolation(depth + 1) if depth < 3 else "w"]
        inner = "".join(r.choice(parts)() for _ in range(r.choice([0, 1, 1, 2, 3, 4])))
        if (len(inner) - len(inner.rstrip("\\"))) % 2:
            inner += "\\"
        return q + inner + q

    def text(self):
        r = self.r
        mode = r.random()
        if mode < 0.3:
            return self.interpolation()
        if mode < 0.55:
            return self.element(0) + r.choice(["", "", "", " "])
        if mode < 0.65:
            return "".join(r.choice(["a", "b", ".", "..", "[", "]", "[0]", "[a.b]", "\n", "é", "[]"]) for _ in range(r.randint(0, 8)))
        return "".join(r.choice(TEXT) if r.random() < 0.6 else self.interpolation() for _ in range(r.randint(1, 5)))


# Where a character may matter.
PLACES = (
    "{}", "x{}y", "${{{}}}", "${{a.{}}}", "${{a{}:1}}", "${{show:{}}}", "${{show:\\{}}}", "${{show:'{}'}}", "${{show:{{x:{}}}}}", "\\{}${{a}}",
)


def answer(text):
    """What OmegaConf resolves the text to."""
    try:
        config = OmegaConf.create({**CONFIG, "x": text})
        OmegaConf.resolve(config)
        return {"ok": typed(OmegaConf.to_container(config)["x"])}
    except Exception:
        return {"err": True}


def main():
    binary, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 50_000
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else int(time.time())
    print(f"seed {seed}, {count} strings")
    rng = random.Random(seed)
    texts = drawn(rng, count, PLACES, Maker(rng).text, INSERTS)
    differences = resolved = 0
    questions = [{"config": json.dumps({**CONFIG, "x": text})} for text in texts]
    for text, got in zip(texts, answers(binary, questions)):
        want = answer(text)
        resolved += "ok" in want
        # A mapping of arguments cannot have null as a key here.
        if want.get("ok") != got.get("ok") and "resolves to null" not in got.get("err", ""):
            differences += 1
            if differences <= 25:
                print("DIFFERENT", json.dumps(text), "\n  omegaconf", json.dumps(want), "\n  ours     ", json.dumps(got))
    print(f"{len(texts)} strings, {resolved} resolved, {differences} differences")
    sys.exit(differences > 0)


main()
