"""`rooflens_budget`: as pytest runs it, and its numbers for a trace of a GPU."""

import json
import unittest
from pathlib import Path
from typing import Any, ClassVar, Dict, List, Optional, Tuple

from tests.installed import facts, find_pytest, needs_wheel, needs_wheel_and_torch, run
from tests.support import ALL, PACKAGE, temporary_folder

DECODE = PACKAGE.parent / "fixtures/kineto/decode.json"
GRAPHS = PACKAGE.parent / "crates/rooflens-core/src/self_test/examples/decode-graphs.json"

# Nothing is imported: the fixture comes with the package.
TESTS = """
    import torch

    a, b = torch.ones(4), torch.ones(4)

    def test_within(rooflens_budget):
        with rooflens_budget(operators=3, host_time="10s") as profile:
            a.add_(b)
            a.mul_(b)
        assert profile.analysis.document["operators"]

    def test_exactly(rooflens_budget):
        with rooflens_budget(operators=2):
            a.add_(b)
            a.mul_(b)

    def test_too_many(rooflens_budget):
        with rooflens_budget(operators=1, host_time=10):
            a.add_(b)
            a.mul_(b)

    def test_too_long(rooflens_budget):
        with rooflens_budget(host_time="1ns"):
            a.add_(b)

    def test_no_device(rooflens_budget):
        with rooflens_budget(launches=300, copies=2, device_time="4ms"):
            a.add_(b)

    def test_both(rooflens_budget):
        with rooflens_budget(launches=300, operators=0):
            a.add_(b)

    def test_negative(rooflens_budget):
        with rooflens_budget(operators=-1):
            a.add_(b)

    def test_negative_time(rooflens_budget):
        with rooflens_budget(host_time=-0.1):
            a.add_(b)

    def test_wrong_time(rooflens_budget):
        with rooflens_budget(device_time="4 minutes"):
            a.add_(b)

    def test_nothing_given(rooflens_budget):
        with rooflens_budget():
            a.add_(b)

    def test_own_failure(rooflens_budget):
        with rooflens_budget(operators=1):
            a.add_(b)
            a.mul_(b)
            assert False, "the test's own"

    def test_two_in_a_row(rooflens_budget):
        for _ in range(2):
            with rooflens_budget(operators=1):
                a.add_(b)
"""

SPENT = """
    import json, sys
    import rooflens
    from rooflens.pytest_plugin import _time, exceeded, nanoseconds, spent, unchecked

    facts = {}
    for name, trace in (("decode", DECODE), ("graphs", GRAPHS)):
        analysis = rooflens.analyze(trace)
        found = spent(analysis)
        facts[name] = found
        facts[name + "_same"] = exceeded(found, analysis)
        facts[name + "_unchecked"] = unchecked(found, analysis)
        facts[name + "_less"] = exceeded({key: value - 1 for key, value in found.items()}, analysis)
    texts = ["4ms", "250us", "250µs", "1.5 s", ".5ns", 0.25, 2]
    facts["times"] = [nanoseconds(text) for text in texts]
    facts["shown"] = [_time(value) for value in (0, 0.5, 1, 999, 1000, 246300, 4e6, 1.5e9, 7.2e12)]
    facts["wrong"] = []
    for text in ("4", "4m", "ms", "1.2.3ms", "-4ms", "4ms 5us", "", "٤ms"):
        try:
            facts["wrong"].append(nanoseconds(text))
        except ValueError as error:
            facts["wrong"].append(str(error))
    print(json.dumps(facts))
"""


def interval_union(events: List[Dict[str, Any]]) -> int:
    total, end = 0, 0
    for first, last in sorted((round(e["ts"] * 1000), round((e["ts"] + e["dur"]) * 1000)) for e in events):
        total += max(last - max(first, end), 0)
        end = max(end, last)
    return total


def self_times(events: List[Dict[str, Any]]) -> int:
    """The time of operators without those inside, summed: the union of all of them on each thread."""
    threads = {(event["pid"], event["tid"]) for event in events}
    return sum(interval_union([e for e in events if (e["pid"], e["tid"]) == thread]) for thread in threads)


