"""The store under torture: racing writers, SIGKILL, cut networks, rotten files.

Nothing here shares code with Rooflens: manifests and Parquet files are read by the documented layout (store/reader.py).
Writers race on a directory and on an S3 API; some are killed at random moments. At every moment each visible run must
have all its rows, and each run whose `add` ended with 0 must be visible exactly once. Needs pyarrow and moto.
"""

import contextlib
import datetime
import json
import queue
import random
import re
import shutil
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from oracle import FIXTURES, main, needs, option
from store import s3
from store.network import part_network
from store.reader import Bucket, Folder, Reader, judge
from store.runs import DAYS, make
from store.tool import Part, Tool, Watch, add, ended, query_mistakes, unclean


class Writers:
    """Adds every run, by several writers at once; some are killed, some runs have two writers."""

    def __init__(self, part, tool, store, runs, writers, draw):
        self.part, self.tool, self.store, self.runs = part, tool, store, {run.run_id: run for run in runs}
        self.acknowledged, self.lock, self.seconds = set(), threading.Lock(), [0.1]
        self.tasks = queue.Queue()
        order = list(runs)
        draw.shuffle(order)
        for run in order:
            self.tasks.put((run, draw.choice((0, 0, 0, 1, 2, 3)), draw.random() < 0.3, draw.random()))
        self.left = len(order)
        self.threads = [threading.Thread(target=self.work, daemon=True) for _ in range(writers)]

    def go(self):
        for thread in self.threads:
            thread.start()
        for thread in self.threads:
            thread.join()

    def work(self):
        while self.left:
            with contextlib.suppress(queue.Empty):
                self.one(*self.tasks.get(timeout=0.2))

    def one(self, run, kills, twice, share):
        words = "store", "add", run.folder, "--store", self.store.address, "-q"
        if kills:
            other = self.tool.start(*words) if twice else None
            outcome = self.tool.killed(share * 1.3 * sorted(self.seconds)[len(self.seconds) // 2], *words)
            self.part.count("killed" if outcome is None else "not killed in time")
            self.finished(run, outcome)
            if other:
                self.part.count("raced")
                self.finished(run, ended(other))
            self.tasks.put((run, kills - 1, twice, share * 7.31 % 1))
            return
        started = time.monotonic()
        processes = [self.tool.start(*words) for _ in range(1 + twice)]
        outcomes = [ended(process) for process in processes]
        self.part.count("raced", int(twice))
        with self.lock:
            self.seconds.append((time.monotonic() - started) / len(processes))
            self.left -= 1
        for outcome in outcomes:
            self.finished(run, outcome)

    def finished(self, run, outcome):
        if outcome is None:
            return
        if outcome.code != 0:
            self.part.wrong(f"add ended with {outcome.code}: {outcome.stderr.strip()[-300:]}")
            return
        with self.lock:
            self.acknowledged.add(run.run_id)

    def acked(self):
        with self.lock:
            return set(self.acknowledged)


def races(part, tool, store, runs, args, draw):
    """Parts dir and s3."""
    by_id = {run.run_id: run for run in runs}
    writers = Writers(part, tool, store, runs, args.writers, draw)
    reader = Reader(store)

    def look():
        wanted = writers.acked()
        part.wrong(*judge(reader.look(), by_id, wanted, maybe=by_id))
        part.count("looks")

    def ask():
        wanted = writers.acked()
        if wanted:
            outcome, rows = tool.query(store.address)
            part.check(outcome.code == 0, f"query while runs are added ended with {outcome.code}: {outcome.stderr[-300:]}")
            part.wrong(*query_mistakes(rows, by_id, wanted if outcome.code == 0 else (), maybe=by_id))
            part.count("queries")

    with Watch(part, look, 0.05), Watch(part, ask, 1.0):
        writers.go()
    part.count("runs", len(runs))
    whole(part, tool, store, by_id)
    before = fingerprint(store)
    # In parts: with 1,600 runs on S3 one command for all of them takes longer than a command may.
    for some in (*(runs[at : at + 200] for at in range(0, len(runs), 200)), runs[:1], runs[-1:]):
        outcome = add(tool, store, *some)
        part.check(outcome.code == 0, f"a second add ended with {outcome.code}: {outcome.stderr[-300:]}")
    part.check(fingerprint(store) == before, "a second add changed the store")
    vacuumed(part, tool, store, by_id)


def whole(part, tool, store, by_id, wanted=None, without_events=(), query=True):
    """Every run is there once and whole; Rooflens thinks so, too."""
    wanted = set(by_id) if wanted is None else set(wanted)
    seen = Reader(store, again=True).look()
    part.wrong(*judge(seen, by_id, wanted, without_events=without_events))
    outcome = tool.run("store", "verify", "--store", store.address, "--format", "json")
    if part.check(outcome.code == 0, f"verify ended with {outcome.code}: {outcome.stderr[-300:]} {outcome.stdout[-300:]}"):
        verified = json.loads(outcome.stdout)
        data = sum(name.endswith(".parquet") for name in seen.files)
        part.check((verified["runs"], verified["files"]) == (len(wanted), data), f"verify counts {verified}, expected {len(wanted)} runs, {data} files")
    if query and not without_events:
        outcome, rows = tool.query(store.address)
        part.check(outcome.code == 0, f"query ended with {outcome.code}: {outcome.stderr[-300:]}")
        part.wrong(*query_mistakes(rows, by_id, wanted))
    return seen


def vacuumed(part, tool, store, by_id, wanted=None, without_events=()):
    """After a vacuum without grace nothing is there but what counts, and what tells of removals."""
    outcome = tool.run("store", "vacuum", "--older-than", 0, "--store", store.address)
    part.check(outcome.code == 0, f"vacuum ended with {outcome.code}: {outcome.stderr[-300:]}")
    seen = whole(part, tool, store, by_id, wanted, without_events)
    kept = re.compile(r"store\.json$|tenant=[^/]+/(audit/|log/day=[^/]+/removed-)")
    left = [name for name in store.all_names() if name not in seen.files and not kept.match(name)]
    part.check(not left, f"{len(left)} files that do not count are left after vacuum, as {sorted(left)[:2]}")


def fingerprint(store):
    if isinstance(store, Folder):
        stats = {name: (store.path / name).stat() for name in store.all_names()}
        return {name: (stat.st_mtime_ns, stat.st_size, stat.st_ino) for name, stat in stats.items()}
    pages = store.client.get_paginator("list_objects_v2").paginate(Bucket=store.bucket, Prefix=store.prefix)
    return {item["Key"]: (item["LastModified"], item["ETag"]) for page in pages for item in page["Contents"]}


def part_dir(part, tool, runs, args, draw, scratch):
    races(part, tool, Folder(scratch / "dir-store"), runs, args, draw)


def part_s3(part, tool, runs, args, draw, scratch):
    with s3.server() as (port, client):
        store = Bucket(client, s3.BUCKET, "some/prefix")
        some = runs[: max(6, len(runs) // 6)]  # its server has one thread
        races(part, tool.with_environment(**s3.environment(port)), store, some, args, draw)


def damage(path: Path, draw, may_delete: bool) -> str:
    how, data = draw.choice(("flip", "flip", "truncate", "empty", "append") + ("delete",) * may_delete), path.read_bytes()
    if how == "delete":
        path.unlink()
    elif how == "flip":
        at = draw.randrange(len(data))
        path.write_bytes(data[:at] + bytes([data[at] ^ 1 << draw.randrange(8)]) + data[at + 1 :])
    else:
        path.write_bytes({"truncate": data[: draw.randrange(len(data))], "empty": b"", "append": data + b"\0"}[how])
    return how


def part_rot(part, tool, runs, args, draw, scratch):
    """Random damage in data and manifests: `verify` names it and nothing else, and `compact` does not pass it on."""
    base, runs = Folder(scratch / "rot-base"), runs[:9]
    by_id = {run.run_id: run for run in runs}
    add(tool, base, *runs[:6])
    tool.must("store", "compact", "--until", DAYS[1], "--store", base.address)
    add(tool, base, *runs[6:])
    files = sorted(name for name in whole(part, tool, base, by_id).files)
    for number in range(max(12, args.writers * args.runs // 10)):
        store = Folder(scratch / f"rot-{number}")
        shutil.copytree(base.path, store.path)
        is_data = number % 2 == 0
        of_kind = [name for name in files if name.endswith(".parquet") == is_data]
        rotten = set(draw.sample(of_kind, draw.choice((1, 1, 2, 5)) if is_data else 1))
        for name in sorted(rotten):
            # A manifest that is gone is a run that was never added.
            part.count(damage(store.path / name, draw, may_delete=is_data))
        outcome = tool.run("store", "verify", "--store", store.address, "--format", "json")
        if part.check(outcome.code == 1, f"verify of {sorted(rotten)} ended with {outcome.code}: {outcome.stderr[-200:]}"):
            found = {file["path"] for file in json.loads(outcome.stdout)["damaged"]}
            part.check(found == rotten, f"verify names {sorted(found)}, damaged are {sorted(rotten)}")
        rot_refused(part, tool, store, by_id, rotten, is_data)
        shutil.rmtree(store.path)


def rot_refused(part, tool, store, by_id, rotten, is_data):
    outcome = tool.run("store", "compact", "--store", store.address, "-q")
    if outcome.code:
        part.count("compact refused")
        problem = unclean(outcome)
        part.check(problem is None, f"compact of a damaged store: {problem}")
        named = any(Path(name).name in outcome.stderr for name in rotten)
        part.check(named, f"compact names no damaged file: {outcome.stderr.strip()[-300:]}")
    if not is_data:
        return
    try:
        seen = Reader(store, again=True).look()
    except FileNotFoundError as error:
        missing = str(Path(error.filename).relative_to(store.path))
        part.check(outcome.code != 0 or missing in rotten, f"after compact {missing} is missing")
        return
    passed_on = [m for m in seen.mistakes if m.split(" ")[0].endswith(".parquet") and m.split(" ")[0] not in rotten]
    part.check(not passed_on, f"damage was passed on: {passed_on}")
    if not rotten & seen.files:
        part.wrong(*(f"after compact of a damaged store: {wrong}" for wrong in judge(seen, by_id)))


class Changing:
    """Which runs must be in a store that others change at the moment."""

    def __init__(self):
        self.lock, self.there, self.coming, self.going, self.gone = threading.Lock(), set(), set(), set(), set()

    def move(self, runs, source, target):
        with self.lock:
            source.difference_update(run.run_id for run in runs)
            target.update(run.run_id for run in runs)

    def state(self):
        with self.lock:
            return set(self.there), self.coming | self.going, set(self.gone)


def part_compact(part, tool, runs, args, draw, scratch):
    runs = runs[:240]
    by_id = {run.run_id: run for run in runs}
    store, now = Folder(scratch / "compact-store"), Changing()
    waiting = list(runs)
    reader = Reader(store)

    def more(count):
        batch = [waiting.pop() for _ in range(min(count, len(waiting)))]
        if batch:
            now.move(batch, set(), now.coming)
            outcome = add(tool, store, *batch)
            part.check(outcome.code == 0, f"add ended with {outcome.code}: {outcome.stderr[-300:]}")
            now.move(batch, now.coming, now.there)
        return batch

    def judged(find):
        there, _, gone = now.state()
        found = find()
        after, between, _ = now.state()
        return found, (there & after) - between, (set(by_id) - gone)

    def look():
        seen, wanted, maybe = judged(reader.look)
        part.wrong(*judge(seen, by_id, wanted, maybe=maybe))
        part.count("looks")

    def ask():
        (outcome, rows), wanted, maybe = judged(lambda: tool.query(store.address))
        part.check(outcome.code == 0, f"query while days are compacted ended with {outcome.code}: {outcome.stderr[-300:]}")
        part.wrong(*query_mistakes(rows, by_id, wanted if outcome.code == 0 else (), maybe=maybe))
        part.count("queries")

    compact = "store", "compact", "--store", store.address, "-q"
    more(len(runs) * 2 // 5)
    with Watch(part, look, 0.05), Watch(part, ask, 1.0):
        killed_compactions(part, tool, store, compact, more, args, draw, scratch)
        more(max(4, len(runs) // 10))
        outcomes = [ended(process) for process in [tool.start(*compact) for _ in range(3)]]
        part.count("compactions at once", len(outcomes))
        for outcome in outcomes:
            raced = outcome.code != 0 and "meanwhile" in outcome.stderr and not unclean(outcome)
            part.check(outcome.code == 0 or raced, f"one of three compactions ended with {outcome.code}: {outcome.stderr[-300:]}")
        more(max(4, len(runs) // 10))
    # From here on states cannot fall back on manifests of runs.
    vacuumed(part, tool, store, by_id, now.state()[0])
    with Watch(part, look, 0.05), Watch(part, ask, 1.0):
        removed = removals(part, tool, store, compact, by_id, now, more, args, draw)
        more(len(waiting))
        tool.must(*compact)
    wanted = set(by_id) - removed
    whole(part, tool, store, by_id, wanted)
    for run in sorted(removed)[:: max(1, len(removed) // 6)]:
        outcome = add(tool, store, by_id[run])
        part.check(outcome.code != 0, f"add of the removed run {run} ended with 0, and it is not in the store")
    vacuumed(part, tool, store, by_id, wanted)
    for run in sorted(removed)[:: max(1, len(removed) // 6)]:
        outcome = add(tool, store, by_id[run])
        part.check(outcome.code != 0, f"after vacuum: add of the removed run {run} ended with 0")
    whole(part, tool, store, by_id, wanted)
    retained(part, tool, store, by_id, wanted)


def killed_compactions(part, tool, store, compact, more, args, draw, scratch):
    copy = Folder(scratch / "compact-copy")
    shutil.copytree(store.path, copy.path)
    started = time.monotonic()
    tool.must("store", "compact", "--store", copy.address)
    usual = time.monotonic() - started
    shutil.rmtree(copy.path)
    for _ in range(max(10, args.writers * args.runs // 16)):
        outcome = tool.killed(draw.uniform(0, 1.1) * usual, *compact)
        part.count("compactions killed" if outcome is None else "compactions not killed in time")
        if outcome is not None:
            part.check(outcome.code == 0, f"compact ended with {outcome.code}: {outcome.stderr[-300:]}")
            more(3)


def removals(part, tool, store, compact, by_id, now, more, args, draw) -> set[str]:
    """Removes runs while days are compacted and runs are added; some removals are killed."""
    there = sorted(now.state()[0])
    going = draw.sample(there, max(6, len(there) // 5))
    stop, delays = threading.Event(), random.Random(draw.random())
    usual = [0.2]

    def keep_compacting():
        while not stop.is_set():
            outcome = tool.killed(delays.uniform(0.5, 3) * usual[0], *compact)
            part.count("compactions during removals")
            if outcome is not None and outcome.code != 0:
                part.check("meanwhile" in outcome.stderr and not unclean(outcome), f"compact ended with {outcome.code}: {outcome.stderr[-300:]}")

    def remove(ids, kills):
        for run in ids:
            now.move([by_id[run]], now.there, now.going)
            words = "store", "rm", run, "--reason", "torture", "--store", store.address
            for share in kills.get(run, ()):
                part.count("removals killed", int(tool.killed(share * usual[0], *words) is None))
            for _ in range(5):
                started = time.monotonic()
                outcome = tool.run(*words)
                usual[0] = time.monotonic() - started
                if outcome.code == 0 or "meanwhile" not in outcome.stderr:
                    break
                part.count("removals that had to be repeated")
            gone = outcome.code == 0 or (kills.get(run) and "no run" in outcome.stderr)
            part.check(gone, f"rm ended with {outcome.code}: {outcome.stderr.strip()[-300:]}")
            part.count("removed")
            now.move([by_id[run]], now.going, now.gone)

    kills = {run: [draw.random() * 1.3 for _ in range(2)] for run in going[::2]}
    threads = [threading.Thread(target=remove, args=(going[at::2], kills), daemon=True) for at in range(2)]
    compactor = threading.Thread(target=keep_compacting, daemon=True)
    for thread in (*threads, compactor):
        thread.start()
    while any(thread.is_alive() for thread in threads):
        more(1)
        time.sleep(0.1)
    stop.set()
    compactor.join()
    return set(going)


def retained(part, tool, store, by_id, wanted):
    """The first day loses its events, then everything; a run that add reports as added is there."""
    age = (datetime.datetime.now(datetime.UTC).date() - datetime.date.fromisoformat(DAYS[1])).days
    first = {run for run in wanted if by_id[run].day == DAYS[0]}
    part.count("retained days", len(DAYS) - 1)
    tool.must("store", "retain", "--events", age, "--store", store.address)
    whole(part, tool, store, by_id, wanted, without_events=first)
    vacuumed(part, tool, store, by_id, wanted, without_events=first)
    tool.must("store", "retain", "--rollups", age, "--store", store.address)
    whole(part, tool, store, by_id, wanted - first)
    again = sorted(first)[:2]
    readded(part, tool, store, by_id, again[0], "after retain")
    tool.must("store", "vacuum", "--older-than", 0, "--store", store.address)
    readded(part, tool, store, by_id, again[1], "after retain and vacuum")
    late = {run for run in Reader(store).look().runs} & set(again)
    whole(part, tool, store, by_id, (wanted - first) | late)


def readded(part, tool, store, by_id, run, when):
    outcome = add(tool, store, by_id[run])
    seen = Reader(store, again=True).look()
    is_there = run in seen.runs
    part.check((outcome.code == 0) == is_there, f"{when}: add of a run of a dropped day ended with {outcome.code}, and the run is {'' if is_there else 'not '}in the store")


def check_all(judge_all, args, scratch: Path) -> None:
    tool = Tool(args.rooflens, args.query_path)
    runs = make(tool, FIXTURES / "kineto/decode.json", scratch / "runs", args.writers * args.runs, args.seed)

    def run_part(name, check):
        part = Part(name)
        try:
            check(part, tool, runs, args, random.Random(f"{args.seed}/{name}"), scratch)
        except (Exception, SystemExit):
            part.wrong(traceback.format_exc(limit=-3).strip())
        return part

    def printed(part):
        counts = ", ".join(f"{number} {what}" for what, number in part.counts.items())
        judge_all.check(f"{part.name} (seed {args.seed})", part.mistakes, counts)

    with ThreadPoolExecutor(1) as pool:
        # A failing network is mostly waited for: other parts run meanwhile.
        network = pool.submit(run_part, "network", part_network)
        for name, check in {"dir": part_dir, "s3": part_s3, "rot": part_rot, "compact": part_compact}.items():
            printed(run_part(name, check))
        printed(network.result())


if __name__ == "__main__":
    writers = option("--writers", type=int, default=4)
    runs_each = option("--runs", type=int, default=12, help="per writer")
    main(check_all, needs("--query-path", "folder of rooflens-query"), writers, runs_each, option("--seed", type=int, default=1))
