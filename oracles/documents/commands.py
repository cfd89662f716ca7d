"""Every command that prints JSON and needs no engine: of traces, of models and words, of a project, of a store."""

import gzip
import itertools
import os
import shutil
import subprocess
from functools import partial
from pathlib import Path
from typing import Iterator

from documents.asking import GIT, Asking
from oracle import FIXTURES

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


def traces(asking: Asking, corpus: Path, every: int, blocks: Path) -> None:
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


def models(asking: Asking, corpus: Path, every: int) -> None:
    check_costs(asking, corpus, every)
    check_words(asking)
    check_machine(asking)


def check_costs(asking: Asking, corpus: Path, every: int) -> None:
    configs = sorted((corpus / "configs").glob("*.json"))[::every]
    decode = ["--hardware", "h100", "--context", "4k", "--batch", "2"]
    prefill = ["--prefill", "1k", "--hardware", "mi300x", "--tp", "2"]
    known = [path for path in configs if asking.ask("cost", "cost", path, *decode, may_refuse=True) is not None]
    if every == 1 and len(known) < 50:
        asking.documents.wrong.append(f"only the cost of {len(known)} configs was computed")
    for path in known:
        asking.ask("cost", "cost", path, *prefill, "--operators", may_refuse=True)
        asking.ask("cost-sweep", "cost", path, "--hardware", "h100,mi300x", "--batch", "1,8", "--context", "1k")
    tiny = FIXTURES / "configs/tiny-moe.json"
    asking.ask("cost", "cost", tiny)
    asking.ask("cost", "cost", tiny, *decode, "--tpot", "30ms", "--routing", "power:1.2")
    asking.ask("cost-sweep", "cost", tiny, *decode, "--set", "num_hidden_layers=1,2")
    asking.ask("cost", "cost", tiny, known[0], *decode)
    for words in (["--batch", "1"], ["--batch", "1,8"]):
        run = asking.place()
        name = "cost-sweep" if "1,8" in words else "cost"
        asking.ask(name, "cost", tiny, "--hardware", "h100", "--context", "4k", *words, "-o", run)
        asking.saved(run)


def check_words(asking: Asking) -> None:
    """Every list, and the explanation of each name in it."""
    lists = asking.ask("list", "list")
    for kind in lists["items"]:
        for item in asking.ask("list", "list", kind["name"])["items"]:
            asking.ask("explanation", "explain", item["name"], may_refuse=True)


def check_machine(asking: Asking) -> None:
    asking.ask("doctor", "doctor")
    asking.ask("self-test", "self-test")
    asking.ask("sample", "monitor", "--once")
    asking.stream("monitor", "--interval", "20ms", "--duration", "100ms")


COMMIT = "0123456789abcdef0123456789abcdef01234567"
BOOTSTRAP = """\
schema: 1
models:
  - name: tiny
    source: {hub: org/tiny}
    required: [config.json]
  - name: absent
    source: {root: MODELS_ROOT, path: absent}
    required: [config.json]
datasets:
  - name: pages
    source: {root: DATASETS_ROOT, path: pages}
    required: [labels.json]
    extract: [{archive: images.tar.gz, into: datasets/pages/images}]
"""
USER = ["-c", "user.name=Test", "-c", "user.email=test@example.invalid", "-c", "commit.gpgSign=false"]
# In place of the interpreter: leaves what a workload of PyTorch leaves.
WORKLOAD = """\
#!/bin/sh
out=$(dirname "$3")
cp "$MEASURED"/* "$out" && touch "$out/tokens.jsonl"
cat "$out/events.jsonl" >&$ROOFLENS_EVENTS_FD
case $out in *torch_profiler) cp "$TRACE" "$out/trace.json.gz";; esac
case $(cat "$3") in *'"batch_size": 2'*) exit 5;; esac
"""


def projects(asking: Asking) -> None:
    project = asking.scratch / "project"
    asking.ask("init", "init", project)
    check_configs(asking, project)
    check_assets(asking, project)
    check_externals(asking)
    check_runs(asking, project)


def check_configs(asking: Asking, project: Path) -> None:
    ask = partial(asking.ask, cwd=project)
    ask("config", "config", "show")
    ask("config", "config", "show", "--cfg", "all", "--resolve", "runtime=vllm", "seed=3")
    ask("config", "config", "show", "--package", "runtime")
    ask("config", "config", "show", "--origins")
    ask("config", "run", "--cfg", "job")
    ask("config", "run", "--info")
    ask("config-sweep", "config", "show", "-m", "runtime.batch_size=1,2", "model.dtype=bf16,fp32")
    ask("config-groups", "config", "groups")
    ask("config-written", "config", "write", "-m", "seed=1,2", "--hydra", "hydra.sweep.dir=written")
    for words in (["--dry-run"], ["-o", asking.place()]):
        asking.ask("config-migrated", "config", "migrate", FIXTURES / "projects/llm-perf-opt/conf", *words)


