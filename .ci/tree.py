#!/usr/bin/env python3
"""Makes a folder hold the tracked files of a repository, and nothing else.

    python3 .ci/tree.py FOLDER      (from within the repository)

A file whose content is the same is left alone, with its time: cargo goes by times, so what did not
change is not built again, whichever clone the files come from. What git ignores and what nobody added
to it is not copied: the gate checks what others will get.
"""

import os
import stat
import subprocess
import sys
from pathlib import Path


def content(path: Path):
    """The bytes of a file and whether it can be run, or where a link leads; None where there is neither."""
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
    """Removes what is not kept, and folders that are empty then; git's own folder stays."""
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


def main() -> int:
    target = Path(sys.argv[1])
    listed = subprocess.run(["git", "ls-files", "-z"], check=True, capture_output=True).stdout
    wanted = {Path(os.fsdecode(name)): None for name in listed.split(b"\0") if name}
    wanted = {name: content(name) for name in wanted}
    # A file that was deleted but not yet committed is still listed.
    wanted = {name: what for name, what in wanted.items() if what is not None}
    target.mkdir(parents=True, exist_ok=True)
    removed = sweep(target, {target / name for name in wanted})
    written = 0
    for name, what in wanted.items():
        if content(target / name) != what:
            write(target / name, what)
            written += 1
    # `cargo xtask check` asks git which files there are.
    if not (target / ".git").exists():
        subprocess.run(["git", "init", "--quiet", target], check=True)
    print(f"{len(wanted)} files: {written} written, {removed} removed, the others as they were")
    return 0


if __name__ == "__main__":
    sys.exit(main())
