"""`rooflens bench` against a server of known timing, next to a bare client: errors of what is reported, processor time per
token, stalls, memory. Times depend on the load of the machine."""

import tempfile
from statistics import median

import bench_peers
from bench_clients import Bare, Load, Rooflens
from mock_server import MockServer, first_token_times, percentile, token_gaps
from oracle import main, needs, option

# Milliseconds that a reported percentile may be away from the server's.
LIMITS = {"ttft_p50": 0.5, "ttft_p99": 1.0, "itl_p50": 0.1, "itl_p99": 0.5}
CPU_LIMIT = 1.3
LOADS = {
    "64 streams": Load(requests=640, concurrency=64),
    "256 streams": Load(requests=2560, concurrency=256),
    "50 requests/s": Load(requests=500, rate=50),
}


def measure(client, load, args, *server_options):
    with tempfile.TemporaryDirectory() as folder:
        with MockServer(args.mock, *server_options) as server:
            measured = client.run(load, server, folder)
        return measured, server.log


def truth(log):
    times = {"ttft": first_token_times(log), "itl": token_gaps(log)}
    return {f"{name}_p{p}": percentile(values, p) / 1e6 for name, values in times.items() for p in (50, 99)}


def timing(clients, args):
    """Reported times less the server's own write times. TTFT 50 ms, ITL 5 ms."""
    for title, load in LOADS.items():
        for client in clients:
            measured, log = measure(client, load, args, "--ttft-ms", 50, "--itl-ms", 5)
            true = truth(log)
            errors = {name: measured.reported[name] - true[name] for name in LIMITS}
            print(f"{title:14}{client.name:10}" + "".join(f"  {name} {errors[name]:+.3f} ({true[name]:.3f}) ms" for name in LIMITS))
            if client.name == "rooflens":
                off = [name for name, limit in LIMITS.items() if abs(errors[name]) > limit]
                yield from (f"{title}: {name} is {errors[name]:+.3f} ms away, limit {LIMITS[name]}" for name in off)


def processor(clients, args):
    """Processor time per token, of a server that never waits."""
    load = Load(requests=args.tokens // 256, concurrency=64, output_tokens=256)
    rounds = {client.name: [] for client in clients}
    for client in list(clients) * args.rounds:
        measured, log = measure(client, load, args, "--flat-out", "--totals-only")
        # guidellm asks for more than it counts.
        if log["totals"]["output_tokens"] != load.tokens and client.name != "guidellm":
            yield f"{client.name}: not all tokens were asked for"
        rounds[client.name].append(measured.cpu_s * 1e6 / load.tokens)
    for name, costs in rounds.items():
        print(f"{name:10}{median(costs):8.2f} µs per token ({min(costs):.2f}–{max(costs):.2f})")
    ratio = median(cost / bare for cost, bare in zip(rounds["rooflens"], rounds["bare"]))
    if ratio > CPU_LIMIT:
        yield f"{ratio:.2f} × the processor time of the bare client"


def stalls(clients, args):
    """The server stands still for 2 s every 10 s: TTFT p99."""
    for title, load in {"60 requests/s": Load(1800, rate=60), "64 streams": Load(5000, concurrency=64)}.items():
        for client in clients:
            measured, log = measure(client, load, args, "--stall-ms", 2000, "--stall-every-ms", 10000)
            true, reported = truth(log)["ttft_p99"], measured.reported["ttft_p99"]
            print(f"{title:14}{client.name:10} reported {reported:8.1f} ms, as arrivals saw it {true:8.1f} ms", flush=True)
            if client.name != "rooflens":
                continue
            if load.rate and abs(reported - true) > 0.05 * true:
                yield f"{title}: TTFT p99 {reported:.1f}, not {true:.1f}"
            # Arrivals that do not wait for answers meet the stall for a fifth of the time.
            at_pace = (measured.document["ttft_at_pace_ns"] or {}).get("p99", 0) / 1e6
            if not load.rate and at_pace < 1500:
                yield f"{title}: TTFT p99 at the pace of the schedule is {at_pace:.1f}"


def memory(clients, args):
    """Resident memory while 10 million tokens stream by."""
    seen = []

    def watch(pid):
        with open(f"/proc/{pid}/status") as status:
            seen.extend(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS"))

    load = Load(requests=10_000_000 // 1000, concurrency=64, output_tokens=1000)
    with tempfile.TemporaryDirectory() as folder:
        with MockServer(args.mock, "--flat-out", "--totals-only") as server:
            measured = clients[0].run(load, server, folder, watch=watch)
    quarter = max(1, len(seen) // 4)
    parts = [max(seen[n * quarter : (n + 1) * quarter] or [0]) for n in range(4)]
    print(f"MB by quarter: {', '.join(f'{part:.0f}' for part in parts)}; peak {measured.rss_mb:.0f}; {measured.wall_s:.0f} s")
    if server.log["totals"]["output_tokens"] != load.tokens:
        yield "not all of 10 million tokens came"
    if parts[3] > 1.1 * parts[1] + 8:
        yield f"memory grew from {parts[1]:.0f} to {parts[3]:.0f} MB"


PARTS = {"timing": timing, "cpu": processor, "stall": stalls, "memory": memory}


def check_all(judge, args, _scratch) -> None:
    clients = [Rooflens(args.rooflens), Bare(args.bare)]
    if args.peers:
        clients += bench_peers.installed(args.peers)
    for name in args.parts.split(","):
        judge.check(f"{name}: {PARTS[name].__doc__}", PARTS[name](clients, args))


if __name__ == "__main__":
    parts = option("--parts", default=",".join(PARTS), help="of " + ", ".join(PARTS))
    tokens = option("--tokens", type=int, default=1_000_000, help="tokens per round of the processor time")
    peers = option("--peers", metavar="PYTHON", help="also clients of other benchmarks; a Python with vLLM and SGLang")
    main(check_all, peers, needs("--mock"), needs("--bare"), parts, tokens, option("--rounds", type=int, default=5))
