"""Copies the tracked files of the repository into a folder that holds nothing else.

A file with the same content keeps its time. Cargo compares times, so it builds only what changed, from whichever clone
the files come. Untracked files are not copied: the gate checks what others get.
"""

import os
import stat
import subprocess
from pathlib import Path


def content(path: Path):
    """The bytes of a file and whether it is executable, or the target of a link; None if neither exists."""
    try:
        mode = path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISLNK(mode):
        return os.readlink(path)
    if not stat.S_ISREG(mode):
        return None
    return path.read_bytes(), bool(mode & 0o100)


def write(path: Path, wanted) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    if isinstance(wanted, str):
        path.symlink_to(wanted)
    else:
        path.write_bytes(wanted[0])
        path.chmod(0o755 if wanted[1] else 0o644)


def sweep(folder: Path, kept: set[Path]) -> int:
    """Removes files that are not kept and folders that are then empty, except git's folder."""
    removed = 0
    for place, folders, files in os.walk(folder, topdown=False):
        here = Path(place)
        if ".git" in here.relative_to(folder).parts:
            continue
        for name in [*files, *(name for name in folders if (here / name).is_symlink())]:
            if here / name not in kept:
                (here / name).unlink()
                removed += 1
        if here != folder and not os.listdir(here):
            here.rmdir()
    return removed


def copy_tracked_files(target: Path) -> list[Path]:
    """Makes a folder hold the tracked files of the repository; returns their paths."""
    repository = Path(__file__).resolve().parents[1]
    argv = ["git", "-C", repository, "ls-files", "-z"]
    listed = subprocess.run(argv, check=True, capture_output=True).stdout
    names = [Path(os.fsdecode(name)) for name in listed.split(b"\0") if name]
    wanted = {name: content(repository / name) for name in names}
    # Git still lists a file that was deleted but not committed.
    wanted = {name: found for name, found in wanted.items() if found is not None}
    target.mkdir(parents=True, exist_ok=True)
    removed = sweep(target, {target / name for name in wanted})
    written = 0
    for name, found in wanted.items():
        if content(target / name) != found:
            write(target / name, found)
            written += 1
    # `cargo xtask check` asks git which files exist.
    if not (target / ".git").exists():
        subprocess.run(["git", "init", "--quiet", target], check=True)
    print(f"{len(wanted)} files: {written} written, {removed} removed, the others unchanged", flush=True)
    return sorted(wanted)
