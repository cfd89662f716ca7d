"""Where the gates keep what they build and install, and the environment of every step."""

import os
import shutil
import subprocess
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
CACHE = Path(os.environ.get("ROOFLENS_CACHE", Path.home() / ".cache/rooflens"))
CORPUS = Path(os.environ.get("ROOFLENS_CORPUS", REPOSITORY.parent / "shared/data"))
# Every step runs in this copy of the tracked files. Its path never changes, so cargo builds only what changed.
TREE = CACHE / "gate-tree"

TARGET = CACHE / "gate-target"
ENGINES = CACHE / "engines-target"
TARGETS = [TARGET, ENGINES, CACHE / "fuzz-target"]
# Tests and the program under test are one build.
BUILT = TARGET / "debug"
BINARY = BUILT / "rooflens"
XTASK = BUILT / "xtask"
EXAMPLES = BUILT / "examples"
MOCK = BUILT / "rooflens-mock-server"
WHEELS = TARGET / "tested-wheels"
# What users get, which only .ci/full builds: Zig links it against the oldest glibc that the wheel promises.
SHIPPED = TARGET / f"{os.uname().machine}-unknown-linux-gnu/release"
SHIPPED_WHEELS = TARGET / "wheels"

VENVS = CACHE / "venvs"
# Torch, Transformers and vLLM.
WORKLOAD = VENVS / "workload/bin/python"
ORACLE = VENVS / "oracle/bin/python"
USERS = VENVS / "users/bin/python"
HYDRA = VENVS / "hydra/bin/python"
HTA = VENVS / "hta/bin/python"
OTAVA = VENVS / "otava/bin/python"
LLAMACPP = VENVS / "llamacpp/bin/python"
SPARK = VENVS / "spark/bin/python"
NSIGHT = CACHE / "nsight"
AXE = CACHE / "tools/axe/node_modules/axe-core/axe.min.js"
SHARED_TOOLS = CORPUS.parent / "tools"


def has_nightly_rust() -> bool:
    if not shutil.which("cargo"):
        return False
    return subprocess.run(["cargo", "+nightly", "--version"], capture_output=True).returncode == 0


ENVIRONMENT = {
    # Snapshots are compared, never written.
    "CI": "true",
    "INSTA_UPDATE": "no",
    "ROOFLENS_CACHE": str(CACHE),
    "ROOFLENS_CORPUS": str(CORPUS),
    "CARGO_TARGET_DIR": str(TARGET),
    # Incremental builds would only fill the disk: nobody edits the copy.
    "CARGO_INCREMENTAL": "0",
    "ROOFLENS_TORCH_PYTHON": str(WORKLOAD),
    "ROOFLENS_VLLM_PYTHON": str(WORKLOAD),
    "ROOFLENS_UV_LOCK": str(CACHE / "skeleton/uv.lock"),
    # Two steps run at a time.
    "OMP_NUM_THREADS": "1",
    # `rooflens query` finds its engine on the path.
    "PATH": f"{ENGINES / 'debug'}:{CACHE / 'tools/bin'}:{os.environ['PATH']}",
}
