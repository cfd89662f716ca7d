"""The files that a server is asked for: those below its root, and those outside that it must never read."""

import json
import os
import shutil
import socket
import stat
from pathlib import Path
from oracle import hub_snapshot, must, REPOSITORY


# Whatever lies outside has this in its names.
SECRET = "SECRETOUTSIDE"
FIXTURES = REPOSITORY / "fixtures"


class Files:
    """A root with traces, a run and a config; an outside with the same, marked as secret."""

    def __init__(self, folder: Path, binary: Path):
        self.root, self.outside, self.cache = folder / "root", folder / "outside", folder / "cache"
        for place in (self.root, self.outside, self.cache):
            place.mkdir()
        self._good(binary)
        self._secret(binary)
        self._links()
        self._special()

    def _good(self, binary: Path) -> None:
        must(binary, "self-test", "--write-example", self.root)
        shutil.copytree(FIXTURES / "kineto/two_ranks", self.root / "two_ranks")
        shutil.copy(FIXTURES / "kineto/decode.json", self.root / "decode.json")
        must(binary, "analyze", self.root / "decode-eager.json", "-o", self.root / "run")
        hub_snapshot(self.cache, "org/tiny", (self.root / "config.json").read_text())

    def _secret(self, binary: Path) -> None:
        trace = (FIXTURES / "kineto/decode.json").read_text().replace("nvjet_tst", SECRET)
        (self.outside / "secret.json").write_text(trace)
        must(binary, "analyze", self.outside / "secret.json", "-o", self.outside / "run")
        config = json.loads((self.root / "config.json").read_text())
        (self.outside / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 77}))
        (self.outside / "words.json").write_text(f"{SECRET} is not JSON")

    def _links(self) -> None:
        """Ways out: a file, a folder, a rank of a job, the tables of a run, a model's config."""
        link(self.root / "link.json", self.outside / "secret.json")
        link(self.root / "linked", self.outside)
        link(self.root / "job/rank-0.json", self.outside / "secret.json")
        link(self.root / "model/config.json", self.outside / "config.json")
        link(self.root / "wordy/config.json", self.outside / "words.json")
        for name in ("tables", "findings", "report"):
            shutil.copytree(self.root / "run", self.root / f"run_{name}")
            shutil.rmtree(self.root / f"run_{name}" / name)
            link(self.root / f"run_{name}" / name, self.outside / "run" / name)
        shutil.copytree(self.outside / "run", self.root / "run_table")
        for table in (self.root / "run_table/tables").iterdir():
            table.unlink()
            link(table, self.outside / "run/tables" / table.name)

    def _special(self) -> None:
        os.mkfifo(self.root / "pipe.json")
        (self.root / "pipes").mkdir()
        os.mkfifo(self.root / "pipes/rank-0.json")
        (self.root / "piped_model").mkdir()
        os.mkfifo(self.root / "piped_model/config.json")
        if os.geteuid() == 0:
            os.mknod(self.root / "zero.json", stat.S_IFCHR | 0o600, os.makedev(1, 5))
        with socket.socket(socket.AF_UNIX) as listener:
            here = Path.cwd()
            os.chdir(self.root)  # the path of a socket has a short limit
            listener.bind("socket.json")
            os.chdir(here)


def link(at: Path, to: Path) -> None:
    at.parent.mkdir(exist_ok=True)
    at.symlink_to(to)
