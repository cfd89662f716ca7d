"""Below the Model Context Protocol: a client that may break its rules, lines that are not JSON, cancellation, end of input."""

import json
import os
import queue
import subprocess
import threading
import time
from pathlib import Path

import big_trace
from oracle import Judge

ANSWER_S = 60
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class Lines:
    def __init__(self, binary: Path, root: Path, handshake: bool = True):
        argv = [str(binary), "mcp", "--root", str(root)]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.lines: list[bytes] = []
        self._queue: queue.Queue = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        # What it says must not fill the pipe.
        threading.Thread(target=self.process.stderr.read, daemon=True).start()
        self._number = 100
        if handshake:
            self.handshake()

    def __enter__(self) -> "Lines":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()

    def _read(self) -> None:
        for line in self.process.stdout:
            self.lines.append(line)
            self._queue.put(line)

    def handshake(self) -> dict:
        about = {"name": "check_mcp", "version": "1"}
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": about}
        answer = self.answer(self.request("initialize", hello))
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    def raw(self, data: bytes) -> None:
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message: object) -> None:
        self.raw(json.dumps(message).encode() + b"\n")

    def request(self, method: str, parameters: dict) -> int:
        self._number += 1
        self.send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": parameters})
        return self._number

    def call(self, tool: str, **arguments: object) -> int:
        return self.request("tools/call", {"name": tool, "arguments": arguments})

    def answer(self, number: int, within_s: float = ANSWER_S) -> dict:
        """The answer to a request; other lines are left."""
        end = time.monotonic() + within_s
        while True:
            line = self._queue.get(timeout=max(end - time.monotonic(), 0.001))
            message = json.loads(line)
            if isinstance(message, dict) and message.get("id") == number and "method" not in message:
                return message

    def explained(self) -> str:
        """A short answer: the server still serves."""
        return self.answer(self.call("explain", name="mfu"))["result"]["content"][0]["text"]

    def busy_s(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS_PER_S

    def end(self) -> int:
        """Closes its input; the exit code."""
        self.process.stdin.close()
        return self.process.wait(timeout=ANSWER_S)

    def foreign_lines(self) -> list[bytes]:
        """Lines that are not of the protocol."""
        return [line for line in self.lines if not is_message(line)]


def is_message(line: bytes) -> bool:
    try:
        message = json.loads(line)
    except ValueError:
        return False
    return isinstance(message, dict) and message.get("jsonrpc") == "2.0"


JUNK = [b"not json\n", b"{\n", b"[]\n", b"null\n", b"5\n", b"\n", b"\xff\xfe\x00\n", b"[" * 99_999 + b"\n",
        b'"' + b"x" * 5_000_000 + b'"\n', b'{"jsonrpc":"2.0"}\n', b'{"jsonrpc":"2.0","id":1,"method":5}\n',
        b'{"jsonrpc":"1.0","id":2,"method":"tools/list"}\n',
        b'{"jsonrpc":"2.0","id":{},"method":"tools/list"}\n', b'{"jsonrpc":"2.0","id":3,"method":"no/such"}\n',
        b'{"jsonrpc":"2.0","id":4,"method":"tools/call"}\n',
        b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":[]}\n',
        b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"no_such_tool"}}\n']
# Well-formed, but nothing that a client may begin with.
MISPLACED = [b'{"jsonrpc":"2.0","id":99,"result":{}}\n',
             b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}\n']


def junk(binary, root, early: bool):
    """Lines that nobody should send: during the session, or before it."""
    with Lines(binary, root, handshake=not early) as server:
        for line in JUNK if early else JUNK + MISPLACED:
            try:
                server.raw(line)
                if not early:
                    server.explained()
            except Exception as error:
                yield f"after {line[:60]!r}: {type(error).__name__}, exit code {server.process.poll()}"
                return
        if early:
            server.handshake()
            server.explained()
        yield from ended(server)


def misplaced(binary, root):
    """A session that begins with something else ends with a message."""
    for line in MISPLACED:
        done = subprocess.run([binary, "mcp", "--root", root], input=line, capture_output=True, timeout=ANSWER_S)
        if done.returncode != 3 or not done.stderr.startswith(b"error: ") or done.stdout:
            yield f"{line!r}: exit code {done.returncode}, {done.stdout + done.stderr}"
    done = subprocess.run([binary, "mcp", "--root", root], input=b"", capture_output=True, timeout=ANSWER_S)
    if done.returncode != 0 or done.stdout or done.stderr:
        yield f"no line at all: exit code {done.returncode}, {done.stdout + done.stderr}"


def ended(server: Lines):
    if (code := server.end()) != 0:
        yield f"exit code {code} at the end of input"
    for line in server.foreign_lines():
        yield f"not of the protocol: {line[:100]!r}"


def cancelled(binary, root, takes_s: float):
    """A call that was cancelled stops to cost processor time, and the next is answered."""
    with Lines(binary, root) as server:
        number = server.call("analyze", paths=["job"])
        time.sleep(0.1)
        server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
        before_s = -1.0
        # However busy the machine is: until it rests, or has done all of the work.
        while before_s < server.busy_s() <= takes_s:
            before_s = server.busy_s()
            time.sleep(1)
        if server.busy_s() > 0.7 * takes_s:
            yield f"{server.busy_s():.1f} s of processor time, and the whole takes {takes_s:.1f} s"
        server.explained()
        yield from ended(server)


def left(binary, root):
    with Lines(binary, root) as server:
        server.call("analyze", paths=["job"])
        time.sleep(0.3)
        yield from ended(server)


def below_the_protocol(judge: Judge, args, folder: Path, most: int) -> None:
    root = folder / "large"
    root.mkdir()
    big_trace.job(big_trace.make(args.corpus, folder / "large.json", 200), root / "job", 5)
    judge.check("lines that are not requests", junk(args.rooflens, root, early=False), f"{len(JUNK)} lines")
    judge.check("lines that are not requests, before the handshake", junk(args.rooflens, root, early=True))
    judge.check("sessions that do not begin", misplaced(args.rooflens, root))
    with Lines(args.rooflens, root) as server:
        answer = server.answer(server.call("analyze", paths=["job"]))
        takes_s = server.busy_s()
        text = answer["result"]["content"][0]["text"]
        wrong = [] if "5 ranks" in text and len(text) <= most else [text[:300]]
        judge.check("a trace of 1 GB", [*wrong, *ended(server)], f"{takes_s:.1f} s of processor time")
    judge.check("cancellation ends the work", cancelled(args.rooflens, root, takes_s))
    judge.check("end of input during a call", left(args.rooflens, root))
