"""Workflows, Dependabot and issue forms follow their published JSON Schemas and fit this repository.

The schemas are those that check-jsonschema brings along; no network is needed. Besides: bash parses every script, every
action is pinned to a commit, release.yml publishes exactly the crates that `rooflens` consists of, each after its
dependencies, and the Dockerfile uses the rust-version of Cargo.toml. Nothing is built.
"""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from ruamel.yaml import YAML

from oracle import REPOSITORY, main

GITHUB = REPOSITORY / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = [file for file in sorted((GITHUB / "ISSUE_TEMPLATE").glob("*.yml")) if file.name != "config.yml"]
SCHEMAS = {
    "vendor.github-workflows": WORKFLOWS,
    "vendor.dependabot": [GITHUB / "dependabot.yml"],
    "vendor.github-issue-forms": FORMS,
    "vendor.github-issue-config": [GITHUB / "ISSUE_TEMPLATE/config.yml"],
}
PINNED = re.compile(r"@[0-9a-f]{40} # v\d+(\.\d+)*$")


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


def scripts(file: Path) -> list[tuple[str, str]]:
    """Every `run` of a workflow, and where it stands."""
    jobs = load(file)["jobs"].items()
    steps = [(name, number, step) for name, job in jobs for number, step in enumerate(job.get("steps", []), 1)]
    return [(f"{file.name}: {name}, {step.get('name', f'step {at}')}", step["run"]) for name, at, step in steps if "run" in step]


def syntax_problems(place: str, script: str) -> list[str]:
    done = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, timeout=60)
    broken = [f"{place}: {done.stderr.strip()}"] if done.returncode else []
    if "${{" in script:
        broken.append(f"{place}: an expression in the script: pass it by an environment variable")
    return broken


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


def check_all(judge, _args, _scratch: Path) -> None:
    for schema, files in SCHEMAS.items():
        judge.check(schema, schema_problems(schema, files), f"{len(files)} files")
    judge.check("actions are pinned", [problem for file in WORKFLOWS for problem in pin_problems(file)])
    judge.check("release.yml publishes every crate", crate_problems())
    judge.check("the image has the oldest Rust", image_problems())
    found = [script for file in WORKFLOWS for script in scripts(file)]
    judge.check("scripts", [problem for script in found for problem in syntax_problems(*script)], f"{len(found)} scripts")


if __name__ == "__main__":
    main(check_all, binary=False)