def counted(trace: Path) -> Dict[str, float]:
    """What `spent` must say, from the events themselves."""
    events = [event for event in json.loads(trace.read_text())["traceEvents"] if event.get("ph") == "X"]
    device = [event for event in events if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    operators = [event for event in events if event.get("cat") == "cpu_op"]
    launches = ("cudaLaunchKernel", "cudaGraphLaunch")
    return {
        "launches": sum(event["name"] in launches for event in events if event.get("cat") == "cuda_runtime"),
        "copies": sum(event["cat"] == "gpu_memcpy" for event in device),
        "device_time": interval_union(device),
        "operators": len(operators),
        "host_time": self_times(operators),
    }


PYTEST = find_pytest()
needs_pytest = unittest.skipUnless(PYTEST or ALL, "pytest is not installed, and ROOFLENS_PYTEST_FROM is not set")


def search() -> Tuple[Path, ...]:
    return () if PYTEST is None else (PYTEST,)


@needs_wheel
@needs_pytest
class Spent(unittest.TestCase):
    facts: ClassVar[Dict[str, Any]]

    @classmethod
    def setUpClass(cls) -> None:
        script = SPENT.replace("DECODE", repr(str(DECODE))).replace("GRAPHS", repr(str(GRAPHS)))
        cls.facts = facts(script, temporary_folder(), *search())

    def test_what_a_trace_of_a_gpu_spends(self) -> None:
        self.assertEqual(self.facts["decode"], counted(DECODE))
        # By hand: 20 kernels, each launched on its own; two copies to the device and two back.
        self.assertEqual((self.facts["decode"]["launches"], self.facts["decode"]["copies"]), (20, 4))
        busy_ns = 104000 + 58000 + 39000 + 22000 + 12800 + 5000 + 3000 + 2500
        self.assertEqual(self.facts["decode"]["device_time"], busy_ns)

    def test_a_graph_replay_is_one_launch(self) -> None:
        self.assertEqual(self.facts["graphs"], counted(GRAPHS))
        self.assertGreaterEqual(self.facts["graphs"]["launches"], 5)

    def test_a_limit_is_exceeded_above_it(self) -> None:
        self.assertEqual(self.facts["decode_same"], [])
        less = self.facts["decode_less"]
        self.assertEqual(less[0], "launches: 20, and the budget is 19")
        self.assertEqual(less[1], "copies: 4, and the budget is 3")
        self.assertEqual([line.split(":")[0] for line in less[2:]], ["device_time", "operators", "host_time"])
        self.assertIn("246.3 µs", less[2])
        self.assertEqual(self.facts["decode_unchecked"], [])

    def test_times(self) -> None:
        self.assertEqual(self.facts["times"], [4e6, 250e3, 250e3, 1.5e9, 0.5, 0.25e9, 2e9])
        shown = ["0 ns", "0.5 ns", "1 ns", "999 ns", "1 µs", "246.3 µs", "4 ms", "1.5 s", "7,200 s"]
        self.assertEqual(self.facts["shown"], shown)
        for told in self.facts["wrong"]:
            self.assertIn("is not a time: write it as 4ms or 250us", str(told))


@needs_wheel_and_torch
@needs_pytest
class Budget(unittest.TestCase):
    output: ClassVar[str]

    @classmethod
    def setUpClass(cls) -> None:
        folder = temporary_folder()
        (folder / "test_budget.py").write_text("\n".join(line[4:] for line in TESTS.splitlines()))
        done = run(["-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "test_budget.py"], folder, *search())
        cls.output = done.stdout
        assert done.returncode == 1 and cls.output, done.stdout + done.stderr
        # What was recorded is not kept.
        assert not [path for path in folder.iterdir() if path.name.startswith("tmp")], list(folder.iterdir())

    def outcome(self, name: str) -> Optional[str]:
        """PASSED or FAILED of a test, and what follows it in the summary."""
        lines = [line for line in self.output.splitlines() if f"test_budget.py::{name}" in line]
        self.assertEqual(len(lines), 1, self.output)
        return lines[0]

    def test_within_the_budget(self) -> None:
        for name in ("test_within", "test_exactly", "test_two_in_a_row"):
            self.assertTrue(str(self.outcome(name)).startswith("PASSED"), self.output)

    def test_over_the_budget(self) -> None:
        self.assertIn("FAILED test_budget.py::test_too_many - Failed: over budget", self.output)
        self.assertIn("\n  operators: 2, and the budget is 1\n  CPU-only trace: ", self.output)
        self.assertRegex(self.output, r"\n  host_time: [0-9.]+ [µm]s, and the budget is 1 ns\n")

    def test_no_device(self) -> None:
        names = ("launches", "copies", "device_time")
        lines = "".join(f"\n  {name}: no device was recorded" for name in names)
        self.assertIn(f"\ncannot be checked{lines}\n  CPU-only trace: ", self.output)
        self.assertIn("test_no_device - Failed: cannot be checked", str(self.outcome("test_no_device")))
        over = "over budget\n  operators: 1, and the budget is 0\n"
        self.assertIn(over + "cannot be checked\n  launches: no device was recorded\n", self.output)

    def test_pytest_says_what_the_fixture_does(self) -> None:
        done = run(["-m", "pytest", "-q", "--fixtures", "-p", "no:cacheprovider"], temporary_folder(), *search())
        self.assertIn("Fails a test if its torch code exceeds a limit: `with rooflens_budget(", done.stdout)

    def test_wrong_arguments(self) -> None:
        self.assertIn("'4 minutes' is not a time: write it as 4ms or 250us", str(self.outcome("test_wrong_time")))
        for name, limit in (("test_negative", "operators"), ("test_negative_time", "host_time")):
            self.assertIn(f"ValueError: {limit} is negative or not a number", str(self.outcome(name + " ")))
        self.assertIn("a budget needs one of launches", str(self.outcome("test_nothing_given")))

    def test_a_failure_of_the_test_itself_comes_first(self) -> None:
        self.assertIn("the test's own", str(self.outcome("test_own_failure")))
