"""`rooflens top` on a real pseudo-terminal: it draws, follows keys and resizes, and leaves the terminal as it was."""

import atexit
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from pathlib import Path

from oracle import FIXTURES, main, must, run

TRACE = FIXTURES / "kineto/decode.json"
ENTERED, LEFT = b"\x1b[?1049h", b"\x1b[?1049l"
# Long enough for a machine under load; a test that passes never waits for it.
PATIENCE_S = 120
COLOR = re.compile(rb"\x1b\[[0-9;]*3[0-9](;[0-9;]*)?m")


class Screen:
    def __init__(self, binary: Path, *words: str, size: tuple[int, int] = (24, 80), **environment: str) -> None:
        self.master, self.slave = pty.openpty()
        self.resize(*size)
        self.before = termios.tcgetattr(self.slave)
        kept = {key: os.environ[key] for key in ("PATH", "HOME", "TMPDIR") if key in os.environ}
        self.process = subprocess.Popen(
            [str(binary), "top", *words],
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            start_new_session=True,
            env={**kept, "TERM": "xterm-256color", "LANG": "C.UTF-8", **environment},
        )
        self.seen = b""
        # Where a check fails, the program is not to stay.
        atexit.register(self.process.kill)

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def read(self, until_s: float) -> bool:
        """Takes what there is; false where nothing came in time."""
        ready, _, _ = select.select([self.master], [], [], max(0.0, until_s - time.monotonic()))
        if ready:
            try:
                self.seen += os.read(self.master, 1 << 16)
            except OSError:
                return False
        return bool(ready)

    def wait(self, *texts: str, gone: str | None = None, rows: int = 0) -> None:
        """Waits until all texts are on the screen and one is not, and the screen has at least so many rows."""
        until = time.monotonic() + PATIENCE_S

        def is_there(shown: str) -> bool:
            is_gone = gone is None or gone not in shown
            return all(text in shown for text in texts) and is_gone and shown.count("\n") + 1 >= rows

        while not is_there(drawn(self.seen)):
            assert self.read(until), f"{texts} not drawn:\n{drawn(self.seen)}"

    def end(self, code: int = 0) -> None:
        until = time.monotonic() + PATIENCE_S
        while self.process.poll() is None and time.monotonic() < until:
            self.read(min(until, time.monotonic() + 0.1))
        while self.read(time.monotonic() + 0.1):
            pass
        assert self.process.poll() == code, f"exit code {self.process.poll()}, not {code}: {self.seen[-500:]!r}"
        assert self.seen.count(ENTERED) == 1 and LEFT in self.seen, "the screen was not given back"
        assert self.seen.rfind(b"\x1b[?25h") > self.seen.rfind(b"\x1b[?25l"), "the cursor stays hidden"
        assert termios.tcgetattr(self.slave) == self.before, "the terminal is not as it was"
        os.close(self.master)
        os.close(self.slave)


def drawn(output: bytes) -> str:
    """The screen after what was written: a terminal that knows where the cursor is and nothing else."""
    cells: dict[tuple[int, int], str] = {}
    row = column = 1
    text = output.decode("utf-8", "replace")
    for code, letter in re.findall(r"\x1b\[([0-9;?]*[A-Za-z])|([^\x00-\x1f])", text):
        if code.endswith("H"):
            row, column = (int(part or 1) for part in (code[:-1] + ";1").split(";")[:2])
        elif code == "2J":
            cells.clear()
        elif letter:
            cells[row, column] = letter
            column += 1
    rows = range(1, max((row for row, _ in cells), default=0) + 1)
    lines = ("".join(cells.get((row, column), " ") for column in range(1, 300)).rstrip() for row in rows)
    return "\n".join(lines)


def keys_lead_to_kernels_and_back(binary: Path, run: Path) -> None:
    screen = Screen(binary, str(run))
    screen.wait("1 Ledger", "4 Layers", "median step", "q quit")
    assert COLOR.search(screen.seen), "no colours on a terminal that has them"
    screen.press(b"\r\r")
    screen.wait("step › ", "kernels", "share")
    screen.press(b"?")
    screen.wait("Keys", "these keys")
    screen.press(b"x/zzz")
    screen.wait("no row has this text", "/zzz")
    # An escape is a key of its own only where nothing follows it: its effect is waited for.
    screen.press(b"\x1b")
    screen.wait("share", gone="no row has this text")
    screen.press(b"3")
    screen.wait("launches", "step 2")
    screen.resize(40, 120)
    screen.process.send_signal(signal.SIGWINCH)
    screen.wait("q quit", rows=40)
    screen.press(b"q")
    screen.end()


def ctrl_c_and_termination_restore(binary: Path, run: Path) -> None:
    screen = Screen(binary, str(run))
    screen.wait("q quit")
    screen.press(b"\x03")
    screen.end()
    screen = Screen(binary, str(run))
    screen.wait("q quit")
    screen.process.send_signal(signal.SIGTERM)
    screen.end()


def it_ends_with_its_terminal(binary: Path, run: Path) -> None:
    screen = Screen(binary, str(run))
    screen.wait("q quit")
    os.close(screen.slave)
    os.close(screen.master)
    # Without a terminal it would read nothing for ever.
    code = screen.process.wait(timeout=PATIENCE_S)
    assert code in (0, 130, -signal.SIGHUP), f"exit code {code} without a terminal"


def no_color_is_respected(binary: Path, run: Path) -> None:
    screen = Screen(binary, str(run), NO_COLOR="1")
    screen.wait("q quit")
    screen.press(b"q")
    screen.end()
    assert not COLOR.search(screen.seen), "colours although NO_COLOR is set"


def without_a_terminal_it_says_what_helps(binary: Path, _run: Path) -> None:
    ended = run(binary, "top", TRACE)
    assert ended.code == 2 and "rooflens kernels top" in ended.stderr, ended


def check_all(judge, args, folder: Path) -> None:
    must(args.rooflens, "-q", "analyze", TRACE, "-o", folder / "run")
    for check in (keys_lead_to_kernels_and_back, ctrl_c_and_termination_restore, it_ends_with_its_terminal,
                  no_color_is_respected, without_a_terminal_it_says_what_helps):  # fmt: skip
        judge.check(check.__name__, failures(check, args.rooflens, folder / "run"))


def failures(check, binary: Path, run_folder: Path):
    check(binary, run_folder)
    yield from ()


if __name__ == "__main__":
    main(check_all)
