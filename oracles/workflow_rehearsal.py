"""Rehearses the scripts of workflows: each runs in a copy of the repository, with stand-ins for what builds, downloads
and publishes. What is found so are mistakes in the shell code itself: unset variables, wrong paths, files that no
earlier step makes, conditions that never hold."""

import hashlib
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

from rooflens_cli import REPOSITORY, repository_files

# As GitHub runs `shell: bash`; besides, a variable that nobody sets is an error.
SHELL = ["bash", "--noprofile", "--norc", "-euo", "pipefail", "-c"]
WHEEL = "rooflens-0.1.0-cp39-abi3-manylinux_2_28_x86_64.whl"
# They answer what scripts ask for, and note that they were called.
PROGRAMS = ["cargo", "rustup", "curl", "gh", "maturin", "rooflens", "shasum", "twine", "auditwheel", "python"]
STAND_IN = r"""#!/bin/bash
name=$(basename "$0")
echo "$name $*" >>"$REHEARSAL/called"
case "$name $*" in
"cargo metadata"*) echo '{"packages": [{"name": "rooflens-core", "publish": null, "targets": [{"kind": ["lib"]}]}]}' ;;
"cargo cyclonedx"*) touch crates/rooflens/rooflens.cdx.json crates/rooflens-python/rooflens-python.cdx.json ;;
"curl "*http_code*) echo -n 404 ;;
"auditwheel show"*) echo 'is consistent with the following platform tag: "manylinux_2_28_x86_64".' ;;
"shasum "*) [[ "$*" != *--check* ]] || cat "${@: -1}" >/dev/null; [[ "$*" == *--check* ]] || sha256sum "${@: -1}" ;;
"rustup toolchain list"*) echo none ;;
esac
"""
PYTHON = r"""#!/bin/bash
echo "python3 $*" >>"$REHEARSAL/called"
case "$*" in
"-m venv "*) mkdir -p "${@: -1}/bin" && cp "$REHEARSAL"/programs/* "${@: -1}/bin" ;;
"-m pip "*) ;;
"-m zipfile -e "*) test -f "$3" -o -f "$4" && mkdir -p "${@: -1}/rooflens-0.1.0.data/scripts" && touch "${@: -1}/rooflens-0.1.0.data/scripts/rooflens" ;;
*) exec "$REAL_PYTHON" "$@" ;;
esac
"""


def programs(folder: Path) -> None:
    """The stand-ins."""
    folder.mkdir()
    for name in PROGRAMS:
        (folder / name).write_text(STAND_IN)
    (folder / "python3").write_text(PYTHON)
    for file in folder.iterdir():
        file.chmod(0o755)


def copy(folder: Path) -> None:
    """The files of the repository, ready for a release, with quick stand-ins for builds and fuzzing."""
    for name in repository_files():
        if (REPOSITORY / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(REPOSITORY / name, folder / name)
    (folder / ".ci/wheel").write_text(f"mkdir -p target/wheels && touch target/wheels/{WHEEL}\n")
    (folder / ".ci/fuzz").write_text('test -f "fuzz/fuzz_targets/$1.rs"\n')
    changes = folder / "CHANGELOG.md"
    changes.write_text(changes.read_text().replace("## [Unreleased]", "## [Unreleased]\n\n## [0.1.0]", 1))
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
    for words in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message", "all"]):
        subprocess.run([*git, *words], cwd=folder, check=True)


def prepare(scratch: Path) -> None:
    """A copy of the repository for all jobs, and the stand-ins."""
    folder = scratch / "copy"
    folder.mkdir()
    copy(folder)
    programs(scratch / "programs")


def artifacts(folder: Path, target: str) -> None:
    """What earlier jobs would have uploaded, where jobs download it to."""
    name = f"rooflens-{target}"
    for place in ("wheels", "dist", "binary"):
        (folder / place).mkdir(exist_ok=True)
        (folder / place / WHEEL).touch()
    program = folder / "binary" / name / "rooflens"
    program.parent.mkdir()
    program.write_text(STAND_IN)
    program.chmod(0o755)
    with tarfile.open(folder / "binary" / f"{name}.tar.gz", "w:gz") as archive:
        archive.add(program.parent, name)
    digest = hashlib.sha256((folder / "binary" / f"{name}.tar.gz").read_bytes()).hexdigest()
    (folder / "binary" / f"{name}.tar.gz.sha256").write_text(f"{digest}  {name}.tar.gz\n")


def resolved(value: object, matrix: dict) -> str:
    """A value of `env`, its expressions by the first row of the matrix."""

    def one(found: "re.Match[str]") -> str:
        key = found[1].removeprefix("matrix.")
        return str(matrix.get(key, "rehearsal"))

    return re.sub(r"\$\{\{ *([^}]*?) *\}\}", one, str(value))


def first_row(job: dict) -> dict:
    matrix = job.get("strategy", {}).get("matrix", {})
    listed = matrix.get("include")
    return listed[0] if listed else {key: values[0] for key, values in matrix.items()}


def rehearse(place: str, workflow: dict, job: dict, scratch: Path) -> "tuple[list[str], int]":
    """Runs the scripts of a job in order, in the copy that `prepare` made: what failed, and how many ran."""
    folder = scratch / "copy"
    for words in (["checkout", "--quiet", "."], ["clean", "--quiet", "-dffx"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    matrix = first_row(job)
    if any("download-artifact" in step.get("uses", "") for step in job["steps"]):
        artifacts(folder, matrix.get("target", "x86_64-unknown-linux-gnu"))
    kept = {name: os.environ[name] for name in ("HOME", "LANG", "TMPDIR") if name in os.environ}
    own = {
        **kept,
        "PATH": f"{scratch / 'programs'}:/usr/local/bin:/usr/bin:/bin",
        "REAL_PYTHON": shutil.which("python3") or "python3",
        "REHEARSAL": str(scratch),
        "GITHUB_REF_NAME": "v0.1.0",
        "GITHUB_REF": "refs/tags/v0.1.0",
        "CI": "true",
    }
    failed, taken = [], 0
    for step in job["steps"]:
        if "run" not in step or "failure()" in str(step.get("if", "")):
            continue
        told = {**workflow.get("env", {}), **job.get("env", {}), **step.get("env", {})}
        environment = own | {name: resolved(value, matrix) for name, value in told.items()}
        argv = [*SHELL, step["run"]]
        done = subprocess.run(argv, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
        taken += 1
        if done.returncode:
            said = (done.stderr or done.stdout).strip()[-500:]
            failed.append(f"{place}, {step.get('name', 'a step')}: exit code {done.returncode} in the rehearsal: {said}")
            break
    return failed, taken
