"""The commands of the pages work as pasted, and print what the tutorial says.

The tutorial runs in a new virtual environment, without Rust and without the network, from `pip install` to the last
block of Python. On the other pages every block of
`sh` runs in an empty folder with the files that it names (`page_files.py`), unless a comment above it says why not:
`<!-- not run: needs a GPU -->`. A block with `<!-- needs: rooflens-query -->` runs where that is installed. Blocks of
YAML and Python must parse, and commands in YAML must exist. The commands of README.md run in the repository.

With `--compile` only two pages run, which compile for many minutes: README.md, whose first command installs Rooflens,
and CONTRIBUTING.md, in a copy of the repository. There a block `rust file=PATH` is written to PATH. In a block
`diff file=PATH`, the lines that begin with a blank or `-` must occur in PATH once, and become the lines that begin with
a blank or `+`. Then the blocks `sh try` run.
"""

import ast
import gzip
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import venv
from dataclasses import dataclass, field
from pathlib import Path

import yaml

import check_docs
import doc_pages
from oracle import ONLY, REPOSITORY, existing, hub_snapshot, main, option, repository_files

sys.path.insert(0, str(REPOSITORY / ".ci"))
import tree  # noqa: E402

DOCS = REPOSITORY / "docs"
README, CONTRIBUTING, TUTORIAL = REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md", DOCS / "tutorial.md"
PAGES = [README, TUTORIAL, *sorted((DOCS / "guides").glob("*.md")), *(DOCS / f"{name}.md" for name in (
    "python", "ci", "concepts", "installing", "collecting", "running", "serving", "scale"))]
NOT_RUN, NEEDS, OUTPUT = "not run: ", "needs: ", "output: "
PROGRAM = "the Python program above"
# Lines that would need the network: the wheel is installed, and pandas is lent, instead.
INSTALL, DATA_FRAMES = "pip install rooflens", "pip install pandas pyarrow"
SYSTEM = "/usr/bin:/bin"
# Keys of a workflow that hold commands.
SCRIPTS = ("run", "script", "before_script", "after_script")
TIMEOUT_S = 300
COMPILE_TIMEOUT_S = 4 * 3600

FIXTURES = REPOSITORY / "fixtures"
NAMES = {
    # Traces of torch.profiler: one file, and one file per rank.
    "trace.json": "kineto/decode.json",
    "trace.json.gz": "kineto/decode.json",
    "traces": "kineto/two_ranks",
    # Nsight Systems, ROCm.
    "report.sqlite": "nsys/two_processes.sql",
    "rocprof": "rocprofv3",
    "workloads/serve/MI300X": "rocprof_compute/MI200",
    # Logs of libraries, exports, snapshots, metrics pages.
    "cublaslt_4711.log": "blaslog/cublaslt.log",
    "hipblaslt_4711.log": "blaslog/bench.log",
    "nccl.node1.4711.log": "nccl/debug.log",
    "inspector/inspector.jsonl": "nccl/inspector.jsonl",
    "model.profile.json": "tensorrt/made.profile.json",
    "model.graph.json": "tensorrt/made.graph.json",
    "model.timing.json": "tensorrt/made.timing.json",
    "snapshot.pickle": "torchmem/small.pickle",
    "metrics.txt": "metrics/triton.txt",
    "dcgm.txt": "metrics/dcgm.txt",
    # The result of another load generator.
    "vllm-bench.json": "bench_results/vllm-python.json",
}
FROM_CORPUS = {
    "llama-3-8b/config.json": "configs/meta-llama--Meta-Llama-3-8B.json",
    "qwen3-8b/config.json": "configs/Qwen--Qwen3-8B.json",
    "gpt-oss-20b/config.json": "configs/openai--gpt-oss-20b.json",
    "deepseek-ocr/config.json": "configs/deepseek-ai--DeepSeek-OCR.derived.json",
    "profile.ncu-rep": "ncu/ESMM__profile.ncu-rep",
    "cuda_gpu_kern_sum.csv":
        "llm-perf-opt/reports/20251107-dsocr/nsys/per-stage/decode/nsys/summary_cuda_gpu_kern_sum.csv",
    "graph_execution.json.gz": "kineto/tracelens/inference/vllm_decode_full/graph_execution.json.gz",
    "graph_capture.json.gz":
        "kineto/tracelens/inference/vllm_decode_full/capture_traces/"
        "graph_capture_rank_0.1773709742341309550.pt.trace.json.gz",
}


