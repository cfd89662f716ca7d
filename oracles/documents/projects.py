"""Documents of a project: configs, assets, sources of others, and runs that need no engine."""

import gzip
import os
import shutil
import subprocess
from functools import partial
from pathlib import Path

from documents.asking import FIXTURES, GIT, Asking

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


def check(asking: Asking) -> None:
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
    """The last column of a CSV file."""
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
