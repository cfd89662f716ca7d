#!/usr/bin/env python3
"""`rooflens bench` against a server of known timing, beside a bare client and others: errors of what is reported,
processor time per token, stalls, memory. Prints tables; `--judge` exits 1 where a limit is exceeded. Times depend on the
load of the machine: `--realtime` (root) runs server and clients before everything else."""

import argparse
import sys
import tempfile
from statistics import median

import bench_clients
from bench_clients import Bare, Load, Rooflens
from mock_server import MockServer, first_token_times, lateness, percentile, token_gaps
from rooflens_cli import existing

# Milliseconds that a reported percentile may be away from the server's.
LIMITS = {"ttft_p50": 0.5, "ttft_p99": 1.0, "itl_p50": 0.1, "itl_p99": 0.5}
CPU_LIMIT = 1.3
LOADS = {
    "64 streams": Load(requests=640, concurrency=64),
    "256 streams": Load(requests=2560, concurrency=256),
    "50 requests/s": Load(requests=500, rate=50),
}


class Judge:
    def __init__(self):
        self.failed = []

    def check(self, holds, words):
        if not holds:
            self.failed.append(words)


def measure(client, load, options, *server_options):
    with tempfile.TemporaryDirectory() as folder:
        with MockServer(options.mock, *server_options, priority=options.realtime) as server:
            measured = client.run(load, server, folder, options.realtime)
        return measured, server.log


def truth(log):
    times = {"ttft": first_token_times(log), "itl": token_gaps(log)}
    return {f"{name}_p{p}": percentile(values, p) / 1e6 for name, values in times.items() for p in (50, 99)}


def timing(clients, options, judge):
    print("Reported − server's own write times, ms (in brackets: the server's). TTFT 50 ms, ITL 5 ms.")
    print(f"{'':14}{'client':10}" + "".join(f"{name:>20}" for name in LIMITS) + f"{'late p50/p99':>16}  valid")
    for title, load in LOADS.items():
        for client in clients:
            measured, log = measure(client, load, options, "--ttft-ms", 50, "--itl-ms", 5)
            true = truth(log)
            errors = {name: measured.reported[name] - true[name] for name in LIMITS}
            late = [percentile(lateness(log, 50, 5), p) / 1e6 for p in (50, 99)]
            cells = "".join(f"{f'{errors[name]:+.3f} ({true[name]:.3f})':>20}" for name in LIMITS)
            valid = measured.document.get("client", {}).get("valid", "") if client.name == "rooflens" else ""
            print(f"{title:14}{client.name:10}{cells}{f'{late[0]:.2f}/{late[1]:.2f}':>16}  {valid}", flush=True)
            if client.name == "rooflens":
                for name, limit in LIMITS.items():
                    words = f"{title}: {name} is {errors[name]:+.3f} ms away, limit {limit}"
                    judge.check(abs(errors[name]) <= limit, words)


