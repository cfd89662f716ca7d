"""Documents of traces: analyses, advice, kernels, comparisons, and what is saved of them."""

import itertools
import subprocess
from pathlib import Path
from typing import Iterator

from documents.asking import FIXTURES, Asking

IN_FIXTURES = ("kineto", "nsys", "nccl", "rocpd", "rocprofv3", "tensorrt", "torchmem", "trtexec", "blaslog", "metrics")
IN_CORPUS = ("kineto", "nsys", "rocm", "tensorrt", "torchmem", "logs")
# Every so many inputs are saved, too: what is saved repeats what is printed.
SAVED = 6
INFERENCE = "kineto/tracelens/inference"


def inputs(corpus: Path, every: int) -> Iterator[Path]:
    """The fixtures, and one of `every` files of the corpus."""
    for root, names, step in ((FIXTURES, IN_FIXTURES, 1), (corpus, IN_CORPUS, every)):
        for name in names:
            yield from sorted(path for path in (root / name).rglob("*") if path.is_file())[::step]
    yield FIXTURES / "kineto/two_ranks"
    yield corpus / "kineto/hta/trace_filter"


def check(asking: Asking, corpus: Path, every: int, blocks: Path) -> None:
    readable = []
    for path in inputs(corpus, every):
        if asking.ask("analysis", "analyze", path, may_refuse=True) is None:
            continue  # Not an input: what is refused is another check's.
        readable.append(path)
        asking.ask("advice", "advise", path)
        asking.ask("top_kernels", "kernels", "top", path)
        asking.ask("range_kernels", "kernels", "top", path, "--by", "range")
    if every == 1 and len(readable) < 80:
        asking.documents.wrong.append(f"only {len(readable)} inputs were analyzed")
    for path in readable[::SAVED]:
        check_saved(asking, path)
        asking.ask("charts", "plot", path)
    for a, b in itertools.pairwise(readable):
        if a.parent == b.parent:
            asking.ask("comparison", "compare", a, b)
    check_options(asking, corpus, every)
    check_tables(asking, corpus)
    check_blocks(asking, readable, blocks)


def check_saved(asking: Asking, path: Path) -> None:
    """A run directory of `analyze -o`, read again by every command that takes one."""
    run = asking.place()
    asking.ask("analysis", "analyze", path, "-o", run)
    asking.run("report", run)
    asking.saved(run)
    asking.ask("advice", "advise", run)
    asking.ask("comparison", "compare", run, path)


def check_options(asking: Asking, corpus: Path, every: int) -> None:
    """What only an option brings: the model that ran, the capture of graphs, a log of GEMMs."""
    trace = FIXTURES / "kineto/decode.json"
    inference = corpus / INFERENCE
    decode = inference / "vllm_decode_full"
    capture = next((decode / "capture_traces").glob("graph_capture*"))
    asking.ask("analysis", "analyze", decode / "graph_execution.json.gz", "--capture", capture)
    model = ["--model", corpus / "configs/openai--gpt-oss-20b.json", "--hardware", "mi300x", "--context", "1024"]
    asking.ask("analysis", "analyze", decode / "graph_execution.json.gz", *model, "--force")
    model = ["--model", corpus / "configs/Qwen--Qwen3-8B.json", "--hardware", "mi300x", "--context", "1024", "--force"]
    for path in sorted(inference.glob("*/*.json.gz"))[::every]:
        asking.ask("analysis", "analyze", path, *model, "-o", run := asking.place())
        asking.saved(run)
        asking.ask("charts", "plot", run)
        asking.ask("advice", "advise", path, *model, "--limit", "20")
        asking.ask("advice", "advise", path, *model, "--what-if", "num_hidden_layers=20", may_refuse=True)
    log = (FIXTURES / "blaslog/cublaslt.log").read_text(encoding="utf-8")
    line = next(line for line in log.splitlines(keepends=True) if "[Trace]" in line)
    four = asking.scratch / "four.log"
    four.write_text(4 * line, encoding="utf-8")
    for gemms in (FIXTURES / "blaslog/cublaslt.log", four):
        asking.ask("analysis", "analyze", trace, "--gemms", gemms)
    others = [FIXTURES / "kineto/two_ranks", corpus / "kineto/tracelens/b200/eager_trace.json.gz"]
    asking.ask("comparison", "compare", trace, *others)


def check_tables(asking: Asking, corpus: Path) -> None:
    """Tables of kernels that nsys stats prints, and the counters of profiled kernels."""
    ocr = corpus / "llm-perf-opt/reports/20251107-dsocr"
    for table in sorted(ocr.rglob("*cuda_gpu_kern_sum.csv")):
        asking.ask("advice", "advise", table, "--wall", "60s", "--steps", "64")
        asking.ask("top_kernels", "kernels", "top", table, "--k", "5")
    counters = [FIXTURES / "rocprof_compute/MI200", *sorted((corpus / "rocm").glob("rocprof-compute*")), ocr / "ncu-v2"]
    counters += [path for path in sorted((corpus / "ncu").rglob("*")) if path.suffix in (".ncu-rep", ".csv")]
    for path in counters:
        run = asking.place()
        if asking.ask("kernel_profile", "kernels", "analyze", path, "-o", run, may_refuse=True) is not None:
            asking.saved(run)
    timeline = ["--timeline", ocr / "nsys/per-stage/decode/nsys/summary_cuda_gpu_kern_sum.csv"]
    asking.ask("kernel_profile", "kernels", "analyze", ocr / "ncu-v2", *timeline, "--hardware", "rtx-5090")


def check_blocks(asking: Asking, readable: list[Path], blocks: Path) -> None:
    """The blocks of every section, as the library serialises them."""
    for path in readable[::SAVED]:
        analysis = asking.run("analyze", path, "--format", "json").stdout
        for line in subprocess.run([blocks], input=analysis, capture_output=True, check=True).stdout.splitlines():
            asking.documents.text(line, f"blocks of {path}", "blocks")
