"""vLLM on the CPU with a tiny random model, as a server."""

import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def environment() -> dict[str, str]:
    return {
        "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind", "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "VLLM_TARGET_DEVICE": "cpu",
    }


def slow_scheduler(file: Path, every: int) -> dict[str, str]:
    """Every so many steps of the scheduler take longer by the seconds in a file."""
    folder = REPOSITORY / "oracles/serving/slow_scheduler"
    return {"PYTHONPATH": str(folder), "SLOW_SCHEDULER_FILE": str(file), "SLOW_SCHEDULER_EVERY": str(every)}


def make_model(folder: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "python")}
    argv = [sys.executable, "-m", "rooflens.tiny", "llama", folder]
    subprocess.run(argv, check=True, capture_output=True, env=environment)
