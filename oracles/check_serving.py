"""Holds `rooflens bench` to real servers: vLLM on the CPU and llama.cpp, each with a tiny random model.

    VENV/bin/python oracles/check_serving.py --rooflens PATH --llamacpp PYTHON

VENV has torch and vLLM (python/requirements-test.txt), PYTHON has llama.cpp (oracles/requirements-llamacpp.txt).

Checked: servers are started, become ready and are gone afterwards; every request completes; the sum of tokens equals
the growth of the server's own counters; prompts have the length that was asked for; a sweep over rates and a sweep over
a flag of the server have a curve; a search ends with a bracket; a profile taken at a breach is analysed into the run;
a delay that is put into vLLM's scheduler is found by the first sentence of the report; saved runs can be compared and
are documents that follow their schemas. Nothing here depends on how fast the machine is.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from documents.coverage import CHECK_SERVING, uncovered
from documents.validate import Documents
from serving import vllm_cpu

REPOSITORY = Path(__file__).resolve().parent.parent
DOCUMENTS = Documents()

class Bench:
    def __init__(self, binary: Path, folder: Path):
        self.binary, self.folder = binary, folder

    def __call__(self, *args: str, expect: int = 0, env: dict | None = None) -> dict:
        """Runs a load test and gives its document."""
        argv = [str(self.binary), "bench", *args, "--format", "json"]
        environment = {**os.environ, **(env or {}), "ROOFLENS_PROGRESS": "never"}
        done = subprocess.run(argv, capture_output=True, text=True, timeout=900, env=environment)
        # A busy machine can delay the client. The run then says so and is invalid, but its counts are still exact.
        delayed = done.returncode == 4 and "the client was the bottleneck" in done.stderr
        assert done.returncode == expect or delayed, f"{argv}: exit {done.returncode}\n{done.stderr[-3000:]}\n{done.stdout[-500:]}"
        return DOCUMENTS.text(done.stdout, " ".join(argv[1:4]), "bench")


def processes(word: str) -> list[str]:
    """Command lines of running processes with a word in them, this one and its parents left out."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if word in line and "check_serving" not in line:
            found.append(line)
    return found


def agrees_with_server(document: dict, prompt_slack: int = 0) -> None:
    server, tokens, requests = document["server_metrics"], document["tokens"], document["requests"]
    assert requests["completed"] == requests["sent"] > 0, requests
    assert server["generated_tokens"] == tokens["output"], (server["generated_tokens"], tokens)
    assert abs(server["prompt_tokens"] - tokens["prompt"]) <= prompt_slack, (server["prompt_tokens"], tokens)
    assert document["headline"]["output_tokens_per_s"] > 0
    assert document["measured"]["output_tokens_per_s"] == document["headline"]["output_tokens_per_s"]


def check_llamacpp(bench: Bench, python: str, folder: Path) -> None:
    model = folder / "tiny.gguf"
    subprocess.run([python, REPOSITORY / "oracles/serving/make_gguf.py", model], check=True, capture_output=True)
    common = ["runtime=llamacpp_server", "--model", str(model), "--server-python", python, "server.n_ctx=8192"]
    sizes = ["--input-tokens", "40", "--output-tokens", "24", "--requests", "24"]
    swept = bench(*common, "server.n_parallel=1,4", *sizes, "--concurrency", "4", "-o", str(folder / "llama"))
    assert [level["offered"] for level in swept["levels"]] == ["4 users · n_parallel=1", "4 users · n_parallel=4"], swept["levels"]
    assert swept["server"]["kind"] == "llama_cpp"
    assert swept["tokens"]["output"] == 24 * 24
    agrees_with_server(swept)
    chat = bench(*common, *sizes, "--concurrency", "2", "--api", "chat", "--turns", "2")
    assert chat["requests"]["completed"] == 24 and chat["tokens"]["output"] == 24 * 24, chat["requests"]
    assert not processes(str(model)), "a server is left over"


