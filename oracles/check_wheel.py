"""The wheel: what is in it, that it installs and starts anywhere, and that its types are true.

auditwheel, twine, pip, mypy and mypy's stubtest also judge the wheel. A clean virtual environment without a compiler
on its path gets nothing but the wheel, and is as before once it is uninstalled. `typed_user.py` uses every public name:
mypy --strict accepts it, and every type that it claims is the type at run time.
"""

import ast
import base64
import email
import hashlib
import re
import shutil
import statistics
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from oracle import FIXTURES, WHEEL, install, installed_environment, main, said


LARGEST = 40_000_000
TAG = "cp39-abi3-manylinux_2_28_x86_64"
OLDEST_PYTHON = (3, 9)
STARTS = 20
SLOWER_BY_S = 0.030
HERE = Path(__file__).parent
EXAMPLE = FIXTURES / "kineto/decode.json"
# The attributes of these classes are the tables of an answer: `typed_user.py` shows that they are there.
ALLOWED = r"""
rooflens\._rooflens\.(Analysis|Comparison|Cost)\.__getattr__
rooflens\._rooflens\.Analysis\.(kernels|ledger|operators|phases)
"""


def contents(wheel: Path):
    """Name and size, metadata, a record of every file, and Python that the oldest interpreter reads."""
    if not wheel.name.endswith(f"-{TAG}.whl"):
        yield f"{wheel.name} is not for {TAG}"
    if wheel.stat().st_size >= LARGEST:
        yield f"{wheel.stat().st_size:,} bytes, and at most {LARGEST:,} are allowed"
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        info = next(name for name in names if name.endswith(".dist-info/METADATA")).rpartition("/")[0]
        metadata = email.message_from_bytes(archive.read(f"{info}/METADATA"))
        for needed in metadata.get_all("Requires-Dist", []):
            if not re.search(r";.*\bextra\s*==", needed):
                yield f"needs {needed}"
        if metadata["Requires-Python"] != f">={'.'.join(map(str, OLDEST_PYTHON))}" or not metadata.get_payload().strip():
            yield f"Requires-Python {metadata['Requires-Python']}, a description of {len(metadata.get_payload())} characters"
        if f"Tag: {TAG}" not in archive.read(f"{info}/WHEEL").decode().splitlines():
            yield "the file WHEEL has another tag"
        yield from recorded(archive, f"{info}/RECORD", names)
        for wanted in ("rooflens/py.typed", "rooflens/_rooflens.abi3.so", f"{info}/entry_points.txt"):
            if wanted not in names:
                yield f"{wanted} is missing"
        for name in names:
            if name.endswith((".py", ".pyi")):
                ast.parse(archive.read(name), name, feature_version=OLDEST_PYTHON)


def recorded(archive: zipfile.ZipFile, record: str, names: list[str]):
    rows = [line.rsplit(",", 2) for line in archive.read(record).decode().splitlines()]
    if sorted(name for name, _, _ in rows) != sorted(names):
        yield f"RECORD and the archive differ: {sorted({name for name, _, _ in rows} ^ set(names))}"
    for name, sum_, size in rows:
        data = archive.read(name)
        want = "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
        if name != record and (sum_ != want or int(size) != len(data)):
            yield f"RECORD is wrong about {name}"


def audited(wheel: Path):
    shown = " ".join(said(tool("auditwheel"), "show", wheel).split())
    platform = re.search(r'is consistent with the following platform tag: "manylinux_2_(\d+)_x86_64"', shown)
    if platform is None or int(platform[1]) > 28:
        yield shown
    published = said(tool("twine"), "check", "--strict", wheel)
    if "PASSED" not in published:
        yield published


def tool(name: str) -> Path:
    return Path(sys.executable).parent / name


class CleanPlace:
    """A virtual environment with nothing in it, and a path without a compiler."""

    def __init__(self, folder: Path):
        self.folder = folder
        said(sys.executable, "-m", "venv", folder)
        self.bin = folder / "bin"
        self.env = {"PATH": f"{self.bin}:/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8"}

    def run(self, program: str, *words) -> str:
        return said(self.bin / program, *words, env=self.env, cwd=self.folder)

    def pip(self, *words) -> str:
        return self.run("python", "-m", "pip", "--disable-pip-version-check", *words)

    def files(self) -> set[str]:
        found = (path.relative_to(self.folder) for path in self.folder.rglob("*") if not path.is_dir())
        return {str(path) for path in found if not {"pip", "setuptools", "pkg_resources", "_distutils_hack"} & set(path.parts)}


