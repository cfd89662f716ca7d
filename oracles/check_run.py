"""`rooflens run` on real PyTorch and vLLM: tokens, steps, operators and files of whole runs.

Needs torch, transformers and vLLM. A project is made, tiny checkpoints are run in it, and one model without a project.
Every run is held against Transformers itself and a plain reader of the trace: nothing of the package that was run is
used, except to make the checkpoints.
"""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import kineto_truth as truth
import run_metrics
from documents import coverage
from documents.validate import Documents
from oracle import REPOSITORY, Outcome, differ, existing, hub_snapshot, main, must, option
from oracle import run as start

NEW_TOKENS = 12
SMALL = [f"infer.max_new_tokens={NEW_TOKENS}", "repeats=1"]
QUESTION = "What is in it?"
HUB_NAME = "somebody/tiny-llama"
# A run's folder, whatever it was run with.
FILES = [
    "plan.json", ".rooflens/config.yaml", "raw/measure/manifest.json", "raw/torch_profiler/manifest.json",
    "report/metrics.json", "report/report.md", "report/operators.md", "report/kernels.md", "report/index.html",
    "report/static_compute.json", "report/static_compute.md", "report/stakeholder_summary.md",
    "report/env.json", "report/inputs.yaml", "report/assumptions.md", "tables/ops.parquet",
    "tables/counters.parquet",
]  # fmt: skip
# What torch counts as products of matrices.
PRODUCTS = {"aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm"}
UNITS = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}
# Every JSON document that the runs print and save.
DOCUMENTS = Documents()


def package() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(REPOSITORY / "python")}


def checkpoint(folder: Path, kind: str) -> Path:
    must(sys.executable, "-m", "rooflens.tiny", kind, folder, env=package())
    return folder


def as_a_user(**more: str) -> dict[str, str]:
    """The interpreter of the environment is first on the path, and nothing is downloaded."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", **more}


def run(binary: Path, folder: Path, *overrides: str) -> tuple[Path, list[str]]:
    before = set(folder.glob("runs/*/*/*"))
    done = start(binary, "run", *overrides, cwd=folder, env=as_a_user())
    made = set(folder.glob("runs/*/*/*")) - before
    if done.code or len(made) != 1:
        return folder, [f"{len(made)} runs, {done.failure()}"]
    lines = len(done.stdout.splitlines())
    wrong = [f"the summary has {lines} lines: more than a screen"] if lines > 40 else []
    where, before = made.pop(), len(DOCUMENTS.wrong)
    if "--format" in overrides:
        DOCUMENTS.text(done.stdout, "rooflens run", "run")
    DOCUMENTS.folder(where)
    return where, wrong + DOCUMENTS.wrong[before:]


def metrics(folder: Path) -> dict:
    return json.loads((folder / "report/metrics.json").read_text())


def rows(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def check_files(folder: Path):
    for file in FILES:
        if not (folder / file).is_file() or not (folder / file).stat().st_size:
            yield f"{file} is missing or empty"
    yield from differ("the run", metrics(folder)["status"], "complete")
    yield from run_metrics.problems(folder)


def check_tokens(folder: Path, model, encode, stages=("measure", "torch_profiler")):
    """Every answer of the passes, against `model.generate`, sample by sample."""
    model.generation_config.eos_token_id = None  # the config says to go on after it
    compared = 0
    for stage in stages:
        for row in rows(folder / f"raw/{stage}/tokens.jsonl"):
            inputs = encode(row["sample"])
            width = inputs["input_ids"].shape[1]
            made = model.generate(**inputs, max_new_tokens=len(row["output_ids"]), do_sample=False)
            yield from differ(f"{stage}, {row['sample']}: prompt", row["prompt_ids"], inputs["input_ids"][0].tolist())
            yield from differ(f"{stage}, {row['sample']}: answer", row["output_ids"], made[0, width:].tolist())
            compared += 1
    if not compared:
        yield "there are no tokens to compare"


def check_texts(folder: Path, model_folder: Path, texts: Path, as_chat=False, **options):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model_folder)

    def encode(sample):
        text = (texts / sample).read_text().removesuffix("\n")
        if not as_chat:
            return tokenizer(text, return_tensors="pt")
        chat = [{"role": "user", "content": text}]
        return tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=True, return_tensors="pt")

    return check_tokens(folder, AutoModelForCausalLM.from_pretrained(model_folder, dtype="auto"), encode, **options)


def check_pictures(folder: Path, model_folder: Path, pictures: Path):
    from PIL import Image
    from transformers import AutoModelForImageTextToText, AutoProcessor

    processor = AutoProcessor.from_pretrained(model_folder)
    chat = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": QUESTION}]}]
    text = processor.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)

    def encode(sample):
        return processor(text=[text], images=[Image.open(pictures / sample).convert("RGB")], return_tensors="pt")

    return check_tokens(folder, AutoModelForImageTextToText.from_pretrained(model_folder, dtype="auto"), encode)


def check_trace(folder: Path):
    """Decode steps and operators of the trace, read plainly."""
    trace = truth.load(folder / "raw/torch_profiler/trace.json.gz")
    requests = [r for r in rows(folder / "raw/torch_profiler/requests.jsonl") if r["kind"] == "profiled"]
    batches = {r["batch_index"]: r["output_tokens"] for r in requests}
    steps = sum(bool(re.fullmatch(r"rooflens\.decode\[\d+\]", label)) for label in annotations(folder))
    yield from differ("decode steps in the trace", steps, sum(tokens - 1 for tokens in batches.values()))
    want = truth.operators([trace])
    shown = dict(operator_rows(folder / "report/operators.md"))
    if not shown:
        yield "operators.md has no rows"
    for name, (count, *times) in shown.items():
        if name not in want:
            yield f"operators.md: {name} is not in the trace"
            continue
        yield from differ(f"operators.md: calls of {name}", count, want[name]["count"])
        for text, value in zip(times, (want[name]["total_ns"], want[name]["self_ns"])):
            if text and not agrees(text, value):
                yield f"operators.md: {name}, {text}, trace {value} ns"
    exact = {row["name"]: row for row in metrics(folder)["analysis"]["operators"]}
    for name in want:
        for column, value in want[name].items():
            yield from differ(f"metrics.json: {name} {column}", exact.get(name, {}).get(column), value)


def annotations(folder: Path) -> list[str]:
    with gzip.open(folder / "raw/torch_profiler/trace.json.gz") as file:
        events = json.load(file)["traceEvents"]
    return [e["name"] for e in events if e.get("cat") == "user_annotation"]


def operator_rows(path: Path):
    """Name, calls, host total and host self of each row that is an operator's own."""
    for line in path.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        name = re.fullmatch(r"`(.+)`", cells[0])
        if name and len(cells) >= 7:
            yield name[1], (int(cells[1].replace(",", "")), cells[-3], cells[-2])


