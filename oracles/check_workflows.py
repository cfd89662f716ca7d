"""Workflows, Dependabot and issue forms follow their published JSON Schemas and fit this repository.

    venvs/users/bin/python oracles/check_workflows.py
    venvs/users/bin/python oracles/check_workflows.py --dry-run

The schemas are those that check-jsonschema brings along; no network is needed. Besides: every action is pinned to a
commit, release.yml publishes exactly the crates that `rooflens` consists of, each after its dependencies, and the
Dockerfile uses the rust-version of Cargo.toml. `--dry-run` also reads every script: bash accepts it, and those of
ci.yml, which must work in any checkout, name known programs and paths that exist; then every job is rehearsed in a copy
of the repository, with stand-ins for what builds, downloads and publishes (workflow_rehearsal.py). Nothing is built.
"""

import json
import re
import shlex
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

from ruamel.yaml import YAML

import workflow_rehearsal
from rooflens_cli import REPOSITORY, arguments

GITHUB = REPOSITORY / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = [file for file in sorted((GITHUB / "ISSUE_TEMPLATE").glob("*.yml")) if file.name != "config.yml"]
SCHEMAS = {
    "vendor.github-workflows": WORKFLOWS,
    "vendor.dependabot": [GITHUB / "dependabot.yml"],
    "vendor.github-issue-forms": FORMS,
    "vendor.github-issue-config": [GITHUB / "ISSUE_TEMPLATE/config.yml"],
}
# What Linux and macOS runners and a developer's machine have; whatever else a script needs, it installs first.
PROGRAMS = {"bash", "cargo", "curl", "git", "grep", "mkdir", "python3", "rm", "rustup", "sed", "tar"}
BUILTINS = {"[", "[[", "cd", "echo", "exit", "export", "false", "printf", "set", "test", "true"}
# Words that a command follows.
KEYWORDS = {"!", "{", "}", "do", "done", "elif", "else", "fi", "if", "then", "until", "while"}
# Folders that a build makes.
BUILT = {"target"}
PINNED = re.compile(r"@[0-9a-f]{40} # v\d+(\.\d+)*$")
PATH = re.compile(r"[\w.*+-]+(/[\w.*+-]+)+/?|[A-Za-z][\w-]*\.[a-z]{2,5}")
SUBSTITUTED = "SUBSTITUTED"


@dataclass
class Script:
    """A `run` of a workflow."""

    place: str
    text: str
    environment: dict
    guarded: bool


def load(file: Path) -> dict:
    """A YAML file as GitHub reads it: by YAML 1.2, in which `on` is a word."""
    return YAML(typ="safe", pure=True).load(file.read_text())


def shown(file: Path) -> str:
    return str(file.relative_to(REPOSITORY))


def schema_problems(schema: str, files: list[Path]) -> list[str]:
    """What of the files does not follow the schema."""
    argv = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, "--output-format", "json"]
    done = subprocess.run([*argv, *map(str, files)], capture_output=True, text=True, timeout=120)
    if done.returncode == 0:
        return []
    try:
        told = json.loads(done.stdout)
    except ValueError:
        return [f"check-jsonschema --builtin-schema {schema}: {(done.stderr or done.stdout).strip()}"]
    broken = [f"{Path(error['filename']).name}: {error['message']}" for error in told.get("parse_errors", [])]
    for error in told.get("errors", []):
        # Of several forms that a value could have, the one that it comes closest to.
        nearest = error.get("best_deep_match", error)
        broken.append(f"{Path(error['filename']).name}: {nearest['path']}: {nearest['message']}")
    return broken


def pin_problems(file: Path) -> list[str]:
    """Actions that are not pinned to a commit, with their version beside it."""
    lines = enumerate(file.read_text().splitlines(), 1)
    used = [(number, line.split("uses:")[1].strip()) for number, line in lines if re.match(r"\s*(- )?uses:", line)]
    return [f"{shown(file)}:{number}: {action} is not pinned to a commit, with its version in a comment"
            for number, action in used if not action.startswith("./") and not PINNED.search(action)]


def scripts(file: Path) -> list[Script]:
    """Every `run` of a workflow."""
    found = []
    for name, job in load(file)["jobs"].items():
        for number, step in enumerate(job.get("steps", []), 1):
            if "run" in step:
                place = f"{file.name}: {name}, {step.get('name', f'step {number}')}"
                found.append(Script(place, step["run"], {**job.get("env", {}), **step.get("env", {})}, "if" in step))
    return found


def syntax_problems(script: Script) -> list[str]:
    done = subprocess.run(["bash", "-n"], input=script.text, capture_output=True, text=True, timeout=60)
    broken = [f"{script.place}: {done.stderr.strip()}"] if done.returncode else []
    if "${{" in script.text:
        broken.append(f"{script.place}: an expression in the script: pass it by an environment variable")
    return broken


def local_problems(script: Script) -> list[str]:
    """Why a script cannot be run in a checkout."""
    broken = []
    if not script.guarded:
        names = sorted(set(re.findall(r"\b(?:GITHUB|RUNNER)_[A-Z_]+", script.text)))
        broken += [f"{name} exists on GitHub only: the step needs an `if`" for name in names]
        broken += [f"{name} is set by an expression: the step needs an `if`"
                   for name, value in script.environment.items() if "${{" in str(value)]
    folder = Path()
    for words in commands(script.text):
        if words[0] not in PROGRAMS | BUILTINS and not PATH.fullmatch(words[0]):
            broken.append(f"{words[0]} is not a known program")
        folder_named = words[1] if words[0] == "cd" and len(words) > 1 else None
        for word in dict.fromkeys([*words, folder_named]):
            if word and (word == folder_named or PATH.fullmatch(word)) and not exists(folder, word):
                broken.append(f"{folder / word} does not exist")
        folder = folder / folder_named if folder_named else folder
    return [f"{script.place}: {problem}" for problem in broken]


