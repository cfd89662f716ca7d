"""Commands, settings, files, links and messages that the pages of docs/ name are those that exist.

Every `rooflens …` of a page must be a subcommand with flags that its `--help` lists; every override and every key in
backticks a setting of the project that `rooflens init` makes; every message of the troubleshooting page a text of the
sources; every link one that leads somewhere (`doc_links.py`). Nothing is profiled and no GPU is needed. The commands
themselves are run by `check_pages.py`.
"""

import json
import os
import re
import sys
import tempfile
from pathlib import Path

import doc_links
import doc_pages
from oracle import FIXTURES, REPOSITORY, main, must, run, said

DOCS = REPOSITORY / "docs"
# Command lines of migrating.md use words of other programs: a test of the command line runs each of them.
PAGES = [REPOSITORY / "README.md", REPOSITORY / "llms.txt", *sorted((DOCS / "guides").glob("*.md")),
         *(page for page in sorted(DOCS.glob("*.md")) if page.name != "migrating.md")]
# Where a span in backticks that looks like a setting is one.
GUIDES = ["README.md", "ci.md", "collecting.md", "installing.md", "kernels.md", "projects.md", "running.md",
          "serving.md", "troubleshooting.md"]
RUNTIMES = ["pytorch", "vllm", "command"]
COMPOSED = {("run",), ("config", "show"), ("config", "write")}
KEY = re.compile(r"^(?:pipeline|runtime|infer|model|dataset|hardware|output|sampler)(?:[./][a-z_]+)+(?:=.*)?$")
VARIABLE = re.compile(r"\bROOFLENS_[A-Z_]+\b")

# Formats with the section of docs/collecting.md that collects them and a fixture to read with its command.
FORMATS = {
    "kineto": ("torch.profiler", "kineto/decode.json"),
    "nsys": ("Nsight Systems", None),
    "rocprofv3": ("rocprofv3", "rocprofv3"),
    "rocpd": ("rocprofv3", None),
    "torchmem": ("PyTorch allocator snapshot", "torchmem/small.pickle"),
    "tensorrt": ("TensorRT", "tensorrt/made.profile.json"),
    "metrics": ("Triton", "metrics/triton.txt"),
    "nccl": ("NCCL", "nccl/inspector.jsonl"),
    "blaslog": ("cuBLAS and cuBLASLt", "blaslog/cublaslt.log"),
}
SECTIONS = ["torch.profiler", "vLLM", "SGLang", "TensorRT-LLM", "Nsight Systems", "Nsight Compute", "rocprofv3",
            "rocprof-compute", "cuBLAS and cuBLASLt", "hipBLASLt and rocBLAS", "NCCL", "TensorRT",
            "PyTorch allocator snapshot", "Triton", "DCGM exporter", "NVML"]


class Help:
    """What the binary's own help lists, asked once for each command."""

    def __init__(self, binary: Path):
        self.binary, self.texts = binary, {}

    def text(self, words: tuple) -> str:
        if words not in self.texts:
            done = run(self.binary, *words, "--help")
            self.texts[words] = done.stdout.decode() if done.code == 0 else ""
        return self.texts[words]

    def subcommands(self, words: tuple) -> set[str]:
        return listed_commands(self.text(words))

    def options(self, words: tuple) -> dict[str, list[str]]:
        return listed_options(self.text(words))


def listed_commands(text: str) -> set[str]:
    """The names below `Commands:`."""
    block = re.search(r"^Commands:\n((?: .*\n)+)", text, re.M)
    return set(re.findall(r"^  ([a-z][a-z-]*) ", block[1], re.M)) if block else set()


def listed_options(text: str) -> dict[str, list[str]]:
    """The flags of a help text, each with the values it may have where these are listed."""
    found: dict[str, list[str]] = {}
    parts = re.split(r"^(?= {2,}-)", text, flags=re.M)
    for part in parts:
        names = re.match(r" +(?:(-\w)(?:, )?)?(--[a-z][a-z-]*)?", part)
        if not names or not (names[1] or names[2]):
            continue
        flat = " ".join(part.split())
        values = re.search(r"\[possible values: ([^\]]+)\]", flat)
        others = re.findall(r"\[alias(?:es)?: ([^\]]+)\]", flat)
        for name in [names[1], names[2], *[word.strip() for other in others for word in other.split(",")]]:
            if name:
                found[name] = [value.strip() for value in values[1].split(",")] if values else []
    return found


