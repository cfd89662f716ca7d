"""An S3 API on this machine, and a network in front of it that fails when told to.

    python3 -m store.s3 PORT     serves moto until it is killed

One thread serves: with several, moto lets two writers win a conditional PUT.
"""

import contextlib
import logging
import re
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

ACCESS, SECRET = "AKIATORTUREKEYID0001", "torture/Secret+Key9hTq2vX7bLm4NpRs8Wz"
BUCKET = "torture"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def environment(port: int) -> dict[str, str]:
    address = f"http://127.0.0.1:{port}"
    return {
        "AWS_ACCESS_KEY_ID": ACCESS, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT": address, "AWS_ENDPOINT_URL": address, "AWS_ALLOW_HTTP": "true",
        "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1",
    }


@contextlib.contextmanager
def server():
    """Starts the API with one empty bucket; gives its port and a client."""
    import boto3
    from botocore.config import Config

    port = free_port()
    argv = [sys.executable, "-m", "store.s3", str(port)]
    process = subprocess.Popen(argv, cwd=Path(__file__).resolve().parents[1], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(2400):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            if process.poll() is not None:
                raise SystemExit("the S3 server ended before it began")
            time.sleep(0.05)
        config = Config(proxies={}, retries={"max_attempts": 2}, read_timeout=120)
        client = boto3.client(
            "s3", endpoint_url=f"http://127.0.0.1:{port}", aws_access_key_id=ACCESS, aws_secret_access_key=SECRET,
            region_name="us-east-1", config=config,
        )
        client.create_bucket(Bucket=BUCKET)
        yield port, client
    finally:
        process.kill()
        process.wait()


class Network:
    """Carries whole requests to the API, each on a connection of its own.

    A request that is cut never reaches the API, as S3 drops a PUT whose body is not whole.
    """

    def __init__(self, target: int):
        self.target, self.sent, self.requests, self.lock = target, 0, [], threading.Lock()
        self.cut_after = None  # bytes that may pass; the connection beyond is reset, later ones refused
        self.lost_answer = None  # the answer to this request, counted from 0, is lost; all others pass
        self.hold = None  # requests that match this wait for `release`, and are lost if `dropped`
        self.held, self.release, self.dropped = threading.Event(), threading.Event(), False
        self.listen()

    def listen(self, port=0):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(("127.0.0.1", port))
        self.socket.listen(64)
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.accept, args=(self.socket,), daemon=True).start()

    def repair(self):
        self.cut_after = self.lost_answer = None
        self.close()
        self.listen(self.port)

    def close(self):
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()

    def accept(self, listening):
        while True:
            try:
                client, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=self.carry, args=(client,), daemon=True).start()

    def carry(self, client):
        with contextlib.suppress(OSError), client:
            request = self.request(client)
            if request is None:
                return
            with self.lock:
                number = len(self.requests)
                self.requests.append(request.split(b" HTTP/", 1)[0].decode())
            if self.hold and re.search(self.hold, self.requests[number]):
                self.held.set()
                self.release.wait(60)
                if self.dropped:
                    reset(client)
                    return
            with socket.create_connection(("127.0.0.1", self.target)) as api:
                api.sendall(request)
                answer = b"".join(iter(lambda: api.recv(1 << 16), b""))
            if number == self.lost_answer:
                reset(client)
            else:
                client.sendall(answer)

    def request(self, client) -> bytes | None:
        """A whole request, with the connection closed behind it; `None` where it was cut."""
        data, size = b"", None
        while size is None or len(data) < size:
            piece = client.recv(4096)
            if not piece:
                return None
            data += piece
            with self.lock:
                self.sent += len(piece)
                is_cut = self.cut_after is not None and self.sent > self.cut_after
            if is_cut:
                self.close()
                reset(client)
                return None
            if size is None and b"\r\n\r\n" in data:
                head = data.split(b"\r\n\r\n", 1)[0]
                length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
                size = len(head) + 4 + (int(length[1]) if length else 0)
        return re.sub(rb"(?i)\r\n\r\n", b"\r\nconnection: close\r\n\r\n", data, count=1)


def reset(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def serve(port: int):
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import run_simple

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    application = DomainDispatcherApplication(create_backend_app)
    run_simple("127.0.0.1", port, application, threaded=False)


if __name__ == "__main__":
    serve(int(sys.argv[1]))
