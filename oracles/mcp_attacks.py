"""Calls that an agent was talked into: each must be answered quickly, shortly, and with nothing from outside."""

import json
import os
import shutil
import socket
import stat
from dataclasses import dataclass
from pathlib import Path

from oracle import REPOSITORY, hub_snapshot, must

# Tools that read traces, with the argument that takes paths.
READERS = {"analyze": {}, "advise": {}, "list_tables": {}, "read_table": {"table": "kernel_dim"}}

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


@dataclass
class Attack:
    tool: str
    arguments: dict
    # Whether it must be an error. Otherwise it must only be harmless.
    refused: bool = True

    def __str__(self) -> str:
        shown = str(self.arguments)
        return f"{self.tool} {shown[:90]}{'…' if len(shown) > 90 else ''}"


def attacks(files: Files) -> list[Attack]:
    return [*paths(files), *models(files), *numbers(), *words(), *types()]


def reading(path: str, refused: bool = True) -> list[Attack]:
    found = [Attack(tool, {"paths": [path], **more}, refused) for tool, more in READERS.items()]
    return [*found, Attack("compare", {"base": path, "others": ["decode.json"]}, refused),
            Attack("compare", {"base": "decode.json", "others": [path]}, refused)]


def paths(files: Files) -> list[Attack]:
    outside = files.outside / "secret.json"
    deep = "/".join([".."] * 40)
    found = []
    for path in [str(outside), "../outside/secret.json", "two_ranks/../../outside/secret.json", "link.json",
                 "linked/secret.json", "linked", "linked/run", "job", "job/rank-0.json", "run_tables", "run_table",
                 "/proc/self/environ", "/proc/self/cmdline", "/dev/zero", "/dev/stdin", f"{deep}/etc/passwd", "-",
                 "pipe.json", "pipes", "pipes/rank-0.json", "socket.json", "zero.json", "decode.json\0", "\0", " ", "~",
                 "a" * 5_000, "a/" * 50_000 + "b", "file:///etc/passwd", "http://127.0.0.1:1/trace.json",
                 "s3://bucket/trace.json", "*.json", "$(cat /etc/passwd)", "decode.json;id"]:
        found += reading(path)
    # A run whose findings or report lead outside may be analysed from its own tables.
    # The whole root has links that lead outside: to refuse it or to leave them out are both right.
    for path in ("run_findings", "run_report", "", "."):
        found += reading(path, refused=False)
    found.append(Attack("analyze", {"paths": []}))
    found.append(Attack("analyze", {"paths": ["decode.json"] * 5_000}, refused=False))
    found.append(Attack("analyze", {"paths": ["decode.json", str(outside)]}))
    found.append(Attack("compare", {"base": "decode.json", "others": []}, refused=False))
    return found


def models(files: Files) -> list[Attack]:
    """Configs outside, and names of the hub that are paths."""
    found = []
    for model in [str(files.outside / "config.json"), str(files.outside), "../outside/config.json", "model", "wordy",
                  "model/config.json", "linked/config.json", "pipe.json", "piped_model", "zero.json", "..", ".", "/", "-",
                  "org/..",
                  "../../org/tiny", "org/tiny/../../../outside", "org/tiny@../../../../outside", "org/tiny@/etc",
                  "org/tiny@refs/../../..", "models--org--tiny", "org--tiny", "org/absent", "/proc/self/environ",
                  "org/tiny\0", "a" * 10_000]:
        # The root has a config of its own.
        refused = model != "."
        found.append(Attack("cost", {"configs": [model], "hardware": ["h100"]}, refused))
        found.append(Attack("analyze", {"paths": ["decode.json"], "model": model}, refused))
        found.append(Attack("advise", {"paths": ["decode.json"], "model": model}, refused))
    return found


def numbers() -> list[Attack]:
    table = {"paths": ["decode-eager.json"], "table": "kernels"}
    found = [Attack("read_table", {**table, "limit": limit}) for limit in (10**9, 201, -1, 2**64, 1.5, "200", True)]
    found += [Attack("read_table", {**table, "offset": offset}) for offset in (-1, 2**64, 0.5)]
    found.append(Attack("read_table", {**table, "limit": 200}, refused=False))
    found.append(Attack("read_table", {**table, "offset": 2**63, "limit": 0}, refused=False))
    found.append(Attack("read_table", {**table, "columns": ["dur_ns"] * 20_000, "limit": 200}, refused=False))
    for key, text in [("batch", "1..1000000000000"), ("batch", "0..1000000000000:+1"), ("prefill", "9" * 30),
                      ("context", "-1"), ("batch", "1..0"), ("batch", "1..9:+0"), ("batch", "1..9:x1"),
                      ("tp", "0"), ("pp", "1..1000000:+1"), ("batch", "1," * 100_000), ("tpot", "nan"), ("ttft", "-1s"),
                      ("tpot", "1e999s"), ("dtype", "fp0"), ("hardware", ["../../etc/passwd"]),
                      ("hardware", ["h100"] * 99_999),
                      ("set", ["num_hidden_layers=99999999999999999999"]), ("set", ["hidden_size=-1"]),
                      ("set", ["__proto__=1"]), ("set", ["="]), ("set", ["num_hidden_layers=" + "[" * 10_000])]:
        found.append(Attack("cost", {"configs": ["config.json"], key: text}, refused=False))
    wide = {"batch": "1..1000:+1", "prefill": "1..1000:+1"}
    found.append(Attack("cost", {"configs": ["config.json"], "hardware": ["h100"], **wide}, refused=False))
    found.append(Attack("cost", {"configs": []}))
    found.append(Attack("cost", {"configs": ["config.json"] * 3}))
    for key in ("tp", "batch", "context"):
        for number in (0, 2**64 - 1, -1, 2**70):
            known = {"paths": ["decode-eager.json"], "model": "config.json", "hardware": "h100", key: number}
            found.append(Attack("analyze", known, refused=False))
    return found


def words() -> list[Attack]:
    """Text that means something elsewhere: to a shell, to SQL, to an expression."""
    found = []
    for text in ["'; DROP TABLE kernels; --", "kernels' OR '1'='1", "(a+)+$", "(" * 5_000, ".*", "../tables/kernels",
                 "kernels.parquet", "/etc/passwd", "\0", "", "\x1b[2J", "\u202e", "x" * 1_000_000]:
        table = {"paths": ["decode-eager.json"]}
        found.append(Attack("read_table", {**table, "table": text}))
        found.append(Attack("read_table", {**table, "table": "kernels", "columns": [text]}))
        found.append(Attack("read_table", {**table, "table": "kernels", "largest": text}))
        found.append(Attack("explain", {"name": text}))
        found.append(Attack("analyze", {**table, "hardware": text, "model": "config.json"}))
    return found


def types() -> list[Attack]:
    wrong = [None, 5, {}, [5], [None], [["decode.json"]], True]
    found = [Attack("analyze", {"paths": value}) for value in wrong]
    found += [Attack("explain", {"name": value}) for value in (None, 5, [], {})]
    found += [Attack("cost", {"configs": ["config.json"], "hardware": 5}), Attack("compare", {"base": []})]
    return [*found, *(Attack(tool, {}) for tool in ("analyze", "advise", "compare", "cost", "explain", "list_tables"))]
