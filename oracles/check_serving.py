"""Holds `rooflens bench` to real servers: vLLM on the CPU and llama.cpp, each with a tiny random model.

Needs torch and vLLM; the interpreter of --llamacpp has llama.cpp (oracles/requirements-llamacpp.txt).

Checked: servers are started, become ready and are gone afterwards; every request completes; the sum of tokens equals
the growth of the server's own counters; prompts have the length that was asked for; a sweep over rates and a sweep over
a flag of the server have a curve; a search ends with a bracket; a profile taken at a breach is analysed into the run;
a delay that is put into vLLM's scheduler is found by the first sentence of the report; saved runs can be compared and
are documents that follow their schemas. Nothing here depends on how fast the machine is.
"""

import json
import os
import sys
from pathlib import Path

from documents.coverage import CHECK_SERVING, uncovered
from documents.validate import Documents
from oracle import FIXTURES, REPOSITORY, main, must, option, run
from serving import vllm_cpu

DOCUMENTS = Documents()


class Bench:
    def __init__(self, binary: Path, folder: Path):
        self.binary, self.folder = binary, folder

    def __call__(self, *args: str, env: dict | None = None) -> dict:
        environment = {**os.environ, **(env or {}), "ROOFLENS_PROGRESS": "never"}
        done = run(self.binary, "bench", *args, "--format", "json", env=environment)
        # A busy machine can delay the client. The run then says so and is invalid, but its counts are still exact.
        delayed = done.code == 4 and "the client was the bottleneck" in done.stderr
        assert done.code == 0 or delayed, f"{args}: {done.failure()}"
        return DOCUMENTS.text(done.stdout, f"bench {args[0]}", "bench")


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
    must(python, REPOSITORY / "oracles/serving/make_gguf.py", model)
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
    compared = must(bench.binary, "compare", folder / "slow-run", folder / "slow-run", "--format", "json")
    DOCUMENTS.text(compared.stdout, "compare", "comparison")


def check_imports(binary: Path, folder: Path) -> None:
    """Results of other clients become runs that a comparison takes."""
    files = sorted((FIXTURES / "bench_results").iterdir())
    assert files
    for number, path in enumerate(files):
        imported = folder / f"imported-{number}"
        must(binary, "import", path, "-o", imported)
        found = sorted(imported.rglob("report/metrics.json"))
        assert found, path
        for numbers in found:
            DOCUMENTS.text(numbers.read_text(), path.name, "bench-import")


def asserted(check, *words):
    """Runs a check that asserts; then what is wrong with the documents so far."""
    before = len(DOCUMENTS.wrong)
    check(*words)
    yield from DOCUMENTS.wrong[before:]


def check_all(judge, args, folder: Path) -> None:
    DOCUMENTS.binary = args.rooflens
    bench = Bench(args.rooflens, folder)
    judge.check("results of other clients", asserted(check_imports, bench.binary, folder))
    if args.only != "vllm":
        judge.check("llama.cpp", asserted(check_llamacpp, bench, args.llamacpp, folder))
    if args.only != "llamacpp":
        vllm_cpu.make_model(folder / "tiny")
        judge.check("vLLM", asserted(check_vllm, bench, folder / "tiny", folder))
    if not args.only:
        judge.check("documents follow their schemas", uncovered(CHECK_SERVING, DOCUMENTS))


if __name__ == "__main__":
    main(check_all, option("--llamacpp", required=True, metavar="PYTHON"), option("--only", choices=["vllm", "llamacpp"]))
