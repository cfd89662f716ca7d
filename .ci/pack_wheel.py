"""Packs a wheel of what was built: the Python package, the native module and the program.

    python3 .ci/pack_wheel.py --built target/x86_64-unknown-linux-gnu/dist --platform manylinux_2_28_x86_64 --output target/wheels

Metadata is written by maturin, from python/pyproject.toml. The program is a script of the wheel: installers put it
beside the interpreter, as it is. Files have one fixed date, so that the same build packs the same wheel.
"""

import argparse
import base64
import hashlib
import shutil
import subprocess
import tempfile
import zipfile
from pathlib import Path
from platform import machine

SOURCES = Path(__file__).resolve().parents[1] / "python"
DATE = (1980, 1, 1, 0, 0, 0)
MODULES = ("lib_rooflens.so", "lib_rooflens.dylib")


def metadata(folder: Path, platform: str) -> Path:
    """The folder *.dist-info of the wheel, without RECORD."""
    argv = ["maturin", "pep517", "write-dist-info", "--metadata-directory", folder]
    subprocess.run(argv, cwd=SOURCES, check=True, capture_output=True)
    (made,) = folder.glob("*.dist-info")
    tags = f"Wheel-Version: 1.0\nGenerator: rooflens .ci/wheel\nRoot-Is-Purelib: false\nTag: cp39-abi3-{platform}\n"
    (made / "WHEEL").write_text(tags)
    return made


def stage(folder: Path, built: Path, platform: str) -> str:
    """Everything as it lies in the wheel; returns its name."""
    made = metadata(folder, platform)
    name = made.name.removesuffix(".dist-info")
    shutil.copytree(SOURCES / "rooflens", folder / "rooflens", ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    module = next(built / name for name in MODULES if (built / name).is_file())
    scripts = folder / f"{name}.data/scripts"
    scripts.mkdir(parents=True)
    for source, place in ((module, folder / "rooflens/_rooflens.abi3.so"), (built / "rooflens", scripts / "rooflens")):
        shutil.copy(source, place)
        # The profile dist has no symbols already, for other machines too.
        if machine() in platform:
            subprocess.run(["strip", *(["-x"] if module.suffix == ".dylib" else []), place], check=True)
        place.chmod(0o755)
    return f"{name}-cp39-abi3-{platform}.whl"


def pack(folder: Path, wheel: Path) -> None:
    """The files of a folder and RECORD, which names each with its digest."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    files.sort(key=lambda path: ".dist-info" in str(path.relative_to(folder)))
    (info,) = folder.glob("*.dist-info")
    record = []
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:

        def add(name: str, contents: bytes, mode: int) -> None:
            entry = zipfile.ZipInfo(name, DATE)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, (0o100000 | mode) << 16
            archive.writestr(entry, contents)

        for path in files:
            name, contents = path.relative_to(folder).as_posix(), path.read_bytes()
            digest = base64.urlsafe_b64encode(hashlib.sha256(contents).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(contents)}")
            add(name, contents, 0o755 if path.stat().st_mode & 0o100 else 0o644)
        record.append(f"{info.name}/RECORD,,")
        add(f"{info.name}/RECORD", "".join(f"{line}\n" for line in record).encode(), 0o644)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--built", type=Path, required=True, metavar="DIR", help="folder with what cargo built")
    parser.add_argument("--platform", required=True, metavar="TAG", help="platform tag of the wheel")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="folder for the wheel")
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    for old in args.output.glob("rooflens-*.whl"):
        old.unlink()
    with tempfile.TemporaryDirectory() as folder:
        name = stage(Path(folder), args.built, args.platform)
        pack(Path(folder), args.output / name)
    size = (args.output / name).stat().st_size
    print(f"{args.output / name}: {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
