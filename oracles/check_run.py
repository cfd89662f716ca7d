#!/usr/bin/env python3
"""`rooflens run` on real PyTorch and vLLM: tokens, steps, operators and files of whole runs.

Needs torch, transformers and vLLM. A project is made, tiny checkpoints are run in it, and every run is held against
Transformers itself and a plain reader of the trace: nothing of the package that was run is used, but for making the
checkpoints.
"""

import gzip
import json
import os
import re
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import kineto_truth as truth
import run_metrics
from documents import coverage
from documents.validate import Documents
from oracle import FIXTURES, REPOSITORY, existing, main, must, option
from oracle import run as start

NEW_TOKENS = 12
QUESTION = "What is in it?"
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


def checkpoint(folder: Path, kind: str) -> None:
    must(sys.executable, "-m", "rooflens.tiny", kind, folder / "models" / kind, env=package())


def pictures(folder: Path) -> None:
    """Noise of different sizes, so that sequences differ in length."""
    import numpy
    from PIL import Image

    root = folder / "datasets/pictures"
    root.mkdir()
    for i in range(3):
        noise = numpy.random.default_rng(i).integers(0, 255, (56 + 28 * i, 84, 3), dtype=numpy.uint8)
        Image.fromarray(noise).save(root / f"{i}.png")


def run(binary: Path, folder: Path, *overrides: str) -> tuple[Path, list[str]]:
    """Runs in the project as a user would, with the interpreter of the environment in front."""
    before = set(folder.glob("runs/*/*/*"))
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    done = start(binary, "run", *overrides, cwd=folder, env=environment)
    made = set(folder.glob("runs/*/*/*")) - before
    if done.code or len(made) != 1:
        return folder, [f"{len(made)} runs, {done.failure()}"]
    wrong = []
    if len(done.stdout.splitlines()) > 40:
        wrong.append(f"the summary has {len(done.stdout.splitlines())} lines: more than a screen")
    where, before = made.pop(), len(DOCUMENTS.wrong)
    if "--format" in overrides:
        DOCUMENTS.text(done.stdout, "rooflens run", "run")
    DOCUMENTS.folder(where)
    return where, wrong + DOCUMENTS.wrong[before:]


def check_files(folder: Path):
    for file in FILES:
        if not (folder / file).is_file():
            yield f"{file} is missing"
        elif not (folder / file).stat().st_size:
            yield f"{file} is empty"
    metrics = json.loads((folder / "report/metrics.json").read_text())
    if metrics["status"] != "complete":
        yield f"the run is {metrics['status']}"
    yield from run_metrics.problems(folder)


def rows(folder: Path, name: str) -> list[dict]:
    with open(folder / name) as file:
        return [json.loads(line) for line in file]


def check_tokens(folder: Path, model_folder: Path, samples: Path, with_pictures: bool):
    """Every answer of both passes, against `model.generate`, sample by sample."""
    import torch
    from PIL import Image
    from transformers import AutoModelForCausalLM, AutoModelForImageTextToText, AutoProcessor, AutoTokenizer

    torch.manual_seed(0)
    if with_pictures:
        processor = AutoProcessor.from_pretrained(model_folder)
        model = AutoModelForImageTextToText.from_pretrained(model_folder, dtype="auto")
        chat = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": QUESTION}]}]
        text = processor.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)

        def encode(path):
            return processor(text=[text], images=[Image.open(path).convert("RGB")], return_tensors="pt")
    else:
        tokenizer = AutoTokenizer.from_pretrained(model_folder)
        model = AutoModelForCausalLM.from_pretrained(model_folder, dtype="auto")

        def encode(path):
            return tokenizer(path.read_text().removesuffix("\n"), return_tensors="pt")

    model.generation_config.eos_token_id = None  # the config says to go on after it
    compared = 0
    for stage in ("measure", "torch_profiler"):
        for row in rows(folder, f"raw/{stage}/tokens.jsonl"):
            inputs = encode(samples / row["sample"])
            width = inputs["input_ids"].shape[1]
            made = model.generate(**inputs, max_new_tokens=NEW_TOKENS, do_sample=False)
            if row["prompt_ids"] != inputs["input_ids"][0].tolist():
                yield f"{stage}, {row['sample']}: other prompt tokens than Transformers'"
            if row["output_ids"] != made[0, width:].tolist():
                yield f"{stage}, {row['sample']}: {row['output_ids']}, generate {made[0, width:].tolist()}"
            compared += 1
    if not compared:
        yield "there are no tokens to compare"


