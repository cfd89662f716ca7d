"""Every number of the case studies, from the command that the page shows beside it.

A table belongs to the block of shell above it. Its last column says where each number is: a path in the JSON
document of a `rooflens` command (`--format json` is added), or a word on the line of what another command prints.
Blocks of text that follow `<!-- output: … -->` are what that command prints.
"""

import ast
import json
import operator
import os
import re
import subprocess
from pathlib import Path

import doc_pages
from oracle import REPOSITORY, main

PAGE = REPOSITORY / "docs/case-study-deepseek-ocr.md"
GRAPHS = REPOSITORY / "docs/case-study-b200-prefill.md"
# The variables of each page's commands, in the corpus.
PLACES = {
    PAGE: {"REPORT": "llm-perf-opt/reports/20251107-dsocr", "CONFIG": "configs/deepseek-ai--DeepSeek-OCR.derived.json"},
    GRAPHS: {"TRACES": "kineto/tracelens", "GPT_OSS_120B": "configs/openai--gpt-oss-120b.json",
             "GPT_OSS_20B": "configs/openai--gpt-oss-20b.json"},
}
OUTPUT = "output: "
WHERE_IN_JSON = "in `--format json`"
WHERE_IN_TEXT = "in the output"
SECTIONS = ["Kernels", "Serving", "Model design", "What this data cannot say"]

UNITS = {
    "ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "%": 0.01, "B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9,
    "GB/s": 1e9, "TB/s": 1e12, "GFLOP": 1e9, "TFLOP/s": 1e12, "FLOP/B": 1, "times": 1, "": 1,
}
OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}
PATH = re.compile(r"\b(?!v\d)[a-z_]+(?:\.[a-z_0-9]+|\[[^\]]+\])*")
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")


def quoted(shown: str) -> tuple[float, float]:
    """A number as the page has it, in base units, and half a step of its last digit."""
    number = NUMBER.search(shown)
    if number is None:
        raise ValueError(f"{shown!r} has no number")
    unit = shown[number.end():].strip()
    if unit not in UNITS:
        raise ValueError(f"{shown!r} has the unknown unit {unit!r}")
    digits = number[0].replace(",", "")
    behind = len(digits.partition(".")[2])
    return float(digits) * UNITS[unit], 0.5 * 10**-behind * UNITS[unit]


def factor(path: str) -> float:
    """What turns a number at this path into base units."""
    names = re.findall(r"[a-z_0-9]+", re.sub(r"\[[^\]]*\]", ".", path))
    if names[-1].endswith("_pct"):
        return 0.01
    # A range has its unit in its own name: `gain_ns.low`.
    return 1e-9 if any(name == "ns" or name.endswith("_ns") for name in names[-2:]) else 1.0


def matches(document, path: str) -> list:
    """The values at a path: `a.b`, `list[0]`, `list[*].c`, `map["a.b"]`, and of a list those items that have a value
    (`list[key=word]`), all of several (`list[key=word,other=null]`) or a part of one (`list[key~part]`)."""
    found = [document]
    for name, inside in re.findall(r'\.?([a-z_0-9]+)|\[([^\]]+)\]', path):
        if name:
            found = [value[name] for value in found]
        elif inside == "*":
            found = [item for value in found for item in value]
        elif inside.isdigit():
            found = [value[int(inside)] for value in found]
        elif inside.startswith('"'):
            found = [value[inside.strip('"')] for value in found]
        else:
            found = [item for value in found for item in value if is_meant(item, inside)]
    return found


def is_meant(item: dict, conditions: str) -> bool:
    for condition in conditions.split(","):
        key, sign, word = re.match(r"([a-z_]+)([=~])(.*)", condition).groups()
        value = "null" if item[key] is None else str(item[key])
        if value != word if sign == "=" else word not in value:
            return False
    return True


def computed(document, where: str) -> float:
    """An expression over paths, `count(path)` and `sum(path)`, in base units."""
    values: list[float] = []

    def hold(value: float) -> str:
        values.append(value)
        return f"v{len(values) - 1}"

    def count(found) -> str:
        return hold(len(matches(document, found[1])))

    def total(found) -> str:
        return hold(sum(matches(document, found[1])) * factor(found[1]))

    def one(found) -> str:
        there = matches(document, found[0])
        if len(there) != 1 or isinstance(there[0], bool) or not isinstance(there[0], (int, float)):
            raise ValueError(f"{found[0]} is {there!r}, not one number")
        return hold(there[0] * factor(found[0]))

    text = re.sub(r"count\(([^)]+)\)", count, where)
    text = re.sub(r"sum\(([^)]+)\)", total, text)
    return evaluated(ast.parse(PATH.sub(one, text), mode="eval").body, values)


def evaluated(node, values) -> float:
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](evaluated(node.left, values), evaluated(node.right, values))
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return node.value
    if isinstance(node, ast.Name) and re.fullmatch(r"v\d+", node.id):
        return values[int(node.id[1:])]
    raise ValueError(f"not an expression over paths: {ast.unparse(node)}")