def agrees(text: str, ns: int) -> bool:
    """Whether a time as it is shown is the one of so many nanoseconds, to its last digit."""
    number, unit = text.replace(",", "").split()
    digits = len(number.partition(".")[2])
    return abs(float(number) * UNITS[unit] - ns) <= 0.5000001 * UNITS[unit] / 10**digits


def check_flops(folder: Path):
    """The static model's products, against a sum over what torch itself counted in the same run."""
    check = metrics(folder)["flops_check"]
    if not check:
        yield f"no flops_check: {metrics(folder)['not_computed'].get('flops_check')}"
        return
    counted: dict[str, int] = {}
    for row in json.loads((folder / "raw/torch_profiler/torch_flops.json").read_text())["rows"]:
        if row["name"] in PRODUCTS:
            counted[row["phase"]] = counted.get(row["phase"], 0) + row["flops"]
    yield from differ("phases with FLOPs", set(check["phases"]), {"prefill", "decode"})
    for phase, row in check["phases"].items():
        yield from differ(f"FLOPs of {phase}", row["static_flops"], counted.get(phase))


def check_matches(folder: Path):
    """Every product of the trace is an operator of the static model, and the other way round, to the operation."""
    matches, check = metrics(folder)["matches"], metrics(folder)["flops_check"]
    if not matches:
        yield f"no matches: {metrics(folder)['not_computed'].get('matches')}"
        return
    for phase, row in matches["phases"].items():
        # torch's own count, and what torch has no formula for.
        of_torch = check["phases"][phase]
        both = of_torch["torch_flops"] + sum(left["flops"] for left in of_torch["left_out"])
        if row["matched_flops"] != both or not row["equal"]:
            left = [(one["module"], one["operator"], one["flops"]) for one in row["unmatched"]]
            yield f"{phase}: matched {row['matched_flops']} of {both} FLOPs; left over {left[:5]}"


def check_whole(folder: Path) -> list[str]:
    return [line for check in (check_files, check_trace, check_flops, check_matches) for line in check(folder)]


def uv_environment(binary: Path, folder: Path) -> list[str]:
    """An environment of uv that sees the packages of this interpreter, and the settings that name it."""
    must(binary, "init", folder, "--force", "--with", "pyproject")
    words = ["venv", "--quiet", "--offline", "--clear", "--python", sys.executable, folder / ".venvs/oracle"]
    must(Path(sys.executable).parent / "uv", *words)
    site = Path(sysconfig.get_paths()["purelib"])
    inside = folder / ".venvs/oracle/lib" / site.parent.name / "site-packages"
    (inside / "packages.pth").write_text(f"{site}\n")
    return ["runtime.environment.kind=uv", "runtime.environment.name=oracle"]