def command_problems(words: list[str], known: Help) -> list[str]:
    """What of a command line the binary does not have."""
    path: tuple = ()
    rest = list(words)
    while rest and rest[0] in known.subcommands(path):
        path += (rest.pop(0),)
    if not path and rest and not rest[0].startswith("-"):
        return [f"there is no command {rest[0]!r}"]
    takes_more = "\nArguments:\n" in known.text(path)
    if path and known.subcommands(path) and not takes_more and rest and re.fullmatch(r"[a-z][a-z-]*", rest[0]):
        return [f"{' '.join(path)} has no command {rest[0]!r}"]
    options, broken = known.options(path), []
    for at, word in enumerate(rest):
        if word == "--":
            break
        name, _, value = word.partition("=")
        if not re.match(r"^--?[a-zA-Z]", word):
            continue
        if name not in options:
            broken.append(f"{' '.join(path)} has no option {name}")
            continue
        value = value or (rest[at + 1] if at + 1 < len(rest) else "")
        if options[name] and value and value not in options[name] and not re.match(r"^[-A-Z…]", value):
            broken.append(f"{name} of {' '.join(path)} is none of {value!r}: {', '.join(options[name])}")
    return broken


class Project:
    """The settings of the project that `rooflens init` makes."""

    def __init__(self, binary: Path, folder: Path):
        self.binary, self.folder = binary, folder
        must(binary, "init", folder)
        self.keys: set[str] = set()
        for runtime in RUNTIMES:
            shown = self.ask("config", "show", f"runtime={runtime}", "--format", "json")
            self.keys |= keys_of(json.loads(shown)["config"])
        self.groups = {}
        for line in self.ask("config", "groups").splitlines():
            name, _, options = line.partition(":")
            self.groups[name] = {option.strip() for option in options.split(",")}

    def ask(self, *words) -> str:
        return said(self.binary, *words, cwd=self.folder)

    def takes(self, overrides: list[str]) -> bool:
        """Whether a run with these overrides can be planned."""
        return run(self.binary, "run", "--dry-run", *overrides, cwd=self.folder).code == 0

    def problem(self, override: str) -> str | None:
        name, _, value = override.lstrip("+~").partition("=")
        if name in self.groups:
            options = [] if re.match(r"^[A-Z…<]", value) else [word for word in value.split(",") if word]
            wrong = [option for option in options if option not in self.groups[name]]
            return f"{name} has no option {', '.join(wrong)}" if wrong else None
        # `model.json` is a file of a run.
        if name in self.keys or name.startswith("hydra.") or name.endswith(".json"):
            return None
        return f"there is no setting {name}"


def keys_of(config, before: str = "") -> set[str]:
    found = set()
    for name, value in config.items():
        path = f"{before}{name}"
        found.add(path)
        if isinstance(value, dict):
            found |= keys_of(value, f"{path}.")
    return found


def words_problems(words: list[str], known: Help, project: Project) -> list[str]:
    """What a command line names and the binary or its settings do not have."""
    broken = command_problems(words, known)
    if any(tuple(words[:len(path)]) == path for path in COMPOSED):
        overrides = [word for word in words if "=" in word and not word.startswith("-")]
        unknown = [problem for word in overrides if (problem := project.problem(word))]
        # A name that is not in the config may still be one that the binary takes, as an older name of a setting.
        if unknown and not project.takes(overrides):
            broken += unknown
    return broken


def page_problems(page: Path, known: Help, project: Project) -> list[str]:
    """What a page names and the binary does not have."""
    text, broken = page.read_text(), []
    for line, words in doc_pages.commands(text):
        broken += [(line, problem) for problem in words_problems(words, known, project)]
    for line, prose in doc_pages.split(text)[1] if page.name in GUIDES else []:
        for span in doc_pages.spans(prose):
            if KEY.match(span) and "…" not in span and not (REPOSITORY / span.split("=")[0]).exists():
                problem = project.problem(span)
                broken += [(line, problem)] if problem else []
    sources = source_text()
    broken += [(0, f"no source reads {name}") for name in sorted(set(VARIABLE.findall(text))) if name not in sources]
    return [f"{page.relative_to(REPOSITORY)}:{line}: {problem}" for line, problem in broken]


