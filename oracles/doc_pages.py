"""What the checks of the documentation need to know of a Markdown page: its blocks, tables and commands."""

import difflib
import re
import shlex
from dataclasses import dataclass, field

FENCE = re.compile(r"^(\s*)```\s*(\S*)(.*)$")
COMMENT = re.compile(r"^<!-- (.*) -->$")
SHELL = ("sh", "bash", "console")


@dataclass
class Block:
    language: str
    line: int
    lines: list[str] = field(default_factory=list)
    # What an HTML comment on the line above it says.
    comment: str = ""
    # Words after the language, such as `file=src/toy.rs`.
    attributes: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


@dataclass
class Table:
    line: int
    header: list[str]
    rows: list[tuple[int, list[str]]]
    block: Block | None


def split(text: str) -> tuple[list[Block], list[tuple[int, str]]]:
    """The blocks of code, and the numbered lines outside them."""
    blocks, prose, open_block, indent = [], [], None, 0
    for number, line in enumerate(text.splitlines(), 1):
        fence = FENCE.match(line)
        if open_block is None and fence:
            above = COMMENT.match(prose[-1][1]) if prose and prose[-1][0] == number - 1 else None
            open_block = Block(fence[2], number, comment=above[1] if above else "", attributes=fence[3].split())
            # In a list, a block is indented as its fence is.
            indent = len(fence[1])
        elif open_block is None:
            prose.append((number, line))
        elif fence:
            blocks.append(open_block)
            open_block = None
        else:
            open_block.lines.append(line[min(indent, len(line) - len(line.lstrip())):])
    return blocks, prose


def tables(text: str) -> list[Table]:
    """The tables, each with the block of code that stands last before it, outputs of commands left out."""
    blocks, prose = split(text)
    found: list[Table] = []
    previous = 0
    for number, line in prose:
        if not line.lstrip().startswith("|"):
            previous = 0
            continue
        row = cells(line)
        if previous != number - 1:
            above = [block for block in blocks if block.line < number and not block.comment.startswith("output: ")]
            found.append(Table(number, row, [], above[-1] if above else None))
        elif not all(set(cell) <= set("-: ") for cell in row):
            found[-1].rows.append((number, row))
        previous = number
    return found


def cells(line: str) -> list[str]:
    """The cells of a row; `\\|` is no border."""
    inside = line.strip().strip("|")
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", inside)]


def spans(line: str) -> list[str]:
    return re.findall(r"`([^`]+)`", line)


def commands(text: str) -> list[tuple[int, list[str]]]:
    """Every `rooflens …` of a page, in its blocks of shell and in its backticks: the line and the words after it."""
    blocks, prose = split(text)
    found = []
    for block in blocks:
        if block.language in SHELL:
            lines = joined(block)
            if block.language == "console":
                # A command whose answer is an error is shown because it is wrong.
                answers = [line for _, line in lines[1:]] + [""]
                lines = [item for item, answer in zip(lines, answers)
                         if item[1].startswith("$ ") and not answer.startswith("error:")]
            for number, line in lines:
                found += [(number, words) for words in rooflens_words(line.removeprefix("$ "))]
    for number, line in prose:
        for span in spans(line):
            found += [(number, words) for words in rooflens_words(span)]
    return found


def joined(block: Block) -> list[tuple[int, str]]:
    """The lines of a block, those that end with a backslash joined with the next."""
    lines, held, at = [], "", 0
    for number, line in enumerate(block.lines, block.line + 1):
        at = at if held else number
        if line.endswith("\\"):
            held += line[:-1] + " "
            continue
        lines.append((at, held + line))
        held = ""
    return lines


def rooflens_words(line: str) -> list[list[str]]:
    """The words behind each `rooflens` that begins a command of the line."""
    try:
        lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|()")
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError:
        return []
    found, current = [], None
    begins = True
    for word in words:
        if word and set(word) <= set(";&|()"):
            current, begins = None, True
        elif current is not None:
            current.append(word)
        elif begins and word == "rooflens":
            current = []
            found.append(current)
        else:
            # A variable before a command leaves the next word at its beginning.
            begins = begins and re.match(r"^[A-Z_]+=", word) is not None
    return [cut(words) for words in found]


def cut(words: list[str]) -> list[str]:
    for at, word in enumerate(words):
        if word in (">", ">>", "<", "2>") or re.match(r"^\d?>", word):
            return words[:at]
    return words


def is_as_shown(shown: str, printed: str) -> bool:
    """Whether an output is what a page shows of it. `…` is any text of a line; alone on a line, any lines."""
    pattern = ""
    for line in shown.rstrip().splitlines():
        if line.strip() == "…":
            pattern += r"(?:.*\n)*?"
        else:
            parts = [re.escape(part) for part in re.split(r" *…", line.rstrip())]
            pattern += ".*?".join(parts) + "\n"
    flat = "".join(f"{line.rstrip()}\n" for line in printed.rstrip().splitlines())
    return re.fullmatch(pattern, flat) is not None


def difference(shown: str, printed: str) -> str:
    lines = difflib.unified_diff(shown.splitlines(), [line.rstrip() for line in printed.splitlines()], "page",
                                 "printed", lineterm="", n=0)
    return "\n    ".join(list(lines)[:16])
