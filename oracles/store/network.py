"""A store over a network that is cut, loses answers or holds requests back."""

import threading
import time
import traceback

from store import s3
from store.reader import Bucket, Reader, judge
from store.runs import DAYS
from store.tool import add, unclean

NETWORK_LIMIT_S = 90


def part_network(part, tool, runs, args, draw, scratch):
    run = runs[0]
    with s3.server() as (port, client):
        network = s3.Network(port)
        outcome = add(tool.with_environment(**s3.environment(network.port)), Bucket(client, s3.BUCKET, "clean"), run)
        if not part.check(outcome.code == 0, f"add through the proxy ended with {outcome.code}: {outcome.stderr}"):
            return
        network.close()
        total, requests = network.sent, network.requests
        part.count("requests per add", len(requests))
        cases = [("cut", round(total * draw.uniform(0.01, 0.97))) for _ in range(max(3, args.writers * args.runs // 100))]
        answers = {len(requests) - 1, *draw.sample(range(len(requests)), min(len(requests), max(3, args.writers * args.runs // 50)))}
        cases += [("lost", number) for number in sorted(answers)]
        work = [(f"{kind}-{number}-{at}", kind, number) for at, (kind, number) in enumerate(cases)]

        def one(prefix, kind, number):
            try:
                broken(part, tool, port, Bucket(client, s3.BUCKET, prefix), run, kind, number)
            except Exception:
                part.wrong(f"{prefix}: {traceback.format_exc(limit=-2)}")

        threads = [threading.Thread(target=one, args=task, daemon=True) for task in work]
        for thread in threads:
            thread.start()
        interrupted_removal(part, tool, port, Bucket(client, s3.BUCKET, "removal"), runs[: 3 * len(DAYS)])
        for thread in threads:
            thread.join()


def interrupted_removal(part, tool, port, store, runs):
    """A removal that is killed before its last request: afterwards add and rm still tell the truth."""
    by_id = {run.run_id: run for run in runs}
    direct, network = tool.with_environment(**s3.environment(port)), s3.Network(port)
    add(direct, store, *runs)
    direct.must("store", "compact", "--store", store.address)
    for run in runs[:2]:
        network.hold, network.dropped = r"PUT .*/state-", True
        network.held.clear()
        network.release.clear()
        removal = tool.with_environment(**s3.environment(network.port)).start("store", "rm", run.run_id, "--store", store.address)
        part.check(network.held.wait(60), "rm never published the day without the run")
        removal.kill()
        removal.communicate()
        network.release.set()
        part.count("removals killed before their last request")
    seen = Reader(store, again=True).look()
    gone = {run.run_id for run in runs[:2]} - set(seen.runs)
    part.wrong(*judge(seen, by_id, set(by_id) - gone))
    for number, run in enumerate(runs[:2]):
        if number:
            direct.must("store", "vacuum", "--older-than", 0, "--store", store.address)
        outcome = add(direct, store, run)
        is_there = run.run_id in Reader(store).look().runs
        part.check((outcome.code == 0) == is_there, f"rm killed before its mark{', then vacuum' * number}: add of that run ended with {outcome.code}, and the run is {'' if is_there else 'not '}in the store")
    part.wrong(*judge(Reader(store, again=True).look(), by_id, set(by_id) - gone, maybe=gone))
    network.close()


def broken(part, tool, port, store, run, kind, number):
    """One add over a network that fails, and one after it is back."""
    network = s3.Network(port)
    network.cut_after = number if kind == "cut" else None
    network.lost_answer = number if kind == "lost" else None
    tool = tool.with_environment(**s3.environment(network.port))
    label = f"network {kind} after {number} bytes" if kind == "cut" else f"answer {number} lost"
    started = time.monotonic()
    outcome = tool.run("store", "add", run.folder, "--store", store.address, *["-v"] * (number % 2), timeout_s=3 * NETWORK_LIMIT_S)
    seconds = time.monotonic() - started
    part.count("cut" if kind == "cut" else "answers lost")
    part.check(seconds < NETWORK_LIMIT_S, f"{label}: add took {seconds:.0f} s")
    said = outcome.stdout.decode("utf-8", "replace") + outcome.stderr
    for secret in (s3.ACCESS, s3.SECRET, "X-Amz-Signature", "Authorization", "Credential="):
        part.check(secret not in said, f"{label}: {secret} is in the output")
    seen = Reader(store, again=True).look()
    if outcome.code != 0 or kind == "cut":
        problem = unclean(outcome)
        part.check(problem is None, f"{label}: {problem}")
        part.count("clean errors", int(problem is None))
    if kind == "cut":
        part.check(not seen.runs, f"{label}: the run is visible though add ended with {outcome.code}")
    # Where the last answer is lost, the run may be visible though the writer does not know: then whole.
    part.wrong(*(f"{label}: {wrong}" for wrong in judge(seen, {run.run_id: run}, () if outcome.code else None, maybe=[run.run_id])))
    network.repair()
    outcome = add(tool, store, run)
    part.check(outcome.code == 0, f"{label}: add after the network is back ended with {outcome.code}: {outcome.stderr}")
    part.wrong(*(f"{label}: {wrong}" for wrong in judge(Reader(store, again=True).look(), {run.run_id: run})))
    network.close()
