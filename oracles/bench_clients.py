"""Benchmark clients as processes: how each is called for the same load, and what it reports."""

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from mock_server import realtime

PEERS = Path(os.environ.get("ROOFLENS_PEERS", Path.home() / ".cache/rooflens/peers"))


@dataclass
class Load:
    """What is asked of a server: a closed loop of `concurrency` users, or an open one at `rate` requests per second."""

    requests: int
    concurrency: int | None = None
    rate: float | None = None
    input_tokens: int = 100
    output_tokens: int = 64

    @property
    def tokens(self):
        return self.requests * self.output_tokens


@dataclass
class Measured:
    """What a client reported (ms) and what it cost."""

    cpu_s: float
    rss_mb: float
    wall_s: float
    reported: dict = field(default_factory=dict)
    document: dict = field(default_factory=dict)


class Client:
    """A client; `argv` and `read` are its own."""

    name = "?"

    def __init__(self, binary):
        self.binary = binary

    def can(self, load):
        return True

    def run(self, load, server, folder, priority=False, watch=None, timeout_s=1800):
        folder = Path(folder)
        out = folder / "stdout"
        begin = time.monotonic()
        with out.open("wb") as stdout, (folder / "stderr").open("wb") as stderr:
            process = subprocess.Popen(
                [str(word) for word in self.argv(load, server, folder)],
                stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, cwd=folder,
                preexec_fn=realtime if priority else None,
            )
            code, usage = wait(process, watch, begin + timeout_s)
        # 4: rooflens says that it was the bottleneck, as it is against a server that never waits.
        if code not in (0, 4 if self.name == "rooflens" else 0):
            raise RuntimeError(f"{self.name} ended with {code}: {(folder / 'stderr').read_text()[-2000:]}")
        measured = Measured(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, time.monotonic() - begin)
        self.read(folder, out.read_text(errors="replace"), measured)
        return measured


def wait(process, watch, deadline):
    """Exit code and resources of a child. `watch` is called with its id every half second."""
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG if watch or deadline else 0)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, usage
        if time.monotonic() > deadline:
            process.kill()
            os.wait4(process.pid, 0)
            process.returncode = -9
            raise TimeoutError(f"{process.args} did not end")
        if watch:
            watch(process.pid)
        time.sleep(0.5 if watch else 0.05)


class Rooflens(Client):
    name = "rooflens"
    # The truth is of all requests.
    options = ("--warmup", "0")

    def argv(self, load, server, folder):
        words = [self.binary, "bench", server.url, "--model", "mock", "--requests", load.requests]
        words += ["--input-tokens", load.input_tokens, "--output-tokens", load.output_tokens, "--format", "json"]
        words += ["--concurrency", load.concurrency] if load.concurrency else ["--rate", load.rate]
        return words + list(self.options)

    def read(self, folder, stdout, measured):
        measured.document = document = json.loads(stdout)
        headline = document["headline"]
        for name in ("ttft", "itl"):
            for percent in (50, 99):
                value = headline.get(f"{name}_p{percent}_ns")
                measured.reported[f"{name}_p{percent}"] = None if value is None else value / 1e6


class Bare(Client):
    name = "bare"

    def argv(self, load, server, folder):
        words = [self.binary, f"127.0.0.1:{server.port}", "--requests", load.requests]
        words += ["--input-tokens", load.input_tokens, "--output-tokens", load.output_tokens]
        return words + (["--concurrency", load.concurrency] if load.concurrency else ["--rate", load.rate])

    def read(self, folder, stdout, measured):
        measured.document = document = json.loads(stdout)
        for name in ("ttft", "itl"):
            for percent in (50, 99):
                measured.reported[f"{name}_p{percent}"] = document[name][f"p{percent}_ns"] / 1e6