def source_text(cache=[]) -> str:
    """All Rust and Python of the product, with the continued strings of Rust joined."""
    if not cache:
        files = [*(REPOSITORY / "crates").rglob("*.rs"), *(REPOSITORY / "python").rglob("*.py")]
        cache.append(re.sub(r"\\\n\s*", "", "\n".join(file.read_text() for file in files)))
    return cache[0]


def headings(text: str) -> list[str]:
    return [line.lstrip("# ") for line in text.splitlines() if line.startswith("#")]


def section(text: str, heading: str) -> str:
    """The text below a heading, up to the next of any level."""
    found = re.search(rf"^#+ {re.escape(heading)}\n(.*?)(?=^#+ |\Z)", text, re.M | re.S)
    return found[1] if found else ""


def test_parity_009_installing_names_what_doctor_checks(binary: Path) -> list[str]:
    """The page's commands hold, and each line of doctor that it refers to exists."""
    page, broken = DOCS / "installing.md", []
    checks = {check["name"] for check in json.loads(run(binary, "doctor", "--format", "json").stdout)["checks"]}
    for table in doc_pages.tables(page.read_text()):
        if table.header[-1] == "line of `rooflens doctor`":
            broken += [f"installing.md:{line}: doctor has no line {row[-1]!r}" for line, row in table.rows
                       if row[-1] not in checks]
    wanted = ["/var/lock", "nsight-compute-lock", "NVreg_RestrictProfilingToAdminUsers", "ERR_NVGPUCTRPERM",
              "SYS_ADMIN", "perf_event_paranoid", "PATH", "apt install", "conda install", "pixi"]
    return broken + [f"installing.md says nothing of {word}" for word in wanted if word not in page.read_text()]


def test_parity_010_installing_covers_cuda_and_vllm(binary: Path) -> list[str]:
    """How to install the CUDA toolkit and vLLM, each with a check behind it."""
    text, broken = (DOCS / "installing.md").read_text(), []
    for heading, words in (("CUDA toolkit", ["cuda-toolkit", "nvcc --version"]),
                           ("PyTorch and vLLM", ["vllm --torch-backend=auto", "rooflens doctor --deep"])):
        broken += [f"installing.md: {heading!r} lacks {word!r}" for word in words if word not in section(text, heading)]
    done = run(binary, "doctor", "--python", sys.executable, "--format", "json")
    checks = {check["name"] for check in json.loads(done.stdout)["checks"]}
    return broken + [f"doctor does not check {name}" for name in ("torch", "vllm") if name not in checks]


def test_parity_091_running_lists_stages_and_files(project: Project) -> list[str]:
    """Every stage and every choice of `profiling` is on the page, and every file that a run leaves."""
    page = DOCS / "running.md"
    text, broken = page.read_text(), []
    planned = set(re.findall(r"^# ([a-z_]+):", project.ask("run", "--dry-run", "profiling=full"), re.M))
    stages = {key.split(".")[1] for key in project.keys if re.fullmatch(r"pipeline\.[a-z_]+\.enable", key)}
    tables = {table.header[0]: {doc_pages.spans(row[0])[0] for _, row in table.rows if doc_pages.spans(row[0])}
              for table in doc_pages.tables(text)}
    if tables.get("stage") != stages or not planned <= stages:
        broken.append(f"running.md lists the stages {sorted(tables.get('stage', []))}, there are {sorted(stages)}")
    if tables.get("`profiling=`") != project.groups["profiling"]:
        broken.append(f"running.md lists {sorted(tables.get('`profiling=`', []))} of profiling, "
                      f"there are {sorted(project.groups['profiling'])}")
    project.ask("run", "profiling=roofline-only", "hardware=h100", "hydra.run.dir=runs/computed")
    report = project.folder / "runs/computed/report"
    left = {file.name for file in report.iterdir() if file.suffix != ".svg"}
    if "cost_sweep.md" not in left:
        broken.append("a run of roofline-only leaves no cost_sweep.md")
    broken += [f"running.md says nothing of report/{name}" for name in sorted(left)
               if name not in text and f"{name.split('.')[0]}.{{" not in text]
    return broken


