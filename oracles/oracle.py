"""What the reference implementations share: the program under test, the corpus, and how a check reports."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import traceback
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
FIXTURES = REPOSITORY / "fixtures"
CORPUS = Path(os.environ.get("ROOFLENS_CORPUS", REPOSITORY / "../shared/data"))
UNREADABLE = 5
MOST_SHOWN = 10


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

    def failure(self) -> str:
        said = self.stderr.strip() or self.stdout.decode("utf-8", "replace").strip()
        return f"exit code {self.code}: {said[-1500:]}"


def refuse(constant):
    raise ValueError(f"{constant} is not JSON")


def run(binary, *words, timeout_s=900, **options) -> Outcome:
    argv = [str(binary), *map(str, words)]
    done = subprocess.run(argv, capture_output=True, timeout=timeout_s, stdin=subprocess.DEVNULL, **options)
    return Outcome(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace"))


def must(binary, *words, **options) -> Outcome:
    """Runs a program that has to succeed."""
    outcome = run(binary, *words, **options)
    if outcome.code != 0:
        raise RuntimeError(f"{Path(binary).name} {' '.join(map(str, words))}: {outcome.failure()}")
    return outcome


def said(binary, *words, **options) -> str:
    """What a program that has to succeed prints."""
    return must(binary, *words, **options).stdout.decode("utf-8", "replace")


def analyze(binary, path, *options, timeout_s=600) -> Outcome:
    return run(binary, "analyze", path, "--format", "json", *options, timeout_s=timeout_s)


def differences(found, want, at="", tolerance=0.0):
    """Where two documents differ; floating-point numbers may do so by a share of their size."""
    if isinstance(found, dict) and isinstance(want, dict):
        for key in sorted(found.keys() | want.keys(), key=str):
            yield from differences(found.get(key, "missing"), want.get(key, "missing"), f"{at}.{key}", tolerance)
    elif isinstance(found, (list, tuple)) and isinstance(want, (list, tuple)) and len(found) == len(want):
        for index, pair in enumerate(zip(found, want)):
            yield from differences(*pair, f"{at}[{index}]", tolerance)
    elif tolerance and isinstance(found, float) and isinstance(want, (int, float)):
        if abs(found - want) > tolerance * max(1, abs(want)):
            yield f"{at}: {found}, not {want}"
    elif found != want or (type(found) is not type(want) and not tolerance):
        yield f"{at}: {str(found)[:100]}, not {str(want)[:100]}"


def differ(label, got, want) -> list[str]:
    return [] if got == want else [f"{label}: {got!r}, not {want!r}"]


class Judge:
    """Counts checks and prints a line for each as it comes, and below it what is wrong."""

    def __init__(self, name: str):
        self.name = name
        self.checks = self.failed = 0

    def check(self, what, wrong, *remarks) -> bool:
        """`wrong` is what a check found to be wrong: a list, or a generator that is run here. A remark may be a function
        that is called afterwards."""
        try:
            found = list(wrong)
        except Exception:
            found = traceback.format_exc().strip().splitlines()[-MOST_SHOWN:]
        self.checks += 1
        self.failed += bool(found)
        print(f"{'WRONG' if found else 'ok':8}{what}" + "".join(f" · {shown(remark)}" for remark in remarks), flush=True)
        for line in found[:MOST_SHOWN]:
            print(f"        {line}", flush=True)
        if len(found) > MOST_SHOWN:
            print(f"        and {len(found) - MOST_SHOWN} more", flush=True)
        return not found

    def finish(self) -> int:
        """The summary, and the exit code."""
        print(f"{self.name}: {self.checks - self.failed} of {self.checks} checks passed")
        return 1 if self.failed or not self.checks else 0


def shown(remark) -> str:
    try:
        return remark() if callable(remark) else remark
    except KeyError:
        return "not measured"


def existing(text) -> Path:
    path = Path(text)
    if not path.exists():
        raise argparse.ArgumentTypeError(f"{text} does not exist")
    return path.resolve()


def option(*names, **settings):
    """An argument of `main`."""
    return names, settings


def needs(name: str, about: str | None = None):
    """A required path."""
    return option(name, type=existing, required=True, metavar="PATH", help=about)


ONLY = option("--only", default="", metavar="TEXT", help="inputs whose name contains TEXT")
WHEEL = needs("--wheel", "as bash .ci/wheel builds it")


def arguments(*options, binary=True) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__.split("\n")[0])
    parser.add_argument("--rooflens", type=existing, required=binary, metavar="BIN")
    parser.add_argument("--corpus", type=existing, default=CORPUS, metavar="DIR")
    for names, settings in options:
        parser.add_argument(*names, **settings)
    return parser.parse_args()


def main(check, *options, binary=True) -> None:
    """Runs `check(judge, arguments, empty folder)` as a program that exits with 1 if anything is wrong."""
    args = arguments(*options, binary=binary)
    judge = Judge(Path(sys.argv[0]).stem)
    # Helper processes of a browser or an engine may still write when they have been ended.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        check(judge, args, Path(folder).resolve())
    sys.exit(judge.finish())


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


def install(wheel: Path, folder: Path) -> Path:
    """Installs the wheel into a folder for PYTHONPATH, next to the packages of this interpreter."""
    pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps"]
    must(sys.executable, *pip, "--target", folder, wheel)
    return folder


def installed_environment(installed: Path, **more: str) -> dict[str, str]:
    """An environment that has the installed wheel, and no network."""
    return {**os.environ, "PYTHONPATH": str(installed), "HF_HUB_OFFLINE": "1", **more}
