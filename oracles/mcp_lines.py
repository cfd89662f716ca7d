"""A client of the Model Context Protocol that may break its rules: it writes lines and reads lines."""

import json
import os
import queue
import subprocess
import threading
import time
from pathlib import Path

ANSWER_S = 60
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class Lines:
    """A server, and every line that it wrote."""

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
        """Processor time of the server so far."""
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