def processor(clients, options, judge):
    load = Load(requests=options.tokens // 256, concurrency=64, output_tokens=256)
    rounds = {client.name: [] for client in clients}
    last = {}
    for _ in range(options.rounds):
        for client in clients:
            last[client.name], log = measure(client, load, options, "--flat-out", "--totals-only")
            # guidellm asks for more than it counts.
            is_whole = log["totals"]["output_tokens"] == load.tokens or client.name == "guidellm"
            judge.check(is_whole, f"{client.name}: not all tokens were asked for")
            rounds[client.name].append(last[client.name].cpu_s * 1e6 / load.tokens)
    print(f"Processor time per token, flat out, {load.tokens} tokens, {options.rounds} rounds in turn:")
    for name, costs in rounds.items():
        ratios = [cost / bare for cost, bare in zip(costs, rounds["bare"])]
        print(
            f"  {name:10}{median(costs):8.2f} µs ({min(costs):.2f}–{max(costs):.2f}), {median(ratios):.2f} × bare, "
            f"{load.tokens / last[name].wall_s / 1e3:.0f} k tokens/s, RSS {last[name].rss_mb:.0f} MB"
        )
        if name == "rooflens":
            judge.check(median(ratios) <= CPU_LIMIT, f"{median(ratios):.2f} × the processor time of the bare client")
        elif name != "bare" and "rooflens" in rounds:
            cheaper = median(rounds["rooflens"]) < median(costs)
            judge.check(cheaper, f"more processor time per token than {name}")


def stalls(clients, options, judge):
    print("The server stands still for 2 s every 10 s; TTFT p99, ms:")
    for title, load in {"60 requests/s": Load(1800, rate=60), "64 streams": Load(5000, concurrency=64)}.items():
        for client in clients:
            measured, log = measure(client, load, options, "--stall-ms", 2000, "--stall-every-ms", 10000)
            true, reported = truth(log)["ttft_p99"], measured.reported["ttft_p99"]
            print(f"  {title:14}{client.name:10} reported {reported:8.1f}, as arrivals saw it {true:8.1f}", flush=True)
            if client.name == "rooflens" and load.rate:
                judge.check(abs(reported - true) <= 0.05 * true, f"stall, {title}: TTFT p99 {reported:.1f}, not {true:.1f}")
            elif client.name == "rooflens":
                # Arrivals that do not wait for answers meet the stall for a fifth of the time.
                at_pace = (measured.document["ttft_at_pace_ns"] or {}).get("p99", 0) / 1e6
                print(f"  {'':24} at the pace of the schedule {at_pace:8.1f}")
                judge.check(at_pace >= 1500, f"stall, {title}: TTFT p99 at the pace of the schedule is {at_pace:.1f}")


def memory(rooflens, options, judge):
    """Resident memory while 10 million tokens stream by."""
    seen = []

    def watch(pid):
        with open(f"/proc/{pid}/status") as status:
            seen.extend(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS"))

    load = Load(requests=10_000_000 // 1000, concurrency=64, output_tokens=1000)
    with tempfile.TemporaryDirectory() as folder:
        with MockServer(options.mock, "--flat-out", "--totals-only") as server:
            measured = rooflens.run(load, server, folder, watch=watch)
    quarter = max(1, len(seen) // 4)
    parts = [max(seen[n * quarter : (n + 1) * quarter] or [0]) for n in range(4)]
    shown = ", ".join(f"{part:.0f}" for part in parts)
    print(f"Memory over {load.tokens} tokens, MB by quarter: {shown}; peak {measured.rss_mb:.0f}; {measured.wall_s:.0f} s")
    judge.check(server.log["totals"]["output_tokens"] == load.tokens, "not all of 10 million tokens came")
    judge.check(parts[3] <= 1.1 * parts[1] + 8, f"memory grew from {parts[1]:.0f} to {parts[3]:.0f} MB")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rooflens", type=existing, metavar="BIN", help="left out: the others alone")
    parser.add_argument("--mock", type=existing, required=True, metavar="BIN")
    parser.add_argument("--bare", type=existing, required=True, metavar="BIN")
    parser.add_argument("--peers", action="store_true", help="also the clients of vLLM and SGLang, AIPerf and guidellm")
    parser.add_argument("--sglang-python", default="python3.12", metavar="PYTHON")
    parser.add_argument("--vllm-python", metavar="PYTHON", help="also `vllm bench serve` of this environment")
    parser.add_argument("--parts", default="timing,cpu,stall", help="of timing, cpu, stall, memory")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=1_000_000, help="tokens per round of the processor time")
    parser.add_argument("--realtime", action="store_true")
    parser.add_argument("--judge", action="store_true")
    options = parser.parse_args()
    clients = [Rooflens(options.rooflens)] if options.rooflens else []
    clients.append(Bare(options.bare))
    if options.peers:
        clients += bench_clients.peers(options.sglang_python, options.vllm_python)
    judge = Judge()
    parts = options.parts.split(",")
    if "timing" in parts:
        timing(clients, options, judge)
    if "cpu" in parts:
        processor(clients, options, judge)
    if "stall" in parts:
        stalls(clients, options, judge)
    if "memory" in parts and options.rooflens:
        memory(clients[0], options, judge)
    for words in judge.failed:
        print(f"limit exceeded: {words}")
    print(f"{len(judge.failed)} limits exceeded")
    return 1 if options.judge and judge.failed else 0


if __name__ == "__main__":
    sys.exit(main())
