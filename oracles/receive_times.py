#!/usr/bin/env python3
"""When tokens reach this machine, by the kernel (`SO_TIMESTAMPNS`): a plain client on raw sockets for few streams."""

import argparse
import json
import re
import selectors
import socket
import struct
import sys
import time

from mock_server import percentile

SO_TIMESTAMPNS = getattr(socket, "SO_TIMESTAMPNS", 35)
EVENT = re.compile(rb'data: \{"id":"cmpl-(\d+)"[^\n]*"text":"[^"]+"')


class Stream:
    """One connection that asks again and again."""

    def __init__(self, address, body):
        self.socket = socket.create_connection(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        head = f"POST /v1/completions HTTP/1.1\r\nHost: mock\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        self.request = head.encode() + body
        self.answers = []

    def send(self):
        self.rest = b""
        self.answers.append({"sent_ns": time.time_ns(), "number": None, "tokens_ns": []})
        self.socket.sendall(self.request)

    def receive(self):
        """Reads what is there; whether the answer is complete."""
        data, control, _, _ = self.socket.recvmsg(65536, 256)
        if not data:
            raise ConnectionError("the server closed the connection")
        at = time.time_ns()
        for level, kind, value in control:
            if level == socket.SOL_SOCKET and kind == SO_TIMESTAMPNS:
                seconds, nanos = struct.unpack("qq", value[:16])
                at = seconds * 1_000_000_000 + nanos
        self.rest += data
        answer = self.answers[-1]
        end = 0
        for event in EVENT.finditer(self.rest):
            answer["number"] = int(event[1])
            answer["tokens_ns"].append(at)
            end = event.end()
        self.rest = self.rest[end:]
        return self.rest.endswith(b"0\r\n\r\n")


def run(port, concurrency, requests, input_tokens, output_tokens):
    """All answers: number by the server, time of sending, kernel receive time of each token."""
    body = {"model": "mock", "prompt": " ".join(["word"] * input_tokens), "max_tokens": output_tokens, "stream": True}
    body = json.dumps(body).encode()
    streams = [Stream(("127.0.0.1", port), body) for _ in range(concurrency)]
    left = requests
    with selectors.DefaultSelector() as selector:
        for stream in streams[:left]:
            selector.register(stream.socket, selectors.EVENT_READ, stream)
            stream.send()
            left -= 1
        while selector.get_map():
            for key, _ in selector.select():
                if not key.data.receive():
                    continue
                if left > 0:
                    left -= 1
                    key.data.send()
                else:
                    selector.unregister(key.fileobj)
    for stream in streams:
        stream.socket.close()
    return [answer for stream in streams for answer in stream.answers]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("--concurrency", type=int, default=8)
    parser.add_argument("--requests", type=int, default=80)
    parser.add_argument("--input-tokens", type=int, default=100)
    parser.add_argument("--output-tokens", type=int, default=64)
    options = parser.parse_args()
    answers = run(options.port, options.concurrency, options.requests, options.input_tokens, options.output_tokens)
    ttft = [answer["tokens_ns"][0] - answer["sent_ns"] for answer in answers]
    itl = [b - a for answer in answers for a, b in zip(answer["tokens_ns"], answer["tokens_ns"][1:])]
    spread = {name: {f"p{p}_ns": percentile(values, p) for p in (50, 99, 100)} for name, values in (("ttft", ttft), ("itl", itl))}
    print(json.dumps({"requests": len(answers), "tokens": sum(len(a["tokens_ns"]) for a in answers), **spread}))


if __name__ == "__main__":
    sys.exit(main())