def check_trace(folder: Path):
    """Decode steps and operators of the trace, read plainly."""
    trace = truth.load(folder / "raw/torch_profiler/trace.json.gz")
    labels = [op.name for op in trace.operators] + annotations(folder)
    requests = [r for r in rows(folder, "raw/torch_profiler/requests.jsonl") if r["kind"] == "profiled"]
    batches = {r["batch_index"]: r["output_tokens"] for r in requests}
    steps = sum(bool(re.fullmatch(r"rooflens\.decode\[\d+\]", label)) for label in labels)
    expected = sum(tokens - 1 for tokens in batches.values())
    if steps != expected:
        yield f"{steps} decode steps in the trace, tokens - 1 is {expected}"
    want = truth.operators([trace])
    shown = dict(operator_rows(folder / "report/operators.md"))
    if not shown:
        yield "operators.md has no rows"
    for name, (count, total, own) in shown.items():
        if name not in want:
            yield f"operators.md: {name} is not in the trace"
            continue
        if count != want[name]["count"]:
            yield f"operators.md: {name} {count} times, trace {want[name]['count']}"
        for label, text, value in (("total", total, want[name]["total_ns"]), ("self", own, want[name]["self_ns"])):
            if text and not agrees(text, value):
                yield f"operators.md: {name}, {label} {text}, trace {value} ns"
    metrics = json.loads((folder / "report/metrics.json").read_text())
    exact = {row["name"]: row for row in metrics["analysis"]["operators"]}
    for name in want:
        for column, value in want[name].items():
            if exact.get(name, {}).get(column) != value:
                yield f"metrics.json: {name} {column} {exact.get(name, {}).get(column)}, trace {value}"


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


def check_flops(folder: Path, products: set[str] = PRODUCTS):
    """The static model's products, against a sum over what torch itself counted in the same run."""
    metrics = json.loads((folder / "report/metrics.json").read_text())
    check = metrics["flops_check"]
    if not check:
        yield f"no flops_check: {metrics['not_computed'].get('flops_check')}"
        return
    counted: dict[str, int] = {}
    for row in json.loads((folder / "raw/torch_profiler/torch_flops.json").read_text())["rows"]:
        if row["name"] in products:
            counted[row["phase"]] = counted.get(row["phase"], 0) + row["flops"]
    if set(check["phases"]) != {"prefill", "decode"}:
        yield f"FLOPs of {sorted(check['phases'])} only"
    for phase, row in check["phases"].items():
        if row["static_flops"] != counted.get(phase):
            yield f"FLOPs of {phase}: static {row['static_flops']}, torch {counted.get(phase)}"


def check_matches(folder: Path):
    """Every product of the trace is an operator of the static model, and the other way round, to the operation."""
    metrics = json.loads((folder / "report/metrics.json").read_text())
    matches, check = metrics["matches"], metrics["flops_check"]
    if not matches:
        yield f"no matches: {metrics['not_computed'].get('matches')}"
        return
    for phase, row in matches["phases"].items():
        # torch's own count, and what torch has no formula for.
        of_torch = check["phases"][phase]
        both = of_torch["torch_flops"] + sum(left["flops"] for left in of_torch["left_out"])
        if row["matched_flops"] != both or not row["equal"]:
            left = [(one["module"], one["operator"], one["flops"]) for one in row["unmatched"]]
            short = [one["name"] for one in row["operators"] if one["matched_flops"] != one["flops"]]
            yield f"{phase}: matched {row['matched_flops']} of {both} FLOPs; left over {left[:5]}; lacking {short}"


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


def page(root: Path) -> None:
    """A page that is turned to the right to be read, and larger than a crop."""
    from PIL import Image

    root.mkdir(parents=True)
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.radial_gradient("L").resize((1998, 999)).save(root / "page.jpg", exif=exif)


def check_stages(folder: Path):
    """The encoders, the projector and the steps, in the trace and in the ledger, where all adds up."""
    metrics = json.loads((folder / "report/metrics.json").read_text())
    labels = annotations(folder)
    for stage in ("rooflens.vision.sam", "rooflens.vision.clip", "rooflens.projector"):
        if labels.count(stage) != 2:
            yield f"{stage} {labels.count(stage)} times in the trace: once for the crops, once for the whole"
    ledger = metrics["analysis"]["ledger"]
    phases = {phase["phase"]: phase for phase in ledger["phases"]}
    stages = {stage["stage"] for phase in phases.values() for stage in phase.get("stages", [])}
    if not {"sam", "clip", "projector"} <= stages or not {"prefill", "decode"} <= set(phases):
        yield f"the ledger has phases {sorted(phases)} and stages {sorted(stages)}"
    for name, phase in phases.items():
        if phase.get("stages") and sum(stage["wall_ns"] for stage in phase["stages"]) != phase["wall_ns"]:
            yield f"stages of {name} do not add up"
    if sum(phase["wall_ns"] for phase in phases.values()) != ledger["wall_ns"]:
        yield "phases of the ledger do not add up"


def check_boxes(folder: Path):
    """The planted answer's boxes: parts of 999 of a page that is 999 wide and 1998 high once it is upright."""
    want = [(111, 444, 333, 888, []), (555, 1332, 999, 1776, ["clipped"])]
    have = [
        (*(round(row[key]) for key in ("x1", "y1", "x2", "y2")), row["flags"])
        for row in rows(folder, "report/boxes.jsonl")
    ]
    if have != want:
        yield f"boxes at {have}, planted {want}"


