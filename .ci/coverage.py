"""What a check covers, as one hash: its command, the programs it runs, and the files it can read."""

import hashlib
import subprocess
import threading
from pathlib import Path

from places import CACHE, CORPUS, TREE, VENVS
from steps import Step

# Files that only decide what programs do; a check covers these through the programs that it runs.
SOURCES = ("crates/", "engines/", "xtask/", "fuzz/", "Cargo.toml", "Cargo.lock", "rustfmt.toml", "clippy.toml")
# Files for people and for the gate itself. Only a check that covers the whole tree reads them.
PAGES = ("docs/", ".github/", ".ci/", "llms.txt")
# Scripts of the gate that checks run or import.
CHECKS = (".ci/compose",)


class Coverage:
    """Hashes of what checks cover, and the hashes for which they last passed on this machine."""

    def __init__(self, tracked: list[Path]) -> None:
        self.passed = CACHE / "passed"
        self.passed.mkdir(exist_ok=True)
        self.lock = threading.Lock()
        self.hashes: dict[Path, str] = {}
        self.tracked = tracked
        self.corpus = sorted(path for path in CORPUS.rglob("*") if path.is_file())
        self.machine = machine()

    def key(self, step: Step) -> str:
        digest = hashlib.sha256(f"{step.argv()} {step.variables()} {self.machine}".encode())
        with self.lock:
            for path in [*programs(step), *self.files(step)]:
                digest.update(f"{path} {self.hash(path)}\n".encode())
            for path in self.corpus:
                digest.update(f"{path.relative_to(CORPUS)} {self.hash(path)}\n".encode())
        return digest.hexdigest()

    def files(self, step: Step) -> list[Path]:
        names = [path.as_posix() for path in self.tracked]
        read = [name for name in names if name.startswith(step.covers) or (step.covers_data and is_data(name))]
        return [TREE / name for name in read]

    def hash(self, path: Path) -> str:
        if path not in self.hashes:
            self.hashes[path] = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "absent"
        return self.hashes[path]

    def has_passed(self, step: Step, key: str) -> bool:
        path = self.place(step)
        return path.exists() and path.read_text() == key

    def remember(self, step: Step, key: str) -> None:
        self.place(step).write_text(key)

    def place(self, step: Step) -> Path:
        return self.passed / hashlib.sha256(step.name.encode()).hexdigest()[:16]


def is_data(path: str) -> bool:
    """Whether programs read the file when they run: a fixture, a reference implementation, the Python package."""
    if path in CHECKS:
        return True
    is_page = path.startswith(PAGES) or path.endswith("README.md") or ("/" not in path and path.endswith(".md"))
    return not is_page and not path.startswith(SOURCES)


def programs(step: Step) -> list[Path]:
    """Files on the command line, and the requirements of the Python environments there."""
    words = [*step.argv(), *step.variables().values(), *step.runs]
    named = [Path(word) for word in words if word.startswith("/")]
    environments = {VENVS / path.relative_to(VENVS).parts[0] for path in named if path.is_relative_to(VENVS)}
    return [path for path in named if path.is_file()] + sorted(venv / "requirements.sha256" for venv in environments)


def machine() -> str:
    """Versions of the programs that checks find on the machine."""
    commands = [["rustc", "-vV"], ["python3", "--version"], ["node", "--version"], ["dpkg-query", "-W", "chromium"]]
    return "".join(subprocess.run(argv, capture_output=True, text=True).stdout for argv in commands)
