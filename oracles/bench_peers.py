"""Clients of other benchmarks, each called for the same load."""

import json
import os
import sys
from pathlib import Path

from bench_clients import Client, made_tokenizer

PEERS = Path(os.environ.get("ROOFLENS_PEERS", Path.home() / ".cache/rooflens/peers"))
MS = 1e6


def shape(load, concurrency="--max-concurrency", rate="--request-rate"):
    return [concurrency, load.concurrency] if load.concurrency else [rate, load.rate]


class VllmRust(Client):
    """`vllm-rs bench serve`, of the wheel of vllm."""

    name = "vllm-rs"

    def __init__(self, binary=PEERS / "vllm/vllm-rs"):
        super().__init__(binary)

    def command(self, load, server, folder):
        words = [self.binary, "bench", "serve", "--base-url", server.url, "--model", "mock", "--ignore-eos"]
        words += ["--tokenizer", made_tokenizer(folder), "--num-prompts", load.requests, "--disable-tqdm"]
        words += ["--random-input-len", load.input_tokens, "--random-output-len", load.output_tokens]
        words += ["--no-steady-state", "--percentile-metrics", "ttft,itl", "--metric-percentiles", "50,99"]
        return words + ["--save-result", "--result-dir", folder, "--result-filename", "result.json", *shape(load)]

    def document(self, folder):
        return json.loads((folder / "result.json").read_text())

    def read(self, document, name, percent):
        return document[f"p{percent}_{name}_ms"] * MS


class VllmPython(VllmRust):
    """`vllm bench serve` of an environment with vLLM."""

    name = "vllm"

    def command(self, load, server, folder):
        words = super().command(load, server, folder)
        words.remove("--no-steady-state")
        return [self.binary, "-m", "vllm.entrypoints.cli.main", *words[1:]]


class SglangRust(Client):
    """SGLang's Rust client, the extension of its wheel. It needs a Python of the version that it was built for."""

    name = "sglang"

    def __init__(self, python):
        super().__init__(python)
        self.extension = next(iter(sorted((PEERS / "sglang/srt/rust_extensions").glob("_bench*.so"))), None)

    def command(self, load, server, folder):
        script = Path(__file__).with_name("sglang_client.py")
        words = [self.binary, script, self.extension, "--backend", "vllm", "--base-url", server.url, "--model", "mock"]
        words += ["--tokenizer", made_tokenizer(folder), "--dataset-name", "random-ids", "--random-range-ratio", "1.0"]
        words += ["--random-input-len", load.input_tokens, "--random-output-len", load.output_tokens]
        words += ["--num-prompts", load.requests, "--warmup-requests", "0", "--disable-tqdm", "--disable-retokenize"]
        return words + ["--output-file", folder / "result.jsonl", *shape(load)]

    def document(self, folder):
        return json.loads((folder / "result.jsonl").read_text().splitlines()[-1])

    def read(self, document, name, percent):
        return document[f"{'median' if percent == 50 else 'p99'}_{name}_ms"] * MS


class AiPerf(Client):
    name = "aiperf"
    # Its `inter_token_latency` is the mean of a request.
    metrics = {"ttft": "time_to_first_token", "itl": "inter_chunk_latency"}

    def __init__(self):
        super().__init__(PEERS / "venv-aiperf/bin/aiperf")

    def command(self, load, server, folder):
        words = [self.binary, "profile", "--model", "mock", "--url", server.url, "--endpoint-type", "completions", "--streaming"]
        words += ["--tokenizer", made_tokenizer(folder), "--request-count", load.requests, "--ui", "none", "--artifact-dir", folder]
        words += ["--isl", load.input_tokens, "--isl-stddev", 0, "--osl", load.output_tokens, "--osl-stddev", 0]
        words += ["--extra-inputs", "ignore_eos:true", "--no-gpu-telemetry", "--no-server-metrics"]
        return words + shape(load, "--concurrency")

    def document(self, folder):
        return json.loads((folder / "profile_export_aiperf.json").read_text())

    def read(self, document, name, percent):
        return document[self.metrics[name]][f"p{percent}"] * MS


class GuideLlm(Client):
    name = "guidellm"
    # Its ITL is the mean of a request.
    metrics = {"ttft": "time_to_first_token_ms", "itl": "inter_token_latency_ms"}

    def __init__(self):
        super().__init__(PEERS / "venv-guidellm/bin/guidellm")

    def command(self, load, server, folder):
        words = [self.binary, "run", "--backend", f"kind=openai_http,target={server.url},model=mock,request_format=/v1/completions"]
        pace = f"kind=concurrent,streams={load.concurrency}" if load.concurrency else f"kind=poisson,rate={load.rate}"
        words += ["--profile", pace, "--constraint", f"kind=max_requests,count={load.requests}"]
        words += ["--tokenizer", f"kind=hf_auto,model={made_tokenizer(folder)}", "--disable-console"]
        words += ["--data", f"kind=synthetic_text,prompt_tokens={load.input_tokens},output_tokens={load.output_tokens}"]
        return words + ["--output", f"kind=json,path={folder / 'result.json'}"]

    def document(self, folder):
        return json.loads((folder / "result.json").read_text())

    def read(self, document, name, percent):
        metric = document["benchmarks"][0]["metrics"][self.metrics[name]]
        return metric["successful"]["percentiles"][f"p{percent}"] * MS


def installed(python):
    """The clients that are installed. `python` has vLLM and is of the version that SGLang's extension was built for."""
    clients = [VllmRust(), VllmPython(python), SglangRust(python), AiPerf(), GuideLlm()]
    missing = [client.name for client in clients if not Path(client.binary).exists() or getattr(client, "extension", 1) is None]
    if missing:
        print(f"not installed below {PEERS}, left out: {', '.join(missing)}", file=sys.stderr)
    return [client for client in clients if client.name not in missing]
