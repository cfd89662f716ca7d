"""Nothing private of a report may be in what Rooflens writes.

Nsight's files hold the environment of every process of the machine they were recorded on, its name, its users and their
command lines. This finds them by itself (every text of every SQLite table, the plain bytes of everything else), plants
some more in a copy of each database, lets Rooflens write all it can from the file, and looks for each value in all of
it: plain files byte by byte, Parquet cell by cell.
"""

import re
import shutil
import sqlite3
from pathlib import Path

import duckdb

from oracle import main, run

ASSIGNMENT = re.compile(rb"(?:^|[\0\n\"' ;])([A-Z][A-Z0-9_]{2,})=([^\0\n\";]{6,})")
TELLING = re.compile(rb"host.?name|user.?name|:ARGUMENT_|:COMMAND", re.IGNORECASE)
HOME = re.compile(rb"(?:/home/|/Users/)([A-Za-z0-9._-]{3,})")
PLANTED = b"planted-s3cr3t-value"
# Words of the trade: a variable may hold one, and a report may name it for its own reasons.
COMMON = {b"compute,utility", b"x86_64-linux-gnu", b"UTF-8", b"C.UTF-8", b"en_US.UTF-8"}


def texts(path: Path):
    """Every text of a database, with the word that stands beside it."""
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    database.text_factory = bytes
    for (table,) in database.execute("select name from sqlite_master where type = 'table'").fetchall():
        for row in database.execute(f'select * from "{table.decode()}"'):
            cells = [cell for cell in row if isinstance(cell, bytes)]
            for cell in cells:
                yield cells[0], cell


def private(path: Path) -> set[bytes]:
    """Values of the environment, names of machines and people."""
    found = set()
    if path.suffix == ".sqlite":
        for beside, text in texts(path):
            found.update(value for _, value in ASSIGNMENT.findall(text))
            found.update(HOME.findall(text))
            if TELLING.search(beside) and beside != text:
                found.add(text)
    else:
        found.update(value for _, value in ASSIGNMENT.findall(path.read_bytes()) if value.isascii())
        found.update(HOME.findall(path.read_bytes()))
    trimmed = {value.strip() for value in found}
    return {value for value in trimmed if len(value) >= 6 and not value.replace(b".", b"").isdigit()} - COMMON


def plant(path: Path, folder: Path) -> Path:
    """A copy with secrets where nsys puts them, and where a program may: in the name of a range."""
    copy = Path(shutil.copy(path, folder / path.name))
    copy.chmod(0o644)
    database = sqlite3.connect(copy)
    plain = PLANTED.decode()
    block = f"PATH=/usr/bin\0HF_TOKEN={plain}\0HOME=/home/{plain}\0"
    statements = [
        ("update TARGET_INFO_SYSTEM_ENV set value = ? where name = 'DeviceEnvironment'", block),
        ("insert into META_DATA_CAPTURE (name, value) values ('PROCESS_0:ENVIRONMENT_0', ?)", f"API_KEY={plain}"),
        ("insert into StringIds (id, value) values (987654321, ?)", block),
        ("update NVTX_EVENTS set textId = null, text = ? where rowid in (select rowid from NVTX_EVENTS where eventType in (59, 60) limit 1)", f"warm up HF_TOKEN={plain} /home/{plain}/run.py"),
    ]
    for statement, value in statements:
        try:
            database.execute(statement, (value,))
        except sqlite3.OperationalError:
            pass  # not every version has every table
    database.commit()
    return copy


def written(folder: Path):
    """Everything under a folder, as bytes to look through."""
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".parquet":
            table = duckdb.sql(f"from '{path}'").fetchall()
            yield path, "\n".join(str(cell) for row in table for cell in row).encode()
        elif path.is_file():
            yield path, path.read_bytes()


def commands(path: Path, out: Path):
    if path.suffix == ".ncu-rep":
        return [["kernels", "analyze", path, "-o", out / "kernels"]]
    return [["analyze", path, "-o", out / "run"], ["kernels", "top", path, "-o", out / "top.yaml"]]


def leaks(binary: Path, path: Path, out: Path, secrets: set[bytes]):
    for number, words in enumerate(commands(path, out)):
        done = run(binary, *words)
        (out / f"{number}.out").write_bytes(done.stdout + done.stderr.encode())
    for file, content in written(out):
        # The path that was given on the command line is the caller's own.
        content = content.replace(str(path).encode(), b"").replace(str(out).encode(), b"")
        yield from (f"{file.relative_to(out)} has {secret[:80]!r}" for secret in secrets if secret in content)


def check_all(judge, args, scratch: Path) -> None:
    values = 0
    for path in sorted([*args.corpus.glob("nsys/*.sqlite"), *args.corpus.glob("ncu/*.ncu-rep")]):
        out, copies = scratch / "out", scratch / "copies"
        out.mkdir()
        copies.mkdir()
        if path.suffix == ".sqlite":
            path = plant(path, copies)
        secrets = private(path)
        values += len(secrets)
        judge.check(path.name, leaks(args.rooflens, path, out, secrets), f"{len(secrets)} values")
        shutil.rmtree(out)
        shutil.rmtree(copies)
    judge.check("private values are found", [] if values >= 50 else [f"only {values}"])


if __name__ == "__main__":
    main(check_all)