def place_files(text: str, folder: Path, corpus: Path) -> None:
    """Puts those files into a folder whose names are in a text."""
    for name, source in NAMES.items():
        if name in text or Path(name).parts[0] + "/" in text:
            copy(FIXTURES / source, folder / name)
    for name, source in FROM_CORPUS.items():
        if Path(name).parts[0] in text:
            copy(corpus / source, folder / name)


def copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target)
    elif target.suffix == ".gz" and source.suffix != ".gz":
        target.write_bytes(gzip.compress(source.read_bytes()))
    elif target.suffix == ".sqlite":
        with sqlite3.connect(target) as database:
            database.executescript(source.read_text())
    else:
        shutil.copy(source, target)


@dataclass
class Tally:
    run: int = 0
    not_run: int = 0
    lacking: set[str] = field(default_factory=set)


class Shell:
    """Runs commands one after another, as if they were pasted: `cd` has an effect on the next command."""

    def __init__(self, folder: Path, path: str, home: Path, timeout_s: int = TIMEOUT_S, **environment: str):
        self.folder, self.place, self.timeout_s = folder, home / "folder", timeout_s
        self.env = {"PATH": path, "HOME": str(home), "HF_HOME": str(home / "hub-home"), "LANG": "C.UTF-8",
                    "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PLACE": str(self.place), **environment}

    def run(self, command: str) -> subprocess.CompletedProcess:
        script = f"trap 'pwd > \"$PLACE\"' EXIT\nset -euo pipefail\n{command}\n"
        done = self.call(["bash", "-c", script])
        self.folder = Path(self.place.read_text().strip())
        return done

    def call(self, argv: list) -> subprocess.CompletedProcess:
        return subprocess.run(argv, cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=self.timeout_s)


def check_blocks(blocks: list[doc_pages.Block], shell: Shell, have: dict[str, bool], tally: Tally) -> list[str]:
    """Runs the blocks of a page in order, and compares what it shows of their outputs."""
    printed: dict[str, str | None] = {}
    broken = []
    for block in blocks:
        need = block.comment.removeprefix(NEEDS) if block.comment.startswith(NEEDS) else None
        if block.comment.startswith(OUTPUT):
            broken += output_problems(block, printed)
        elif block.comment.startswith(NOT_RUN):
            tally.not_run += 1
        elif need is not None and need not in have:
            broken.append(f"{block.line}: `needs: {need}`: this check knows {', '.join(have)}")
        elif need is not None and not have[need]:
            tally.not_run += 1
            tally.lacking.add(need)
            printed.update(dict.fromkeys(shown_names(block)))
        else:
            broken += run_block(block, shell, printed, tally)
    return broken


def shown_names(block: doc_pages.Block) -> list[str]:
    """What the outputs of a block are called: its commands, without comments."""
    if block.language == "python":
        return [PROGRAM]
    return [re.sub(r"\s+#.*", "", line).strip() for _, line in doc_pages.joined(block)]


def run_block(block: doc_pages.Block, shell: Shell, printed: dict, tally: Tally) -> list[str]:
    """Runs each command of a block, up to the first that fails."""
    python = block.language == "python"
    lines = [(block.line, block.text)] if python else doc_pages.joined(block)
    for (line, command), name in zip(lines, shown_names(block)):
        done = shell.call(["python", "-c", command]) if python else shell.run(command)
        tally.run += 1
        printed[name] = done.stdout
        if done.returncode != 0:
            said = (done.stderr or done.stdout).strip().splitlines()
            return [f"{line}: {name}: ended with {done.returncode}: {' / '.join(said[-4:])}"]
    return []