def check_timeline(binary: Path, folder: Path, nsys: Path, small: list[str]):
    """Nsight Systems around the workload: recorded in decode alone, in an environment of uv, after a run that was
    killed, or never."""
    drive = [*small, "profiling=nsys", f"pipeline.nsys.program={nsys}", "repeats=1"]
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
    metrics = json.loads((where / "report/metrics.json").read_text())
    names = {row["name"] for row in metrics["analysis"]["phases"]}
    interpreter = json.loads((where / "report/env.json").read_text())["interpreter"]
    if interpreter != "$PROJECT/.venvs/oracle/bin/python":
        yield f"in the uv environment, the interpreter is {interpreter}"
    if "rooflens.decode[*]" not in names or "rooflens.prefill" in names:
        yield f"recorded in decode alone, the timeline has {sorted(names)}"
    never = ["runtime=command", "runtime.argv=[sleep,'1']", "hydra.run.dir=runs/nsys/never/0"]
    never += ["pipeline.nsys.enable=true", "pipeline.torch_profiler.enable=false", f"pipeline.nsys.program={nsys}"]
    done = start(binary, "run", *never, cwd=folder)
    if done.code != 4 or "nsys recorded nothing" not in done.stderr:
        yield f"a capture that never began: {done.failure()}"


def cases(binary: Path, folder: Path, nsys: Path | None):
    """Each run: its name, and what is wrong with it."""
    small = [f"infer.max_new_tokens={NEW_TOKENS}", "repeats=1"]
    texts = folder / "datasets/starter/source-data"

    def of_model(kind, *more):
        # The weights in the folder are taken without asking: the tokens below are those of the checkpoint.
        named = [f"model.name={kind}", f"model.path=models/{kind}", "model.dtype=fp32"]
        return run(binary, folder, *small, *named, *more)

    def first():
        where, wrong = run(binary, folder, *small)
        return wrong or check_whole(where)

    def text_model(kind, *more):
        checkpoint(folder, kind)
        where, wrong = of_model(kind, *more)
        return wrong or [*check_whole(where), *check_tokens(where, folder / "models" / kind, texts, False)]

    def picture_model(*more):
        checkpoint(folder, "qwen2.5-vl")
        pictures(folder)
        dataset = ["dataset.kind=image", "dataset.root=datasets/pictures", "dataset.patterns=['*.png']"]
        where, wrong = of_model("qwen2.5-vl", *dataset, f"+dataset.prompt='{QUESTION}'", *more)
        tokens = check_tokens(where, folder / "models/qwen2.5-vl", folder / "datasets/pictures", True)
        return wrong or [*check_whole(where), *tokens]

    def ocr_model():
        """Remote code without a processor; the answer is planted, as fixtures/models/deepseek-ocr-tiny says."""
        must(sys.executable, FIXTURES / "models/deepseek-ocr-tiny/make.py", folder / "models/deepseek_ocr", env=package())
        page(folder / "datasets/omnidocbench/source-data/images")
        chosen = ["model=deepseek_ocr", "dataset=omnidocbench", "model.preprocess.base_size=256", "model.dtype=fp32"]
        where, wrong = run(binary, folder, *small, *chosen, "pipeline.direct_inference.enable=true")
        # Encoders have convolutions, which matches leave out.
        return wrong or [
            *check_files(where), *check_trace(where), *check_flops(where, PRODUCTS | {"aten::conv2d"}),
            *check_stages(where), *check_boxes(where),
        ]  # fmt: skip

    def vllm(*more):
        engine = ["runtime=vllm", "+runtime.env.VLLM_CPU_KVCACHE_SPACE=1"]
        where, wrong = run(binary, folder, *small, *engine, *more, "--format", "json")
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
    yield "pytorch, deepseek-ocr on a page", ocr_model
    yield "vllm, as the project is made", vllm
    # vLLM starts in half the time.
    yield "vllm without compiled kernels", lambda: vllm("runtime.enforce_eager=true")
    yield "peaks of the processor", peaks
    if nsys:
        yield "nsys around pytorch", lambda: list(check_timeline(binary, folder, nsys, small[:1]))


def check_all(judge, args, scratch: Path) -> None:
    DOCUMENTS.binary = args.rooflens
    folder = scratch / "p"
    must(args.rooflens, "init", folder)
    for name, case in cases(args.rooflens, folder, args.nsys):
        if not args.only or any(text in name for text in args.only):
            judge.check(name, (line for line in case()))
    unseen = [] if args.only else coverage.uncovered(coverage.CHECK_RUN, DOCUMENTS)
    judge.check("documents follow their schemas", unseen, f"{DOCUMENTS.seen.total()} documents")


if __name__ == "__main__":
    only = option("--only", action="append", metavar="TEXT", help="runs whose name contains TEXT; repeatable")
    main(check_all, only, option("--nsys", type=existing, metavar="NSYS", help="Nsight Systems, to be driven, too"))
