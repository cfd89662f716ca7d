"""The files that the commands of the pages name, made of fixtures and of the corpus."""

import gzip
import shutil
import sqlite3
from pathlib import Path
from oracle import REPOSITORY


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


def place(text: str, folder: Path, corpus: Path) -> None:
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