def output_problems(block: doc_pages.Block, printed: dict[str, str | None]) -> list[str]:
    command = block.comment.removeprefix(OUTPUT)
    if command not in printed:
        return [f"{block.line}: the output of `{command}`, which was not run"]
    output = printed[command]
    if output is None or doc_pages.is_as_shown(block.text, output):
        return []
    return [f"{block.line}: `{command}` prints something else:\n    {doc_pages.difference(block.text, output)}"]


def check_page(page: Path, binary: Path, corpus: Path, work: Path, tally: Tally) -> list[str]:
    """Runs a page in a new folder, with the files that it names; README.md in the repository."""
    folder, programs, home = work / page.relative_to(REPOSITORY).as_posix().replace("/", "-"), work / "bin", work / "home"
    for made in (folder, programs, home):
        made.mkdir(exist_ok=True)
    if page == README:
        folder = REPOSITORY
    query = shutil.which("rooflens-query")
    for name, program in (("rooflens", binary), ("rooflens-query", query)):
        if program and not (programs / name).exists():
            (programs / name).symlink_to(program)
    shell = Shell(folder, f"{programs}:{SYSTEM}", home)
    blocks = [block for block in doc_pages.split(page.read_text())[0] if block.language in ("sh", "text")]
    commands = "\n".join(block.text for block in blocks if block.language == "sh")
    if page != README:
        place_files(commands, folder, corpus)
    if "perf/runs/new" in commands:
        shell.run(f"rooflens import {FIXTURES / NAMES['vllm-bench.json']} -o perf/runs/new")
    shown = [block for block in blocks if block.language == "sh" or block.comment.startswith(OUTPUT)]
    return check_blocks(shown, shell, {"rooflens-query": query is not None, "--compile": False}, tally)


def compile_readme(target: Path, work: Path, tally: Tally) -> list[str]:
    """Runs README.md from its first command on, which installs Rooflens."""
    installed = target / "readme"
    shell = Shell(REPOSITORY, "", work, COMPILE_TIMEOUT_S, **os.environ | {
        "CARGO_INSTALL_ROOT": str(installed), "PATH": f"{installed / 'bin'}:{os.environ['PATH']}"})
    blocks = [block for block in doc_pages.split(README.read_text())[0] if block.language == "sh"]
    return check_blocks(blocks, shell, {"--compile": True}, tally)


def follow_contributing(target: Path, work: Path, tally: Tally) -> list[str]:
    """Follows CONTRIBUTING.md in a copy of the repository. Files with the same content keep their time there, so that
    cargo rebuilds only what changed."""
    copy = target / "contributing/workspace"
    blocks = doc_pages.split(CONTRIBUTING.read_text())[0]
    # Cargo distinguishes the crates of two copies of a workspace only by their version, and both are built in one folder.
    version = doc_pages.Block("diff", 0, ['-version = "0.1.0"', '+version = "0.1.0+contributing"'],
                              attributes=["file=Cargo.toml"])
    files = {name: tree.content(REPOSITORY / name) for name in repository_files()}
    broken = [problem for block in [version, *blocks] if (problem := apply(block, files))]
    copy.mkdir(parents=True, exist_ok=True)
    tree.sweep(copy, {copy / name for name in files})
    for name, found in files.items():
        if tree.content(copy / name) != found:
            tree.write(copy / name, found)
    shell = Shell(copy, "", work, COMPILE_TIMEOUT_S, **os.environ | {
        # Dependencies are shared with the workspace, finished programs are not.
        "CARGO_BUILD_BUILD_DIR": str(target), "CARGO_TARGET_DIR": str(target / "contributing/target"),
        "CARGO_NET_OFFLINE": "true"})
    return broken or check_blocks([block for block in blocks if "try" in block.attributes], shell, {}, tally)


def apply(block: doc_pages.Block, files: dict) -> str | None:
    """Writes or changes the file that a block names; why that is not possible."""
    name = next((Path(word.removeprefix("file=")) for word in block.attributes if word.startswith("file=")), None)
    if name is None:
        return None
    if block.language != "diff":
        files[name] = (f"{block.text}\n".encode(), False)
        return None
    old, new = ("".join(f"{line[1:]}\n" for line in block.lines if line[:1] in (" ", sign)) for sign in "-+")
    text, executable = files.get(name, (b"", False))
    if text.decode().count(old) != 1:
        return f"{block.line}: these lines do not occur exactly once in {name}:\n{old}"
    files[name] = (text.decode().replace(old, new).encode(), executable)
    return None


