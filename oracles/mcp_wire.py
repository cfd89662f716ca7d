"""Below the protocol: lines that are not JSON, cancellation, end of input."""

import subprocess
import time
from pathlib import Path

import big_trace
from mcp_lines import ANSWER_S, Lines
from oracle import Judge

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
    """The client goes away during a call."""
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