def check_assets(asking: Asking, project: Path) -> None:
    storage = asking.scratch / "storage"
    write(project / "bootstrap.yaml", BOOTSTRAP)
    hub = storage / "hub/models--org--tiny"
    write(hub / "refs/main", COMMIT)
    write(hub / "snapshots" / COMMIT / "config.json", "{}")
    write(storage / "pages/labels.json", "[1]")
    write(storage / "images/1.txt", "one")
    shutil.make_archive(str(storage / "pages/images"), "gztar", storage, "images")
    roots = {"HF_HUB_CACHE": storage / "hub", "MODELS_ROOT": storage, "DATASETS_ROOT": storage}
    ask = partial(asking.ask, cwd=project, env=roots)
    ask("assets-status", "assets", "status")
    ask("assets-verify", "assets", "verify", code=1)
    ask("assets-plan", "assets", "link", "--dry-run")
    ask("assets-link", "assets", "link", "--yes", code=5)
    ask("assets-link", "assets", "link", "tiny", "pages", "--yes")
    ask("assets-status", "assets", "status")
    ask("assets-verify", "assets", "verify", "tiny", "pages")
    ask("assets-subset", "assets", "subset", "starter", "subset-2", "--samples", "2", "--shuffle", "--seed", "7")
    copy = ["--", "sh", "-c", 'cp -r "$ROOFLENS_PARENT"/. "$ROOFLENS_OUTPUT"']
    ended = asking.run("assets", "variant", "starter", "--format", "json", "variant-copy", *copy, cwd=project)
    asking.documents.text(ended.stdout, "rooflens assets variant", "assets-variant")
    write(project / "datasets/starter/cleaned/data/1.txt", "one")
    ask("assets-variant", "assets", "variant", "starter", "cleaned", "--transform", "by hand")
    ask("assets-readme", "assets", "readme", "starter")
    ask("assets-verify", "assets", "verify", "starter", may_refuse=True)


def check_externals(asking: Asking) -> None:
    upstream, project = asking.scratch / "upstream", asking.scratch / "pinned"
    write(upstream / "LICENSE", "be kind\n")
    write(upstream / "src/kernel.cu", "one\n")
    git(upstream, "init", "--quiet", "--initial-branch=main")
    commit(upstream)
    asking.ask("init", "init", project, "--with", "pixi")
    git(project, "init", "--quiet")
    commit(project)
    snapshot = asking.scratch / "hf/hub/models--org--tiny"
    write(snapshot / "refs/main", COMMIT)
    write(snapshot / "snapshots" / COMMIT / "config.json", "{}")
    ask = partial(asking.ask, cwd=project, env={"HF_HOME": asking.scratch / "hf"})
    ask("externals-add", "externals", "add", "../upstream", "--dry-run")
    ask("externals-add", "externals", "add", "../upstream", "--kind", "subtree")
    ask("externals-add", "externals", "add", "../upstream", "--path", "src", "--name", "some")
    ask("externals-add", "externals", "add", "../upstream", "--kind", "link", "--name", "link")
    ask("externals-add", "externals", "add", "org/tiny")
    ask("externals-status", "externals", "status")
    commit(project)
    for _ in range(2):
        ask("externals-guard", "externals", "guard")
    write(upstream / "src/kernel.cu", "two\n")
    commit(upstream)
    ask("externals-update", "externals", "update", "--dry-run")
    ask("externals-update", "externals", "update", "--yes")
    commit(project)
    edited = project / "third_party/github/upstream/src/kernel.cu"
    edited.chmod(0o644)
    edited.write_text("mine\n", encoding="utf-8")
    git(project, "add", ".")
    ask("externals-status", "externals", "status")
    ask("externals-staged", "externals", "status", "--staged", code=1)
    ask("externals-sync", "externals", "sync", "--dry-run", "--force")
    ask("externals-sync", "externals", "sync", code=2)
    ask("externals-sync", "externals", "sync", "--force")