def check_tutorial(wheel: Path, corpus: Path, work: Path, tally: Tally) -> list[str]:
    folder, home, environment = work / "tutorial", work / "tutorial-home", work / "venv"
    folder.mkdir()
    config = (corpus / "configs/Qwen--Qwen3-0.6B.json").read_text()
    hub_snapshot(home / "hub-home/hub", "Qwen/Qwen3-0.6B", config)
    venv.create(environment, with_pip=True)
    shell = Shell(folder, f"{environment / 'bin'}:{SYSTEM}", home)
    lent = lend_data_frames(environment)
    blocks = [block for block in doc_pages.split(TUTORIAL.read_text())[0]
              if block.language in ("sh", "python") or block.comment.startswith(OUTPUT)]
    for block in blocks:
        block.lines = [line.replace(INSTALL, f"pip install --no-index {wheel}") for line in block.lines
                       if line != DATA_FRAMES]
    return check_blocks(blocks, shell, {"pandas": lent}, tally)


def lend_data_frames(environment: Path) -> bool:
    """Lends the environment pandas and pyarrow of this Python, where it has them: installing them needs the network."""
    find = "import pandas, pyarrow, os; print(os.path.dirname(pandas.__path__[0]))"
    done = subprocess.run([sys.executable, "-c", find], capture_output=True, text=True)
    packages = next(environment.glob("lib/python*/site-packages"))
    if done.returncode == 0:
        (packages / "lent.pth").write_text(done.stdout)
    return done.returncode == 0


def scripts(node) -> list[str]:
    if isinstance(node, list):
        return [text for item in node for text in scripts(item)]
    if not isinstance(node, dict):
        return []
    found = []
    for key, value in node.items():
        texts = value if isinstance(value, list) else [value]
        found += [text for text in texts if isinstance(text, str)] if key in SCRIPTS else scripts(value)
    return found


def check_syntax(page: Path, known: check_docs.Help, project: check_docs.Project) -> list[str]:
    """Blocks of Python and YAML that do not parse, and commands of YAML that do not exist."""
    broken = []
    for block in doc_pages.split(page.read_text())[0]:
        try:
            if block.language == "python":
                ast.parse(block.text)
            elif block.language == "yaml":
                for script in scripts(yaml.safe_load(block.text)):
                    lines = doc_pages.joined(doc_pages.Block("sh", block.line, script.splitlines()))
                    found = [words for _, line in lines for words in doc_pages.rooflens_words(line)]
                    broken += [f"{block.line}: {problem}" for words in found
                               for problem in check_docs.words_problems(words, known, project)]
        except (SyntaxError, yaml.YAMLError) as error:
            broken.append(f"{block.line}: {block.language} that does not parse: {error}")
    return broken


def check_all(judge, args, work: Path) -> None:
    tally = Tally()
    if args.compile:
        target = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target")).absolute()
        judge.check("README.md", compile_readme(target, work, tally))
        judge.check("CONTRIBUTING.md", follow_contributing(target, work, tally))
        return
    known = check_docs.Help(args.rooflens)
    project = check_docs.Project(args.rooflens, work / "project")
    for page in [page for page in PAGES if args.only in str(page)]:
        name = str(page.relative_to(REPOSITORY))
        judge.check(f"{name}: blocks parse", check_syntax(page, known, project))
        if page == TUTORIAL:
            judge.check(f"{name}: commands", check_tutorial(args.wheel, args.corpus, work, tally))
        else:
            judge.check(f"{name}: commands", check_page(page, args.rooflens, args.corpus, work, tally))
    print(f"{tally.run} commands, {tally.not_run} blocks not run, without {sorted(tally.lacking) or 'nothing'}")


if __name__ == "__main__":
    compiles = option("--compile", action="store_true", help="run README.md and CONTRIBUTING.md, which compile")
    main(check_all, ONLY, compiles, option("--wheel", type=existing, metavar="WHEEL"), binary=False)
