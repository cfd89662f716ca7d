"""`python -m rooflens …`: runs the program `rooflens` that was installed with this package."""

import os
import shutil
import subprocess
import sys
import sysconfig
from typing import List, Optional

NOT_FOUND = 3


def find_program() -> Optional[str]:
    """The program beside this interpreter, or else the first one on PATH."""
    beside = (sysconfig.get_path("scripts"), os.path.join(sys.prefix, "bin"))
    return shutil.which("rooflens", path=os.pathsep.join(beside)) or shutil.which("rooflens")


def main(arguments: List[str]) -> int:
    program = find_program()
    if program is None:
        print(f"error: the program rooflens is not installed beside {sys.executable}, nor on PATH", file=sys.stderr)
        print(f"hint: {sys.executable} -m pip install --force-reinstall rooflens", file=sys.stderr)
        return NOT_FOUND
    try:
        if os.name == "posix":
            # In place of the interpreter: signals and the exit code need no passing on.
            os.execv(program, [program, *arguments])
        return subprocess.call([program, *arguments])
    except OSError as error:
        print(f"error: cannot run {program}: {error.strerror}", file=sys.stderr)
        return NOT_FOUND


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