def check_vllm(bench: Bench, model: Path, folder: Path) -> None:
    common = [
        "runtime=vllm_server", "--model", str(model), "--server-python", sys.executable,
        "server.enforce_eager=true", "server.dtype=float32", "server.max_model_len=1024", "server.max_num_seqs=8",
    ]
    sizes = ["--input-tokens", "48", "--output-tokens", "16", "--tokenizer", str(model)]
    environment = vllm_cpu.environment()
    swept = bench(
        *common, *sizes, "--rate", "2,8", "--requests", "24", "-o", str(folder / "rates"),
        "--slo", "ttft_p99<1ms", "--profile", "2s", env=environment,
    )
    assert len(swept["levels"]) == 2 and swept["slo_met"] is False, swept["levels"]
    assert swept["server"]["kind"] == "vllm" and swept["server"]["version"], swept["server"]
    agrees_with_server(swept)
    assert swept["tokens"]["prompt"] == 24 * 48 and swept["tokens"]["output"] == 24 * 16, swept["tokens"]
    assert swept["tokens"]["reconciliation"]["prompt"]["disagreeing"] == 0, swept["tokens"]
    profiles = [json.loads(path.read_text())["profile"] for path in (folder / "rates").glob("levels/*/report/metrics.json")]
    taken = [profile for profile in profiles if profile and profile["traces"]]
    assert taken and taken[0]["verdict"], profiles
    page = (folder / "rates/report/index.html").read_text()
    assert "Latency over throughput" in page
    found = bench(
        *common, *sizes, "--find-rate", "--first-rate", "2", "--resolution", "0.5", "--requests", "12",
        "--slo", "ttft_p50<10s,error_rate<1%", "--duration", "6s", "--max-rate", "8", env=environment,
    )
    assert found["search"]["highest_met"] is not None, found["search"]
    delay = folder / "delay"
    delay.write_text("1.0")
    slow = bench(
        *common, *sizes, "--concurrency", "4", "--requests", "48", "-o", str(folder / "slow-run"),
        env={**environment, **vllm_cpu.slow_scheduler(delay, every=60)},
    )
    assert slow["why"] and slow["why"]["cause"]["kind"] == "stalls", slow["why"]
    assert slow["why"]["sentence"].startswith("The scheduler stands still"), slow["why"]
    agrees_with_server(slow)
    assert not processes(str(model)), "a server is left over"
    compared = subprocess.run(
        [bench.binary, "compare", folder / "slow-run", folder / "slow-run", "--format", "json"],
        capture_output=True, text=True, check=True,
    )
    DOCUMENTS.text(compared.stdout, "compare", "comparison")


def check_imports(binary: Path, folder: Path) -> None:
    """Results of other clients become runs that a comparison takes."""
    files = sorted((REPOSITORY / "fixtures/bench_results").iterdir())
    assert files
    for number, path in enumerate(files):
        run = folder / f"imported-{number}"
        subprocess.run([binary, "import", path, "-o", run], check=True, capture_output=True)
        found = sorted(run.rglob("report/metrics.json"))
        assert found, path
        for numbers in found:
            DOCUMENTS.text(numbers.read_text(), path.name, "bench-import")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rooflens", type=Path, required=True)
    parser.add_argument("--llamacpp", required=True)
    parser.add_argument("--only", choices=["vllm", "llamacpp"])
    args = parser.parse_args()
    DOCUMENTS.binary = args.rooflens.resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bench = Bench(args.rooflens.resolve(), folder)
        check_imports(bench.binary, folder)
        if args.only != "vllm":
            check_llamacpp(bench, args.llamacpp, folder)
            print("llama.cpp: ok")
        if args.only != "llamacpp":
            model = folder / "tiny"
            vllm_cpu.make_model(model)
            check_vllm(bench, model, folder)
            print("vLLM: ok")
    problems = DOCUMENTS.wrong + ([] if args.only else uncovered(CHECK_SERVING, DOCUMENTS))
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