def installed(place: CleanPlace, wheel: Path):
    for compiler in ("cargo", "rustc", "maturin"):
        if shutil.which(compiler, path=place.env["PATH"]):
            yield f"{compiler} is on the path of the clean environment"
    place.pip("install", "--no-index", wheel)
    if "Rooflens works here" not in place.run("rooflens", "self-test"):
        yield "rooflens self-test"
    if (version := place.run("rooflens", "--version").split()) != ["rooflens", wheel.name.split("-")[1]]:
        yield f"rooflens --version prints {version}"
    code = f"import rooflens; r = rooflens.analyze({str(EXAMPLE)!r}); print(r.verdict); print(rooflens.__version__)"
    verdict, version = place.run("python", "-c", code).strip().rsplit("\n", 1)
    if verdict not in " ".join(place.run("rooflens", "analyze", EXAMPLE).split()) or version != wheel.name.split("-")[1]:
        yield f"rooflens.analyze says {verdict!r}, version {version}"
    missing = f"import rooflens; rooflens.analyze({str(EXAMPLE)!r}).kernels.to_pandas()"
    done = subprocess.run([place.bin / "python", "-c", missing], env=place.env, capture_output=True, text=True)
    if "No module named 'pyarrow'" not in done.stderr:
        yield f"to_pandas() without pyarrow: {done.stderr[-300:]}"


def starts(place: CleanPlace, bare: Path, times: dict[str, list[float]]):
    """The program of the wheel begins as quickly as the bare one."""
    for _ in range(STARTS):
        for name, program in (("wheel", place.bin / "rooflens"), ("bare", bare)):
            begun = time.perf_counter()
            subprocess.run([program, "--version"], env=place.env, stdout=subprocess.DEVNULL, check=True)
            times.setdefault(name, []).append(time.perf_counter() - begun)
    # The quickest of each: the others met something else that the machine does.
    slower_s = min(times["wheel"]) - min(times["bare"])
    if slower_s > SLOWER_BY_S:
        yield f"{slower_s * 1e3:.1f} ms slower than the bare program"


IMPORTS = """
import sys
before = set(sys.modules)
def foreign(when):
    names = {name.partition('.')[0] for name in set(sys.modules) - before} - set(sys.stdlib_module_names) - {'rooflens'}
    if names: print(when, sorted(names))
import rooflens
if 'rooflens._rooflens' in sys.modules: print('import rooflens loads the native module')
foreign('import rooflens')
for name in rooflens.__all__: getattr(rooflens, name)
foreign('every public name')
r = rooflens.analyze(sys.argv[1]); r.document; r.tables['kernels']; r._repr_html_()
foreign('analyze')
if sorted(set(dir(rooflens)) & set(rooflens.__all__)) != sorted(rooflens.__all__): print('dir() lacks public names')
"""


def imports(folder: Path):
    """In an environment that has pandas and others, none of them is imported."""
    yield from said(sys.executable, "-c", IMPORTS, EXAMPLE, env=installed_environment(folder)).splitlines()


def types(folder: Path, scratch: Path):
    """mypy --strict with the installed stubs, and the stubs beside the module."""
    env = installed_environment(folder, MYPYPATH=str(folder), MYPY_CACHE_DIR=str(scratch / "mypy"))
    said(sys.executable, "-m", "mypy", "--strict", "--python-version", "3.11", HERE / "typed_user.py", env=env, cwd=scratch)
    used = {node.attr for node in ast.walk(ast.parse((HERE / "typed_user.py").read_text())) if isinstance(node, ast.Attribute)}
    public = said(sys.executable, "-c", "import rooflens; print(*rooflens.__all__)", env=env).split()
    if unused := sorted(set(public) - used):
        yield f"typed_user.py does not use {unused}"
    (scratch / "allowed").write_text(ALLOWED)
    allowed = ["--allowlist", scratch / "allowed"]
    said(sys.executable, "-m", "mypy.stubtest", "--concise", *allowed, "rooflens._rooflens", env=env, cwd=scratch)


def claimed(folder: Path, scratch: Path):
    """The types that mypy believed, of the values themselves."""
    said(folder / "bin/rooflens", "self-test", "--write-example", scratch / "example")
    (scratch / "output").mkdir()
    words = [HERE / "typed_at_run_time.py", HERE / "typed_user.py", scratch / "example", scratch / "output"]
    yield from said(sys.executable, *words, env=installed_environment(folder)).splitlines()


def check_all(judge, args, scratch: Path) -> None:
    judge.check("contents, metadata, RECORD", contents(args.wheel), f"{args.wheel.stat().st_size / 1e6:.1f} MB")
    judge.check("auditwheel and twine", audited(args.wheel))
    place = CleanPlace(scratch / "clean")
    before, times = place.files(), {}
    judge.check("installs and works without anything else", installed(place, args.wheel))
    judge.check("starts as quickly as the bare program", starts(place, args.rooflens, times),
                lambda: ", ".join(f"{name} {statistics.median(found) * 1e3:.1f} ms" for name, found in times.items()))
    place.pip("uninstall", "--yes", "rooflens")
    judge.check("uninstalling leaves nothing", sorted(place.files() ^ before))
    target = install(args.wheel, scratch / "installed")
    judge.check("imports no other package", imports(target))
    judge.check("types: mypy --strict and stubtest", types(target, scratch))
    judge.check("types are those at run time", claimed(target, scratch))


if __name__ == "__main__":
    main(check_all, WHEEL)
