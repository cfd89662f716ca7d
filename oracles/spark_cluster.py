"""A Spark cluster on this machine, whose parts can be killed and started again."""

import os
import signal
import subprocess
import time
from pathlib import Path


class Cluster:
    """What `spark-cluster start VENV DIR` started, found by the process ids that it left in DIR."""

    def __init__(self, tool: Path, venv: Path, folder: Path, port: int = 15002):
        self.tool, self.venv, self.folder, self.port = tool, venv, folder, port
        self.url = f"sc://127.0.0.1:{port}"

    def start(self):
        """Starts everything, until the Connect server listens."""
        environment = os.environ | {"PORT": str(self.port)}
        with open(self.folder.parent / f"{self.folder.name}.log", "a", encoding="utf-8") as log:
            command = [self.tool, "start", self.venv, self.folder]
            subprocess.run(command, check=True, env=environment, stdout=log, stderr=log, timeout=600)

    def stop(self):
        executors = [child for name in self.workers() for child in children(self.process(name))]
        subprocess.run([self.tool, "stop", self.folder], check=True, timeout=60)
        for process in executors:
            kill(process)
        time.sleep(1)

    def workers(self) -> list[str]:
        return sorted(file.stem for file in self.folder.glob("worker*.pid"))

    def process(self, name: str) -> int:
        return int((self.folder / f"{name}.pid").read_text())

    def runs(self, name: str) -> bool:
        try:
            # A process that has died and was not waited for has none.
            return Path(f"/proc/{self.process(name)}/cmdline").read_bytes() != b""
        except OSError:
            return False

    def kill(self, name: str) -> list[int]:
        """Kills a part and its children (a worker's executors) with SIGKILL; their process ids."""
        worker = self.process(name)
        killed = [worker, *children(worker)]
        for process in killed:
            kill(process)
        return killed

    def command(self, name: str) -> list[str]:
        """Class and arguments of a part that runs; what stands before them, and its environment, `spark-class` adds."""
        words = Path(f"/proc/{self.process(name)}/cmdline").read_bytes().decode().strip("\0").split("\0")
        begin = next(at for at, word in enumerate(words) if word.startswith("org.apache.spark.deploy."))
        return words[begin:]

    def restart(self, name: str, command: list[str]):
        """Starts a part that was killed, as it was started before."""
        home = next((self.venv / "lib").glob("python3*/site-packages/pyspark"))
        python = str(self.venv / "bin/python")
        environment = os.environ | {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": python}
        with open(self.folder / f"{name}.log", "a", encoding="utf-8") as log:
            started = subprocess.Popen(
                [home / "bin/spark-class", *command],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        (self.folder / f"{name}.pid").write_text(str(started.pid))

    def wait_for_executors(self, count: int, seconds: float = 60) -> bool:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if sum(len(children(self.process(name))) for name in self.workers()) >= count:
                return True
            time.sleep(0.5)
        return False


def children(process: int) -> list[int]:
    try:
        lists = [(task / "children").read_text() for task in Path(f"/proc/{process}/task").iterdir()]
    except OSError:
        return []
    return [int(word) for text in lists for word in text.split()]


def kill(process: int):
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        pass
