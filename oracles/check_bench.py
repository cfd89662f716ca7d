"""`rooflens bench` against the mock server, whose log is the truth: tokens in every form of answer, every kind of
misbehavior counted by kind, no hang, exit codes, documents. Nothing here depends on time or load."""

import socket
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from bench_clients import made_tokenizer
from mock_server import MockServer
from oracle import ONLY, main, needs, run

# Far beyond what any case needs: a client that has not ended by then hangs.
LIMIT_S = 600
WORKLOAD_FAILED = 4

# What the client calls each fault of the mock.
KINDS = {
    "reset": {"connection_reset"},
    "close": {"connection_reset"},
    "refuse429": {"http_429"},
    "error500": {"http_500"},
    "hang": {"timeout"},
    "stall": {"timeout"},
    "drip": {"timeout"},
    "wrong_type": {"wrong_content_type"},
    "cut": {"incomplete_stream"},
    "error_event": {"server_error"},
}
# A stream of HTTP/2 that is reset, or whose connection ends, has no single name.
BROKEN = {"connection_reset", "protocol", "incomplete_stream"}


@dataclass
class Case:
    name: str
    mock: tuple = ()
    bench: tuple = ()
    requests: int = 40
    counted_by: str = "counted_by_server"


MODES = [
    *(Case(f"{name}, {api}", mock, ("--api", api)) for name, mock in {
        "one token per chunk": (), "3 tokens per chunk": ("--tokens-per-chunk", 3), "split characters": ("--split-utf8",),
        "empty deltas": ("--empty-deltas",), "reasoning": ("--reasoning", 7), "tool call": ("--tool-call", 5),
    }.items() for api in ("completions", "chat", "responses") if api != "completions" or name not in ("reasoning", "tool call")),
    Case("open loop", bench=("--rate", "200")),
    Case("usage in every chunk", ("--usage", "continuous", "--tokens-per-chunk", 4)),
    Case("continuous usage, asked for", ("--tokens-per-chunk", 4), ("--continuous-usage",)),
    Case("chat, tool call alone", ("--tool-call", 24), ("--api", "chat")),
    Case("no usage", ("--usage", "never"), counted_by="counted_by_chunks"),
    Case("chat, no usage", ("--usage", "never"), ("--api", "chat"), counted_by="counted_by_chunks"),
    Case("no usage, empty deltas", ("--usage", "never", "--empty-deltas"), counted_by="counted_by_chunks"),
    Case("no [DONE]", ("--no-done",)),
    Case("no [DONE], no usage", ("--no-done", "--usage", "never"), counted_by="counted_by_chunks"),
    Case("CR LF", ("--crlf",)),
    Case("comments", ("--comments",)),
    Case("frames of one byte", ("--byte-frames",), requests=8),
    Case("gzip", ("--gzip",), ("--gzip",)),
    Case("gzip, split", ("--gzip", "--byte-frames"), ("--gzip",), requests=8),
    Case("all at once", ("--crlf", "--comments", "--split-utf8", "--empty-deltas", "--gzip", "--no-done", "--reasoning", 5,
                         "--tool-call", 5, "--tokens-per-chunk", 3), ("--api", "chat", "--gzip")),
    Case("HTTP/2", ("--http2",), ("--http2",)),
    Case("HTTP/2, 3 tokens per chunk", ("--http2", "--tokens-per-chunk", 3), ("--http2", "--api", "chat")),
    Case("TLS", ("--tls",), ("--ca-file", "CA")),
    Case("TLS, HTTP/2", ("--tls", "--http2"), ("--http2", "--ca-file", "CA")),
    Case("TLS, not verified", ("--tls",), ("--insecure",)),
    Case("a queue", ("--slots", 2, "--threads", 2)),
    Case("embeddings", bench=("--api", "embeddings"), counted_by=""),
    Case("rerank", bench=("--api", "rerank"), counted_by=""),
    Case("goaway", ("--http2", "--fail", "goaway:0.2"), ("--http2",)),
]