def test_parity_139_collecting_has_each_tool(binary: Path) -> list[str]:
    """Each tool has a section with a command that reads its data, and each format of the binary is among them."""
    page = DOCS / "collecting.md"
    text, broken = page.read_text(), []
    broken += [f"collecting.md has no section {name!r}" for name in SECTIONS if name not in headings(text)]
    for name in SECTIONS:
        if not doc_pages.commands(section(text, name)):
            broken.append(f"collecting.md: {name!r} has no rooflens command")
    listed = json.loads(run(binary, "list", "formats", "--format", "json").stdout)
    names = set(re.findall(r'"name": ?"([a-z0-9]+)"', json.dumps(listed)))
    broken += [f"collecting.md: no section is known for the format {name}" for name in sorted(names ^ set(FORMATS))]
    for name, (heading, fixture) in FORMATS.items():
        if not any(words[:1] == ["analyze"] for _, words in doc_pages.commands(section(text, heading))):
            broken.append(f"collecting.md: {heading!r} does not analyze {name}")
        if fixture and run(binary, "analyze", FIXTURES / fixture).code != 0:
            broken.append(f"{fixture} cannot be read")
    return broken


def test_parity_140_troubleshooting_quotes_real_messages(binary: Path) -> list[str]:
    """Every quoted message is in the sources, every name can be explained, and some are provoked."""
    page = DOCS / "troubleshooting.md"
    text = page.read_text()
    broken, sources = [], source_text()
    for table in doc_pages.tables(text):
        for line, row in table.rows:
            for span in doc_pages.spans(row[0]):
                parts = [part.strip() for part in span.split("…") if part.strip()]
                if " " in span and not all(part in sources for part in parts):
                    broken.append(f"troubleshooting.md:{line}: no source has the message {span!r}")
                if re.fullmatch(r"[a-z]+(_[a-z]+)+", span) and run(binary, "explain", span).code != 0:
                    broken.append(f"troubleshooting.md:{line}: {span} cannot be explained")
    with tempfile.TemporaryDirectory() as folder:
        for words, message in provoked(Path(folder)):
            env = {**os.environ, "ROOFLENS_NSYS": str(Path(folder) / "no-nsys")}
            done = run(binary, *words, cwd=folder, env=env)
            if done.code == 0 or message not in done.stderr or not done.hint:
                broken.append(f"rooflens {' '.join(words)} does not say {message!r}: {done.stderr.strip()!r}")
            if message not in text:
                broken.append(f"troubleshooting.md does not have {message!r}")
    return broken


def provoked(folder: Path) -> list[tuple[list[str], str]]:
    (folder / "empty.json").write_text("")
    (folder / "page.html").write_text("<html>not found</html>")
    (folder / "report.nsys-rep").write_bytes(b"NVIDIA Tegra Profiler Report " + bytes(64))
    return [
        (["analyze", "empty.json"], "is empty"),
        (["analyze", "page.html"], "is not in a format that Rooflens reads"),
        (["analyze", "report.nsys-rep"], "needs nsys, and"),
        (["run"], "there is no config folder"),
    ]


def check_all(judge, args, folder: Path) -> None:
    binary, known = args.rooflens, Help(args.rooflens)
    project = Project(binary, folder / "project")
    for page in PAGES:
        judge.check(str(page.relative_to(REPOSITORY)), dict.fromkeys(page_problems(page, known, project)))
    judge.check("installing.md, doctor", test_parity_009_installing_names_what_doctor_checks(binary))
    judge.check("installing.md, CUDA and vLLM", test_parity_010_installing_covers_cuda_and_vllm(binary))
    judge.check("running.md", test_parity_091_running_lists_stages_and_files(project))
    judge.check("collecting.md", test_parity_139_collecting_has_each_tool(binary))
    judge.check("troubleshooting.md", test_parity_140_troubleshooting_quotes_real_messages(binary))
    judge.check("links", doc_links.problems(), f"{len(doc_links.pages())} pages")


if __name__ == "__main__":
    main(check_all)
