"""Load clients as processes: how each is called for the same load, what it reports, and what it cost."""

import json
import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path


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

    def words(self):
        words = ["--requests", self.requests, "--input-tokens", self.input_tokens, "--output-tokens", self.output_tokens]
        return words + (["--concurrency", self.concurrency] if self.concurrency else ["--rate", self.rate])


@dataclass
class Measured:
    cpu_s: float
    rss_mb: float
    wall_s: float
    reported: dict
    document: dict


class Client:
    """A client. Each kind has its own `argv`, and `read` returns nanoseconds."""

    def __init__(self, binary):
        self.binary = binary

    def command(self, load, server, folder):
        return [self.binary, *self.argv(server), *load.words()]

    def document(self, folder):
        return json.loads((folder / "stdout").read_text())

    def run(self, load, server, folder, watch=None, timeout_s=1800):
        out, begin = Path(folder) / "stdout", time.monotonic()
        argv = self.command(load, server, Path(folder))
        with out.open("wb") as stdout, (Path(folder) / "stderr").open("wb") as stderr:
            process = subprocess.Popen(list(map(str, argv)), stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, cwd=folder)
            code, usage = wait(process, watch, begin + timeout_s)
        # 4: rooflens says that it was the bottleneck, as it is against a server that never waits.
        if code not in (0, 4 if self.name == "rooflens" else 0):
            raise RuntimeError(f"{self.name} ended with {code}: {(Path(folder) / 'stderr').read_text()[-2000:]}")
        document = self.document(Path(folder))
        pairs = ((name, percent) for name in ("ttft", "itl") for percent in (50, 99))
        reported = {f"{name}_p{percent}": (self.read(document, name, percent) or 0) / 1e6 for name, percent in pairs}
        cost = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, time.monotonic() - begin
        return Measured(*cost, reported, document)


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

    def argv(self, server):
        # The truth is of all requests.
        return ["bench", server.url, "--model", "mock", "--format", "json", "--warmup", "0"]

    def read(self, document, name, percent):
        return document["headline"].get(f"{name}_p{percent}_ns")


class Bare(Client):
    name = "bare"

    def argv(self, server):
        return [f"127.0.0.1:{server.port}"]

    def read(self, document, name, percent):
        return document[name][f"p{percent}_ns"]


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