class Checker:
    def __init__(self, options, folder: Path):
        self.options, self.folder, self.wrong = options, folder, {}

    def say(self, case, words):
        self.wrong.setdefault(case.name, []).append(words)

    def expect(self, case, what, found, expected):
        if found != expected:
            self.say(case, f"{what}: {found!r}, expected {expected!r}")

    def bench(self, case, url, words):
        load = [] if "--rate" in words else ["--concurrency", "8"]
        lengths = [] if "--input-tokens" in words else ["--input-tokens", "30", "--output-tokens", "24"]
        words = ["bench", url, "--model", "mock", "--requests", case.requests, "--format", "json", *load, *lengths, *words]
        return run(self.options.rooflens, *words, timeout_s=LIMIT_S)

    def run(self, case):
        """The document of a case, the mock's log and counters; all that holds for any case is checked."""
        authority = self.folder / f"{abs(hash(case.name))}.pem"
        with MockServer(self.options.mock, "--flat-out", "--totals-only", "--ca-out", authority, *case.mock) as server:
            words = [str(authority) if word == "CA" else word for word in case.bench]
            outcome = self.bench(case, server.url, words)
            counters = {} if {"--tls", "--tls-expired", "--http2"} & set(case.mock) else server.metrics()
        try:
            document = outcome.report()
        except ValueError as problem:
            self.say(case, f"no document: {problem}: {outcome.failure()}")
            return None, server.log, counters
        requests = document["requests"]
        is_usable = requests["completed"] > 0 and document["client"]["valid"]
        self.expect(case, "exit code", outcome.code, 0 if is_usable else WORKLOAD_FAILED)
        self.expect(case, "requests sent", requests["sent"], case.requests)
        ended = requests["completed"] + requests["failed"] + requests["timed_out"] + requests["cancelled"]
        self.expect(case, "requests ended", ended, case.requests)
        failed = sum(error["requests"] for error in document["errors"])
        self.expect(case, "errors", failed, requests["failed"] + requests["timed_out"])
        return document, server.log, counters

    def mode(self, case):
        document, log, counters = self.run(case)
        if document is None:
            return
        totals, tokens = log["totals"], document["tokens"]
        self.expect(case, "requests seen by the server", totals["requests"], case.requests)
        self.expect(case, "completed", document["requests"]["completed"], totals["complete"])
        self.expect(case, "errors", document["errors"], [])
        self.expect(case, "output tokens", tokens["output"], totals["output_tokens"])
        if case.counted_by:
            self.expect(case, case.counted_by, tokens[case.counted_by], case.requests)
            self.expect(case, "output tokens per request", totals["output_tokens"], 24 * case.requests)
        # Without usage nobody but the server knows how many words it took the prompt for.
        if case.counted_by != "counted_by_chunks":
            self.expect(case, "prompt tokens", tokens["prompt"], totals["prompt_tokens"])
        if counters:
            self.expect(case, "output tokens of /metrics", counters["vllm:generation_tokens_total"], totals["output_tokens"])
            self.expect(case, "prompt tokens of /metrics", counters["vllm:prompt_tokens_total"], totals["prompt_tokens"])

    def fault(self, case, kinds):
        """`kinds`: what each fault of the mock may be called."""
        document, log, _ = self.run(case)
        if document is None:
            return
        totals = log["totals"]
        # A connection that was idle and is closed without a word may have been closed before the request came: such a
        # request is sent once more.
        resent = totals["requests"] - case.requests
        self.expect(case, "sent again after a close", 0 <= resent <= totals["faults"].get("close", 0), True)
        if not totals["faults"]:
            self.say(case, "the mock did nothing wrong")
        found = Counter({error["kind"]: error["requests"] for error in document["errors"]})
        for names in {frozenset(names) for names in kinds.values()}:
            faults = [fault for fault in totals["faults"] if kinds.get(fault) == names]
            expected = sum(totals["faults"][fault] for fault in faults) - (resent if "close" in faults else 0)
            self.expect(case, "/".join(sorted(names)), sum(found.pop(name, 0) for name in names), expected)
        self.expect(case, "other errors", dict(found), {})
        good = [r for r in log["requests"] if r["fault"] is None]
        self.expect(case, "completed", document["requests"]["completed"], len(good))
        self.expect(case, "output tokens", document["tokens"]["output"], sum(r["output_tokens"] for r in good))
        timed_out = sum(totals["faults"].get(fault, 0) for fault in KINDS if KINDS[fault] == {"timeout"})
        self.expect(case, "timed out", document["requests"]["timed_out"], timed_out)

    def lost_connections(self):
        """The end of a connection takes all its streams with it: how many is chance, that each is told is not."""
        case = Case("goaway and the end", ("--http2", "--fail", "goaway_close:0.1"), ("--http2",), requests=60)
        document, log, _ = self.run(case)
        if document is None:
            return
        kinds = {error["kind"] for error in document["errors"]}
        self.expect(case, "kinds", kinds - BROKEN, set())
        least = log["totals"]["faults"].get("goaway_close", 0)
        self.expect(case, "at least the planted failures", document["requests"]["failed"] >= least > 0, True)
        self.expect(case, "completed are those the server completed", document["requests"]["completed"] <= log["totals"]["complete"], True)

    def unreachable(self):
        case = Case("certificate expired", ("--tls-expired",), ("--ca-file", "CA"), requests=8)
        document, log, _ = self.run(case)
        if document:
            self.expect(case, "kinds", [error["kind"] for error in document["errors"]], ["tls"])
            self.expect(case, "requests seen by the server", log["totals"]["requests"], 0)
        case = Case("nobody listens", requests=8)
        with socket.socket() as taken:
            # Bound, not listening: nobody else gets the port, and connections are refused.
            taken.bind(("127.0.0.1", 0))
            outcome = self.bench(case, f"http://127.0.0.1:{taken.getsockname()[1]}", [])
        self.expect(case, "exit code", outcome.code, WORKLOAD_FAILED)
        try:
            kinds = [error["kind"] for error in outcome.report()["errors"]]
        except ValueError:
            self.expect(case, "a word on standard error", bool(outcome.stderr.strip()), True)
        else:
            self.expect(case, "kinds", kinds, ["connection_refused"])

    def tokenizer(self):
        """Several tokens per chunk and no usage: the model's tokenizer knows the number."""
        words = ("--tokenizer", made_tokenizer(self.folder))
        case = Case("no usage, 4 tokens per chunk, tokenizer", ("--usage", "never", "--tokens-per-chunk", 4), words,
                    counted_by="counted_by_tokenizer")
        self.mode(case)
        case = Case("usage and tokenizer", (), words)
        document, log, _ = self.run(case)
        if document:
            self.expect(case, "prompt tokens of the server", log["totals"]["prompt_tokens"], 30 * case.requests)
            self.expect(case, "reconciled", document["tokens"]["reconciliation"] is not None, True)

    def gates(self):
        case = Case("gates", ("--fail", "error500:0.3"))
        for words, code in ((["--fail-on", "errors"], 1), (["--slo", "error_rate<1%", "--fail-on", "slo"], 1), (["--slo", "x<<1"], 2)):
            with MockServer(self.options.mock, "--flat-out", *case.mock) as server:
                self.expect(case, f"exit code with {words}", self.bench(case, server.url, words).code, code)


    def turns(self):
        """Two servers in turns: B takes ten times as long per token."""
        case, rounds = Case("two servers in turns", requests=6), 10
        kept = self.folder / "turns"
        with MockServer(self.options.mock, "--itl-ms", 2) as a, MockServer(self.options.mock, "--itl-ms", 20) as b:
            words = ["--against", b.url, "--rounds", rounds, "-o", kept, "--fail-on", "tpot_p50>+3%"]
            outcome = self.bench(case, a.url, words)
        self.expect(case, "exit code of a gate that failed", outcome.code, 1)
        if outcome.code != 1:
            return
        found = outcome.report()["pairs"][0]
        self.expect(case, "interleaved", found["is_interleaved"], True)
        for row in found["headline"]:
            self.expect(case, f"rounds of {row['metric']}", (row["a_rounds"], row["b_rounds"]), (rounds, rounds))
        tpot = next(row for row in found["headline"] if row["metric"] == "tpot_p50_ns")
        self.expect(case, "B is slower", tpot["is_change"] and tpot["ratio"]["low"] > 1, True)
        rate = next(row for row in found["headline"] if row["metric"] == "output_tokens_per_s")
        self.expect(case, "B makes fewer tokens", rate["is_change"] and rate["ratio"]["high"] < 1, True)
        for log in (a.log, b.log):
            self.expect(case, "requests, with those of a warm-up", len(log["requests"]), (rounds + 1) * case.requests)
        prompts = [sorted(one["prompt_tokens"] for one in log["requests"]) for log in (a.log, b.log)]
        self.expect(case, "the same prompts for both", prompts[0], prompts[1])
        again = run(self.options.rooflens, "compare", kept / "a", kept / "b", "--format", "json")
        self.expect(case, "compared again", again.report()["pairs"][0]["headline"], found["headline"])