def made_tokenizer(folder):
    """A tokenizer of one token per word, as the mock counts them; with the mock's own words."""
    folder = Path(folder) / "tokenizer"
    folder.mkdir(exist_ok=True)
    special = ["[UNK]", "<s>", "</s>"]
    words = "ba ko ri tu se no mi la vo pe du fi ga hu je za".split() + [f"w{i}" for i in range(1000)]
    vocabulary = {word: number for number, word in enumerate(special + words)}
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    added = [{"id": number, "content": word, **flags} for number, word in enumerate(special)]
    model = {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"}
    none = dict.fromkeys(["truncation", "padding", "normalizer", "post_processor", "decoder"])
    text = {"version": "1.0", **none, "added_tokens": added, "pre_tokenizer": {"type": "WhitespaceSplit"}, "model": model}
    (folder / "tokenizer.json").write_text(json.dumps(text))
    names = {"unk_token": "[UNK]", "bos_token": "<s>", "eos_token": "</s>"}
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", **names}))
    (folder / "config.json").write_text(json.dumps({"model_type": "llama", "vocab_size": len(vocabulary)}))
    return folder


class VllmRust(Client):
    """`vllm-rs bench serve`, of the wheel of vllm."""

    name = "vllm-rs"

    def __init__(self):
        super().__init__(PEERS / "vllm/vllm-rs")

    def argv(self, load, server, folder):
        words = [self.binary, "bench", "serve", "--base-url", server.url, "--model", "mock", "--ignore-eos"]
        words += ["--tokenizer", made_tokenizer(folder), "--num-prompts", load.requests, "--disable-tqdm"]
        words += ["--random-input-len", load.input_tokens, "--random-output-len", load.output_tokens]
        words += ["--no-steady-state", "--percentile-metrics", "ttft,itl", "--metric-percentiles", "50,99"]
        words += ["--save-result", "--result-dir", folder, "--result-filename", "result.json"]
        return words + (["--max-concurrency", load.concurrency] if load.concurrency else ["--request-rate", load.rate])

    def read(self, folder, stdout, measured):
        measured.document = result = json.loads((folder / "result.json").read_text())
        for name in ("ttft", "itl"):
            measured.reported[f"{name}_p50"] = result[f"p50_{name}_ms"]
            measured.reported[f"{name}_p99"] = result[f"p99_{name}_ms"]


class SglangRust(Client):
    """SGLang's Rust client, the extension of its wheel; needs a Python of the version it was built for."""

    name = "sglang"

    def __init__(self, python):
        super().__init__(python)
        self.extension = next(iter(sorted((PEERS / "sglang/srt/rust_extensions").glob("_bench*.so"))), None)

    def argv(self, load, server, folder):
        script = Path(__file__).with_name("sglang_client.py")
        words = [self.binary, script, self.extension, "--backend", "vllm", "--base-url", server.url, "--model", "mock"]
        words += ["--tokenizer", made_tokenizer(folder), "--dataset-name", "random-ids", "--random-range-ratio", "1.0"]
        words += ["--random-input-len", load.input_tokens, "--random-output-len", load.output_tokens]
        words += ["--num-prompts", load.requests, "--warmup-requests", "0", "--disable-tqdm", "--disable-retokenize"]
        words += ["--output-file", folder / "result.jsonl"]
        return words + (["--max-concurrency", load.concurrency] if load.concurrency else ["--request-rate", load.rate])

    def read(self, folder, stdout, measured):
        measured.document = result = json.loads((folder / "result.jsonl").read_text().splitlines()[-1])
        for name in ("ttft", "itl"):
            measured.reported[f"{name}_p50"] = result[f"median_{name}_ms"]
            measured.reported[f"{name}_p99"] = result[f"p99_{name}_ms"]


class VllmPython(VllmRust):
    """`vllm bench serve` of an environment with vLLM."""

    name = "vllm"

    def __init__(self, python):
        super(VllmRust, self).__init__(python)

    def argv(self, load, server, folder):
        words = super().argv(load, server, folder)
        words.remove("--no-steady-state")
        return [self.binary, "-m", "vllm.entrypoints.cli.main", *words[1:]]


class AiPerf(Client):
    """AIPerf, in an environment of its own."""

    name = "aiperf"

    def __init__(self):
        super().__init__(PEERS / "venv-aiperf/bin/aiperf")

    def argv(self, load, server, folder):
        words = [self.binary, "profile", "--model", "mock", "--url", server.url, "--endpoint-type", "completions", "--streaming"]
        words += ["--tokenizer", made_tokenizer(folder), "--request-count", load.requests, "--ui", "none", "--artifact-dir", folder]
        words += ["--isl", load.input_tokens, "--isl-stddev", 0, "--osl", load.output_tokens, "--osl-stddev", 0]
        words += ["--extra-inputs", "ignore_eos:true", "--no-gpu-telemetry", "--no-server-metrics"]
        return words + (["--concurrency", load.concurrency] if load.concurrency else ["--request-rate", load.rate])

    def read(self, folder, stdout, measured):
        measured.document = result = json.loads((folder / "profile_export_aiperf.json").read_text())
        # Its `inter_token_latency` is the mean of a request.
        for name, metric in {"ttft": "time_to_first_token", "itl": "inter_chunk_latency"}.items():
            for percent in (50, 99):
                measured.reported[f"{name}_p{percent}"] = result[metric][f"p{percent}"]


class GuideLlm(Client):
    """guidellm, in an environment of its own. Its ITL is the mean of a request."""

    name = "guidellm"

    def __init__(self):
        super().__init__(PEERS / "venv-guidellm/bin/guidellm")

    def argv(self, load, server, folder):
        words = [self.binary, "run", "--backend", f"kind=openai_http,target={server.url},model=mock,request_format=/v1/completions"]
        shape = f"kind=concurrent,streams={load.concurrency}" if load.concurrency else f"kind=poisson,rate={load.rate}"
        words += ["--profile", shape, "--constraint", f"kind=max_requests,count={load.requests}"]
        words += ["--tokenizer", f"kind=hf_auto,model={made_tokenizer(folder)}", "--disable-console"]
        words += ["--data", f"kind=synthetic_text,prompt_tokens={load.input_tokens},output_tokens={load.output_tokens}"]
        return words + ["--output", f"kind=json,path={folder / 'result.json'}"]

    def read(self, folder, stdout, measured):
        measured.document = json.loads((folder / "result.json").read_text())
        metrics = measured.document["benchmarks"][0]["metrics"]
        for name, metric in {"ttft": "time_to_first_token_ms", "itl": "inter_token_latency_ms"}.items():
            for percent in (50, 99):
                measured.reported[f"{name}_p{percent}"] = metrics[metric]["successful"]["percentiles"][f"p{percent}"]


def peers(sglang_python, vllm_python):
    """Those that are installed, and a word on those that are not."""
    found = [VllmRust(), SglangRust(sglang_python)] + ([VllmPython(vllm_python)] if vllm_python else [])
    found += [AiPerf(), GuideLlm()]
    missing = [client.name for client in found if not Path(client.binary).exists() or getattr(client, "extension", 1) is None]
    if missing:
        print(f"not there, left out: {', '.join(missing)} (below {PEERS})", file=sys.stderr)
    return [client for client in found if client.name not in missing]
