"""Asks commands for JSON, and validates what they print and save."""

import os
import re
from pathlib import Path
from typing import Any

from documents.validate import Documents
from oracle import REPOSITORY, Outcome, run

# Commands whose documents check_run.py and check_serving.py validate.
OF_OTHER_ORACLES = {"bench", "hardware measure"}
GIT = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "GIT_ALLOW_PROTOCOL": "file"}


def commands_with_json() -> set[str]:
    """Commands whose output has the format JSON, by the generated reference of the command line."""
    text = (REPOSITORY / "docs/reference/cli.md").read_text(encoding="utf-8")
    sections = re.split(r"^#{2,3} rooflens ", text, flags=re.MULTILINE)[1:]
    has_json = re.compile(r"--format <FORMAT>[^\[]*(\[default: \w+\]\s*)?\[possible\s+values:[^\]]*\bjson\b")
    return {section.split("\n", 1)[0].strip() for section in sections if has_json.search(section)}


class Asking:
    """A binary, a folder for what it saves, and the documents so far."""

    def __init__(self, binary: Path, scratch: Path, documents: Documents) -> None:
        self.binary, self.scratch, self.documents = binary, scratch, documents
        self.commands = commands_with_json()
        self.answered: set[str] = set()
        self.folders = 0

    def ask(self, expected: str, *words: Any, may_refuse: bool = False, code: int = 0, **settings: Any) -> Any:
        """The document that a command prints, once it was validated; None where an input may be refused, and is."""
        ended = self.run(*words, "--format", "json", **settings)
        where = " ".join(["rooflens", *map(str, words)])
        if may_refuse and ended.code != 0 and not ended.stdout:
            return None
        if ended.code != code:
            self.documents.wrong.append(f"{where}: {ended.failure()}, not {code}")
            return None
        self.answered.add(self.command_of(words))
        return self.documents.text(ended.stdout, where, expected)

    def run(self, *words: Any, cwd: Path | None = None, env: dict[str, Any] | None = None) -> Outcome:
        environment = {**os.environ, **GIT, **{key: str(value) for key, value in (env or {}).items()}}
        return run(self.binary, "--quiet", *words, cwd=cwd, env=environment)

    def stream(self, *words: Any) -> None:
        """Lines of samples: the first is a document, each further line a row of it."""
        ended = self.run(*words, "--format", "json")
        first, *rows = ended.stdout.splitlines() or [b""]
        self.documents.text(first, "the first line of samples", "samples")
        for row in rows:
            self.documents.text(row, "a line of samples", "samples-line")
        self.answered.add(self.command_of(words))

    def command_of(self, words: tuple[Any, ...]) -> str:
        paths = [" ".join(map(str, words[:count])) for count in (2, 1)]
        return next((path for path in paths if path in self.commands), paths[-1])

    def saved(self, folder: Path) -> None:
        """Every document of a folder, which must have some."""
        if not self.documents.folder(folder):
            self.documents.wrong.append(f"{folder}: no document was saved")

    def place(self) -> Path:
        """A folder that does not exist yet."""
        self.folders += 1
        return self.scratch / f"saved-{self.folders}"

    def unasked(self) -> list[str]:
        unasked = sorted(self.commands - self.answered - OF_OTHER_ORACLES)
        return [f"rooflens {name}: no JSON of it was validated" for name in unasked]