def check_runs(asking: Asking, project: Path) -> None:
    """Runs with a script in place of the interpreter, and a program of the user's."""
    write(project / "work", WORKLOAD).chmod(0o755)
    trace = asking.scratch / "trace.json.gz"
    trace.write_bytes(gzip.compress((FIXTURES / "kineto/decode.json").read_bytes()))
    env = {"MEASURED": FIXTURES / "workload/measure", "TRACE": trace, "XDG_CACHE_HOME": asking.scratch / "cache"}
    ask = partial(asking.ask, cwd=project, env=env)
    fake = ["runtime.python=./work"]
    ask("plan", "run", "--dry-run", *fake)
    ask("plan", "run", "--dry-run", "profiling=nsys", "runtime=vllm")
    ask("run", "run", *fake, "hydra.run.dir=runs/a")
    ask("run", "run", *fake, "hydra.run.dir=runs/b", "pipeline.torch_profiler.enable=false")
    ask("run", "run", *fake, "hydra.run.dir=runs/failed", "runtime.batch_size=2", code=4)
    own = ["runtime=command", "runtime.argv=[sleep,'0.2']", "sampler.interval_ms=20"]
    ask("run", "run", *own, "hydra.run.dir=runs/own")
    sweep = ["runtime.batch_size=1,2,4", "infer.max_new_tokens=8,16", "hydra.sweep.dir=runs/sweep"]
    ask("run-sweep", "run", "-m", *fake, *sweep, code=4)
    run = project / "runs/a"
    ask("analysis", "analyze", run)
    ask("advice", "advise", run)
    ask("advice", "advise", run, "--what-if", "num_hidden_layers=1", may_refuse=True)
    ask("top_kernels", "kernels", "top", run)
    ask("comparison", "compare", run, project / "runs/b", project / "runs/own")
    ask("trend", "trend", run, project / "runs/b", run)
    ask("trend", "trend", "--csv", FIXTURES / "compare/rounds.csv", "--key", key_of(FIXTURES / "compare/rounds.csv"))
    asking.run("report", run)
    asking.saved(project / "runs")


def key_of(table: Path) -> str:
    return table.read_text(encoding="utf-8").splitlines()[0].split(",")[-1]


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def git(folder: Path, *words: str) -> None:
    environment = {**os.environ, **GIT}
    subprocess.run(["git", *USER, *words], cwd=folder, env=environment, check=True, capture_output=True)


def commit(folder: Path) -> None:
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--no-verify", "-m", "as it is")


def stores(asking: Asking) -> None:
    """Every command that speaks of a store, over two small runs."""
    store = asking.place()
    for name in ("kineto/decode.json", "kineto/two_ranks"):
        run = asking.place()
        asking.run("analyze", FIXTURES / name, "-o", run)
        asking.ask("store-added", "store", "add", run, "--store", store)
    listed = asking.ask("store-runs", "runs", store)
    folder_of_runs(asking)
    asking.ask("store-verified", "store", "verify", "--store", store)
    asking.ask("queries", "query", "--list")
    asking.ask("query", "query", "top-kernels", "--store", store)
    asking.ask("query", "query", "SELECT * FROM runs", "--store", store)
    asking.ask("store-changed", "store", "compact", "--store", store)
    if listed and listed["runs"]:
        asking.ask("store-runs", "store", "set", listed["runs"][0]["run_id"], "label=checked", "--store", store)
        asking.ask("store-removed", "store", "rm", listed["runs"][0]["run_id"], "--store", store)
    asking.ask("store-changed", "store", "retain", "--events", "1", "--store", store)
    asking.ask("store-vacuumed", "store", "vacuum", "--older-than", "0", "--store", store)


def folder_of_runs(asking: Asking) -> None:
    """The same commands over run directories: listed, tagged, deleted."""
    folder = asking.place()
    for name in ("kineto/decode.json", "kineto/two_ranks"):
        asking.run("analyze", FIXTURES / name, "-o", folder / Path(name).stem)
    asking.ask("store-runs", "runs", folder)
    asking.ask("store-runs", "runs", "tag", "decode", "two_ranks", "checked", "--in", folder)
    tags = folder / "decode/.rooflens/tags.json"
    asking.documents.text(tags.read_bytes(), str(tags), "tags")
    asking.ask("trend", "trend", folder, "--metric", "device_busy_share")
    asking.ask("comparison", "compare", folder, "--where", "tag=checked")
    asking.ask("store-runs", "runs", "untag", "decode", "checked", "--in", folder)
    asking.ask("runs-deleted", "runs", "delete", "decode", "--yes", "--in", folder)