def printed(output: str, word: str) -> float:
    """The first number on the one line that has the word."""
    lines = [line for line in output.splitlines() if word in line]
    numbers = [NUMBER.search(line.replace(word, "", 1)) for line in lines]
    if len(numbers) != 1 or numbers[0] is None:
        raise ValueError(f"{word!r} is on {len(lines)} lines, not on one with a number")
    return float(numbers[0][0].replace(",", ""))


def checked(text: str) -> list[doc_pages.Table]:
    """The tables whose numbers are held to their command."""
    return [table for table in doc_pages.tables(text) if table.header[-1] in (WHERE_IN_JSON, WHERE_IN_TEXT)]


def differences(table: doc_pages.Table, output: str):
    """A line for each number of a table that the command does not give."""
    in_json = table.header[-1] == WHERE_IN_JSON
    document = json.loads(output) if in_json else None
    for line, (what, *_, shown, where) in table.rows:
        where = where.strip("`")
        try:
            quoted_value, step = quoted(shown)
            is_so = computed(document, where) if in_json else printed(output, where)
        except (ValueError, KeyError, IndexError, TypeError, SyntaxError) as error:
            yield f"line {line}: {what}: {error!r}"
            continue
        if abs(quoted_value - is_so) > step * 1.0001:
            yield f"line {line}: {what}: the page has {shown}, the command {is_so!r} in base units"


def command(block: doc_pages.Block, in_json: bool) -> str:
    """What is run for a block: its lines, with `--format json` behind a command of ours."""
    text = " ".join(line for _, line in doc_pages.joined(block))
    return f"{text} --format json" if in_json else block.text


def run(text: str, binary: Path, corpus: Path, page: Path = PAGE) -> str:
    places = {name: corpus / place for name, place in PLACES[page].items()}
    for path in places.values():
        if not path.exists():
            raise SystemExit(f"{path} is missing: the check needs the corpus")
    env = {**os.environ, **{name: str(path) for name, path in places.items()}}
    script = f'set -euo pipefail\nrooflens() {{ "{binary}" "$@"; }}\n{text}\n'
    done = subprocess.run(["bash", "-c", script], env=env, capture_output=True, timeout=600,
                          stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise SystemExit(f"{text}\nended with {done.returncode}: {done.stderr.decode(errors='replace')}")
    return done.stdout.decode()


def outputs(text: str, binary: Path, corpus: Path, page: Path) -> list[str]:
    """What a page shows of an output and the command does not print."""
    broken = []
    for block in doc_pages.split(text)[0]:
        if block.comment.startswith(OUTPUT):
            printed = run(block.comment.removeprefix(OUTPUT), binary, corpus, page)
            if not doc_pages.is_as_shown(block.text, printed):
                broken.append(f"line {block.line}: the command prints something else:\n    "
                              f"{doc_pages.difference(block.text, printed)}")
    return broken


def test_parity_142_the_numbers_of_the_page_hold(text: str, binary: Path, corpus: Path,
                                                 page: Path = PAGE) -> tuple[int, list[str]]:
    count, broken = 0, []
    for table in checked(text):
        if table.block is None or table.block.language != "sh":
            broken.append(f"line {table.line}: no command stands above this table")
            continue
        in_json = table.header[-1] == WHERE_IN_JSON
        broken += differences(table, run(command(table.block, in_json), binary, corpus, page))
        count += len(table.rows)
    if count < 40:
        broken.append(f"only {count} numbers are held to a command")
    return count, broken


def test_parity_158_the_case_study_is_published(text: str, readers: list[str]) -> list[str]:
    """It has advice on each level, says what it cannot say, and is linked where a user looks."""
    headings = [line.lstrip("# ") for line in text.splitlines() if line.startswith("#")]
    broken = [f"no section {name!r}" for name in SECTIONS if name not in headings]
    broken += [f"{link} does not exist" for link in re.findall(r"\]\((images/[^)]+)\)", text)
               if not (PAGE.parent / link).is_file()]
    if not all("case-study-deepseek-ocr.md" in reader for reader in readers):
        broken.append("README.md or docs/README.md does not link the page")
    return broken


def check_all(judge, args, _scratch: Path) -> None:
    readers = [(REPOSITORY / name).read_text() for name in ("README.md", "docs/README.md")]
    for page in PLACES:
        text = page.read_text()
        count, broken = test_parity_142_the_numbers_of_the_page_hold(text, args.rooflens, args.corpus, page)
        judge.check(f"numbers of {page.name}", broken, f"{count} numbers")
        judge.check(f"outputs of {page.name}", outputs(text, args.rooflens, args.corpus, page))
    judge.check("the case study is published", test_parity_158_the_case_study_is_published(PAGE.read_text(), readers))


if __name__ == "__main__":
    main(check_all)
