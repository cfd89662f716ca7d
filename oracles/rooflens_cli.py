"""How the oracles call the binary under test and where they find the corpus."""

import argparse
import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
UNREADABLE = 5


@dataclass
class Outcome:
    code: int
    stdout: bytes
    stderr: str

    @property
    def hint(self) -> bool:
        return any(line.startswith("hint:") for line in self.stderr.splitlines())

    def report(self) -> dict:
        """The JSON report; a constant that JSON does not have (NaN, Infinity) is an error."""
        return json.loads(self.stdout, parse_constant=refuse)


def refuse(constant):
    raise ValueError(f"{constant} is not JSON")


def analyze(binary, path, *options, timeout_s=600) -> Outcome:
    return run(binary, "analyze", path, "--format", "json", *options, timeout_s=timeout_s)


def run(binary, *words, timeout_s=600) -> Outcome:
    argv = [str(binary), *map(str, words)]
    done = subprocess.run(argv, capture_output=True, timeout=timeout_s, stdin=subprocess.DEVNULL)
    return Outcome(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace"))


def must(binary, *words) -> Outcome:
    """Runs a command that has to succeed."""
    outcome = run(binary, *words)
    if outcome.code != 0:
        raise RuntimeError(f"rooflens {' '.join(map(str, words))}: exit code {outcome.code}: {outcome.stderr}")
    return outcome


def default_corpus() -> Path:
    return Path(os.environ.get("ROOFLENS_CORPUS", REPOSITORY / "../shared/data"))


def arguments(description, binary_required=True) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--rooflens", type=existing, required=binary_required, metavar="BIN")
    parser.add_argument("--corpus", type=existing, default=default_corpus(), metavar="DIR")
    return parser


def existing(text) -> Path:
    path = Path(text)
    if not path.exists():
        raise argparse.ArgumentTypeError(f"{text} does not exist")
    return path.resolve()


def repository_files() -> list[Path]:
    """Files of the repository that git tracks or does not ignore, relative to its root."""
    argv = ["git", "-C", REPOSITORY, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(argv, check=True, capture_output=True).stdout.split(b"\0")
    # Git still lists a file that was deleted but not committed.
    return sorted(Path(os.fsdecode(name)) for name in set(listed) if name and (REPOSITORY / os.fsdecode(name)).exists())


def hub_snapshot(cache: Path, repository: str, config: str) -> Path:
    """A model in a cache of the Hugging Face Hub, as `hf download` leaves it; the folder of its files."""
    folder, commit = cache / f"models--{repository.replace('/', '--')}", "0123456789abcdef" * 2 + "01234567"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs/main").write_text(commit)
    (folder / "snapshots" / commit).mkdir(parents=True)
    (folder / "snapshots" / commit / "config.json").write_text(config)
    return folder / "snapshots" / commit


def kineto_folder(corpus: Path) -> Path:
    return corpus / "kineto" if (corpus / "kineto").is_dir() else corpus