def exists(folder: Path, word: str) -> bool:
    """Whether a path or a pattern leads to something in the repository, or to what a build makes."""
    path = folder / word
    return not path.is_absolute() and (path.parts[0] in BUILT or any(REPOSITORY.glob(str(path))))


def commands(text: str) -> list[list[str]]:
    """The simple commands of a script, without assignments and redirections, and those of its substitutions.

    It knows lists, pipelines, `if`, `while` and `for`; `case`, functions and arrays are not for ci.yml.
    """
    text = re.sub(r"^\s*#.*$", "", text, flags=re.M).replace("\\\n", " ")
    text, inner = without_substitutions(text)
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";&|()<>\n")
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t", True, ""
    found, current, redirected = [], [], False
    for word in [*lexer, "\n"]:
        if word and set(word) <= set(";&|()\n"):
            found, current = [*found, *([current] if current else [])], []
        elif word and set(word) <= set("<>&"):
            # What is read must exist, what is written need not.
            redirected = "<" not in word
        elif redirected:
            redirected = False
        elif current or not (word in KEYWORDS or re.match(r"[A-Za-z_]\w*\+?=", word)):
            current.append(word)
    # The words of a `for` are no command, but may be paths.
    found = [["true", *words[1:]] if words[0] == "for" else words for words in found]
    return found + [words for part in inner for words in commands(part)]


def without_substitutions(text: str) -> tuple[str, list[str]]:
    """The text with a word in place of each `$(…)`, and what stands in them."""
    kept, inner, at, quote = "", [], 0, ""
    while at < len(text):
        if text[at] == "'" and quote != '"' or text[at] == '"' and quote != "'":
            quote = "" if quote else text[at]
        if text.startswith("$(", at) and quote != "'":
            end = closing(text, at + 1)
            # Arithmetic is no command.
            inner += [] if text.startswith("$((", at) else [text[at + 2:end]]
            kept, at = kept + SUBSTITUTED, end + 1
            continue
        kept, at = kept + text[at], at + 1
    return kept, inner


def closing(text: str, at: int) -> int:
    """Where the parenthesis at a position is closed, outside of single quotes."""
    depth, quoted = 0, False
    for end in range(at, len(text)):
        quoted ^= text[end] == "'"
        depth += 0 if quoted else {"(": 1, ")": -1}.get(text[end], 0)
        if depth == 0:
            return end
    return len(text)


def rehearsal_problems() -> tuple[list[str], int]:
    """What fails when every job is rehearsed, and how many scripts ran."""
    broken, taken = [], 0
    with tempfile.TemporaryDirectory() as folder:
        workflow_rehearsal.prepare(Path(folder))
        for file in WORKFLOWS:
            workflow = load(file)
            for name, job in workflow["jobs"].items():
                failed, ran = workflow_rehearsal.rehearse(f"{file.name}: {name}", workflow, job, Path(folder))
                broken, taken = broken + failed, taken + ran
    return broken, taken


def crate_problems() -> list[str]:
    """Whether release.yml publishes `rooflens` and all that it depends on, in an order that crates.io takes."""
    listed = load(GITHUB / "workflows/release.yml")["jobs"]["crates"]["env"]["CRATES"].split()
    used = {}
    for manifest in sorted((REPOSITORY / "crates").glob("*/Cargo.toml")):
        crate = tomllib.loads(manifest.read_text())
        tables = (crate.get("dependencies", {}), crate.get("build-dependencies", {}))
        used[crate["package"]["name"]] = {name for table in tables for name in table if name.startswith("rooflens")}
    needed, todo = set(), ["rooflens"]
    while todo:
        name = todo.pop()
        todo += used[name] - needed
        needed.add(name)
    broken = [f"{name} is missing" for name in sorted(needed - set(listed))]
    broken += [f"{name} is no part of rooflens" for name in listed if name not in needed]
    for at, name in enumerate(listed):
        broken += [f"{name} is listed before {later}, which it depends on" for later in listed[at + 1:]
                   if later in used.get(name, ())]
    return [f"release.yml: CRATES: {problem}" for problem in broken]


def image_problems() -> list[str]:
    """Whether the image is built with the oldest Rust that is promised to be enough."""
    wanted = tomllib.loads((REPOSITORY / "Cargo.toml").read_text())["workspace"]["package"]["rust-version"]
    used = re.findall(r"^FROM rust:([0-9.]+)", (REPOSITORY / "Dockerfile").read_text(), re.M)
    return [] if used == [wanted] else [f"Dockerfile: built with Rust {used}, and rust-version is {wanted}"]


def main() -> int:
    parser = arguments(__doc__.splitlines()[0], binary_required=False)
    parser.add_argument("--dry-run", action="store_true", help="also check the scripts of the workflows")
    options = parser.parse_args()
    broken = [problem for schema, files in SCHEMAS.items() for problem in schema_problems(schema, files)]
    broken += [problem for file in WORKFLOWS for problem in pin_problems(file)]
    broken += crate_problems() + image_problems()
    found = [script for file in WORKFLOWS for script in scripts(file)] if options.dry_run else []
    for script in found:
        broken += syntax_problems(script)
        broken += local_problems(script) if script.place.startswith("ci.yml:") else []
    rehearsed, taken = rehearsal_problems() if options.dry_run else ([], 0)
    broken += rehearsed
    for line in dict.fromkeys(broken):
        print(line)
    print(f"{sum(map(len, SCHEMAS.values()))} files, {len(found)} scripts, {taken} rehearsed, {len(set(broken))} problems")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