def check_timeline(binary: Path, folder: Path, nsys: Path):
    """Nsight Systems around the workload: recorded in decode alone, in an environment of uv, after a run that was
    killed, or never."""
    drive = [SMALL[0], "profiling=nsys", f"pipeline.nsys.program={nsys}", "repeats=1"]
    killed = subprocess.Popen(
        [binary, "run", *drive, f"runtime.python={sys.executable}", "hydra.run.dir=runs/nsys/killed/0"],
        cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    report = folder / "runs/nsys/killed/0/raw/nsys/events.jsonl"
    while not report.exists() and killed.poll() is None:
        time.sleep(0.1)
    killed.kill()
    killed.wait()
    where, wrong = run(binary, folder, *drive, *uv_environment(binary, folder), "hydra.run.dir=runs/nsys/after/0")
    yield from wrong
    if wrong:
        return
    yield from run_metrics.problems(where)
    interpreter = json.loads((where / "report/env.json").read_text())["interpreter"]
    yield from differ("the interpreter", interpreter, "$PROJECT/.venvs/oracle/bin/python")
    names = {row["name"] for row in metrics(where)["analysis"]["phases"]}
    if "rooflens.decode[*]" not in names or "rooflens.prefill" in names:
        yield f"recorded in decode alone, the timeline has {sorted(names)}"
    never = ["runtime=command", "runtime.argv=[sleep,'1']", "hydra.run.dir=runs/nsys/never/0"]
    never += ["pipeline.nsys.enable=true", "pipeline.torch_profiler.enable=false", f"pipeline.nsys.program={nsys}"]
    done = start(binary, "run", *never, cwd=folder)
    if done.code != 4 or "nsys recorded nothing" not in done.stderr:
        yield f"a capture that never began: {done.failure()}"


class OneModel:
    """`rooflens run --model` in a folder without a project, with an empty cache of Rooflens and a cache of the hub."""

    def __init__(self, binary: Path, scratch: Path):
        self.binary, self.folder = binary, scratch / "work"
        self.folder.mkdir()
        self.model = checkpoint(scratch / "models/tiny-llama", "llama")
        cached = hub_snapshot(scratch / "hub", HUB_NAME, (self.model / "config.json").read_text())
        shutil.copytree(self.model, cached, dirs_exist_ok=True)
        self.environment = as_a_user(XDG_CACHE_HOME=str(scratch / "cache"), HF_HUB_CACHE=str(scratch / "hub"))

    def run(self, *words: str, code: int = 0) -> tuple[Outcome, list[str]]:
        done = start(self.binary, "run", *words, cwd=self.folder, env=self.environment)
        assert done.code == code, done.failure()
        return done, done.stdout.decode().splitlines()

    def tokens(self, lines: list[str], stages: list[str]):
        where = self.folder / next(line for line in lines if line.startswith("run ")).split(maxsplit=1)[1]
        texts = REPOSITORY / "crates/rooflens-collect/skeleton/datasets/starter/source-data"
        yield from check_texts(where, self.model, texts, as_chat=True, stages=stages)
        if (where / "raw/torch_profiler").exists() != ("torch_profiler" in stages):
            yield f"{where} has other passes than {stages}"

    def by_path(self):
        done, lines = self.run("--model", str(self.model), "repeats=1", "warmup_rounds=0", "infer.max_new_tokens=5")
        if not lines[0].startswith("tiny-llama") or "checkpoint weights" not in lines[0]:
            yield f"the first line is {lines[0]!r}"
        for name in ("MFU", "MBU"):
            line = next((line for line in lines if line.startswith(name)), "")
            if "%" not in line or "–" in line:
                yield f"{name} is {line!r}"
        if "measuring them" not in done.stderr:
            yield "that peaks are measured is not said"
        yield from self.tokens(lines, ["measure", "torch_profiler"])
        yield from differ("the folder", [path.name for path in self.folder.iterdir()], ["runs"])

    def by_name(self):
        words = ["profiling=none", "repeats=1", "warmup_rounds=0", "infer.max_new_tokens=5"]
        done, lines = self.run("--model", HUB_NAME, *words)
        if "measuring them" in done.stderr:
            yield "peaks are measured a second time"
        yield from self.tokens(lines, ["measure"])
        done, _ = self.run("--model", "somebody/unknown", code=5)
        if "hf download somebody/unknown" not in done.stderr:
            yield f"the hint is not the command that downloads it: {done.stderr}"

    def without_weights(self):
        bare = self.folder / "bare"
        bare.mkdir()
        for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
            shutil.copy(self.model / name, bare)
        done, _ = self.run("--model", "bare", code=5)
        if "no weights in" not in done.stderr or "model.weights=random" not in done.stderr:
            yield f"that weights are missing is not said: {done.stderr}"
        _, lines = self.run("--model", "bare", "model.weights=random", "profiling=none", "repeats=1", "infer.max_new_tokens=5")
        if "random weights" not in lines[0]:
            yield f"the first line is {lines[0]!r}"


def cases(binary: Path, folder: Path, nsys: Path | None):
    """Each run: its name, and what is wrong with it."""

    def of_model(kind, *more):
        # The weights in the folder are taken without asking: the tokens below are those of the checkpoint.
        named = [f"model.name={kind}", f"model.path=models/{kind}", "model.dtype=fp32"]
        return run(binary, folder, *SMALL, *named, *more)

    def first():
        where, wrong = run(binary, folder, *SMALL)
        return wrong or check_whole(where)

    def text_model(kind, *more):
        model = checkpoint(folder / "models" / kind, kind)
        where, wrong = of_model(kind, *more)
        return wrong or [*check_whole(where), *check_texts(where, model, folder / "datasets/starter/source-data")]

    def picture_model():
        """Noise of different sizes, so that sequences differ in length."""
        import numpy
        from PIL import Image

        model, root = checkpoint(folder / "models/qwen2.5-vl", "qwen2.5-vl"), folder / "datasets/pictures"
        root.mkdir()
        for i in range(3):
            noise = numpy.random.default_rng(i).integers(0, 255, (56 + 28 * i, 84, 3), dtype=numpy.uint8)
            Image.fromarray(noise).save(root / f"{i}.png")
        dataset = ["dataset.kind=image", "dataset.root=datasets/pictures", "dataset.patterns=['*.png']"]
        where, wrong = of_model("qwen2.5-vl", *dataset, f"+dataset.prompt='{QUESTION}'")
        return wrong or [*check_whole(where), *check_pictures(where, model, root)]

    def vllm(*more):
        engine = ["runtime=vllm", "+runtime.env.VLLM_CPU_KVCACHE_SPACE=1"]
        where, wrong = run(binary, folder, *SMALL, *engine, *more, "--format", "json")
        return wrong or list(check_files(where))

    def peaks():
        words = ["hardware", "measure", "--python", sys.executable, "--device", "cpu", "--seconds", "1"]
        done = must(binary, *words, "--format", "json", cwd=folder)
        before = len(DOCUMENTS.wrong)
        DOCUMENTS.text(done.stdout, "rooflens hardware measure", "hardware")
        return DOCUMENTS.wrong[before:]

    yield "pytorch, as the project is made", first
    yield "pytorch, llama", lambda: text_model("llama")
    # Attention in plain products, which torch counts.
    eager = ["runtime.batch_size=3", "runtime.attention=eager"]
    yield "pytorch, llama, batches of three, eager", lambda: text_model("llama", *eager)
    yield "pytorch, qwen3-moe", lambda: text_model("qwen3-moe")
    yield "pytorch, qwen2.5-vl on pictures", picture_model
    yield "vllm, as the project is made", vllm
    # vLLM starts in half the time.
    yield "vllm without compiled kernels", lambda: vllm("runtime.enforce_eager=true")
    yield "peaks of the processor", peaks
    if nsys:
        yield "nsys around pytorch", lambda: check_timeline(binary, folder, nsys)


def check_all(judge, args, scratch: Path) -> None:
    DOCUMENTS.binary = args.rooflens
    folder = scratch / "p"
    must(args.rooflens, "init", folder)
    for name, case in cases(args.rooflens, folder, args.nsys):
        if not args.only or any(text in name for text in args.only):
            judge.check(name, (line for line in case()))
    if args.only:
        return
    alone = OneModel(args.rooflens, scratch)
    judge.check("one model by its path", alone.by_path())
    judge.check("one model by its name on the hub, offline", alone.by_name())
    judge.check("one model without weights", alone.without_weights())
    unseen = coverage.uncovered(coverage.CHECK_RUN, DOCUMENTS)
    judge.check("documents follow their schemas", unseen, f"{DOCUMENTS.seen.total()} documents")


if __name__ == "__main__":
    only = option("--only", action="append", metavar="TEXT", help="runs whose name contains TEXT; repeatable")
    main(check_all, only, option("--nsys", type=existing, metavar="NSYS", help="Nsight Systems, to be driven, too"))