def faults():
    slow = {"hang", "stall", "drip"}
    for fault in KINDS:
        requests = 16 if fault in slow else 40
        yield Case(fault, ("--fail", f"{fault}:0.3"), ("--timeout", "4s" if fault in slow else "300s"), requests)
    shares = [word for fault in KINDS for word in ("--fail", f"{fault}:0.06")]
    yield Case("all faults", tuple(shares), ("--timeout", "4s"), 150)
    yield Case("all faults, chat, open loop", tuple(shares), ("--timeout", "4s", "--api", "chat", "--rate", "100"), 150)


def check_all(judge, args, folder: Path) -> None:
    checker = Checker(args, folder)
    reset = Case("reset, HTTP/2", ("--http2", "--fail", "reset:0.3"), ("--http2",))
    work = [(case.name, lambda case=case: checker.mode(case)) for case in MODES]
    work += [(case.name, lambda case=case: checker.fault(case, KINDS)) for case in faults()]
    work += [(reset.name, lambda: checker.fault(reset, {"reset": BROKEN}))]
    work += [("goaway and the end", checker.lost_connections), ("unreachable", checker.unreachable)]
    work += [("tokenizer", checker.tokenizer), ("gates", checker.gates), ("two servers in turns", checker.turns)]
    with ThreadPoolExecutor(2) as pool:
        for name, done in [(name, pool.submit(task)) for name, task in work if args.only in name]:
            done.result()
            judge.check(name, checker.wrong.pop(name, []))
    # Cases within a task.
    for name, wrong in checker.wrong.items():
        judge.check(name, wrong)


if __name__ == "__main__":
    main(check_all, ONLY, needs("--mock"))
