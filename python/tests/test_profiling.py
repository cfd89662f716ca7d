"""`rooflens.profile` around real torch code: what it leaves, what it costs, and what it refuses."""

import gzip
import json
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Any, Dict, List

from tests.installed import facts, needs_wheel, needs_wheel_and_torch, run
from tests.support import PACKAGE, temporary_folder

# What a user would write.
PROGRAM = """\
import torch, rooflens
model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.GELU(), torch.nn.Linear(256, 64))
x = torch.randn(8, 64)
with torch.no_grad():
    model(x)
    with rooflens.profile("out") as p:
        for _ in range(20):
            x = model(x)
print(p.verdict)
print(p.overhead)
"""

MODEL = PACKAGE.parent / "crates/rooflens-core/src/self_test/examples/config.json"

# One process, since importing torch takes seconds.
USES = """
    import inspect, json, os, time, warnings
    import torch, rooflens

    a, b = torch.ones(1), torch.ones(1)
    facts = {}

    def attempt(name, use):
        ran = []
        try:
            use(ran)
        except BaseException as error:
            hint, kind = getattr(error, "hint", None), getattr(error, "kind", None)
            facts[name] = {"type": type(error).__name__, "error": str(error), "hint": hint, "kind": kind}
        else:
            facts[name] = {"type": None}
        facts[name]["ran"] = len(ran)

    def block(folder, **options):
        def use(ran):
            with rooflens.profile(folder, **options):
                ran.append(1)
                a.add_(b)
        return use

    def nested(ran):
        with rooflens.profile("outer"):
            with rooflens.profile("inner"):
                ran.append(1)

    def inside_torch(ran):
        with torch.profiler.profile():
            with rooflens.profile("inner"):
                ran.append(1)

    def raising(ran):
        with rooflens.profile("raised"):
            ran.append(1)
            raise KeyError("the block's own")

    def early(ran):
        with rooflens.profile("early") as p:
            p.verdict

    def unmarked(ran):
        with rooflens.profile("unmarked") as p:
            p.step()

    attempt("nested", nested)
    attempt("inside_torch", inside_torch)
    attempt("raising", raising)
    facts["left"] = [name for name in ("outer", "inner", "raised") if os.path.exists(name)]
    attempt("after_raising", block("raised"))
    os.mkdir("mine")
    open("mine/notes.txt", "w").close()
    attempt("other_files", block("mine"))
    attempt("a_file", block("mine/notes.txt"))
    attempt("unwritable", block("/proc/rooflens/out"))
    attempt("unknown_keyword", block("keyword", modle="x"))
    attempt("unknown_model", block("model", model="org/absent"))
    attempt("unknown_device", block("model", model=MODEL, hardware="absent"))
    facts["checked_first"] = os.path.exists("model")

    def warned(name, **known):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            attempt(name, block(name, **known))
        files = sorted(os.path.join(at, file) for at, _, names in os.walk(name) for file in names)
        said = [(one.category.__name__, os.path.basename(one.filename), str(one.message)) for one in caught]
        facts[name].update(files=files, warnings=said)

    warned("no_device", model=MODEL, batch=8)
    warned("known_device", model=MODEL, batch=8, hardware="amd-epyc-9654")
    warned("no_model")
    warned("wrong_gemms", gemms="absent.csv")
    warned("wrong_type", keep_private="yes")

    # An analysis that fails when it has begun to write.
    from rooflens import _rooflens
    whole, begun = _rooflens.analyze, []

    def breaks(trace, *, output, **known):
        os.makedirs(f"{output}/tables", exist_ok=True)
        open(f"{output}/tables/half.parquet", "w").close()
        begun.append(sorted(known))
        raise rooflens.Error("the disk is full")

    breaks.__signature__ = inspect.signature(whole)
    _rooflens.analyze = breaks
    warned("half_written", model=MODEL, batch=8, keep_private=True)
    warned("no_model")
    _rooflens.analyze = whole
    facts["begun"] = begun

    torch.manual_seed(0)
    facts["random"] = [torch.rand(1).item()]
    torch.manual_seed(0)
    with rooflens.profile("random"):
        pass
    facts["random"].append(torch.rand(1).item())
    attempt("early", early)
    attempt("unmarked", unmarked)

    for number, work in enumerate((lambda: a.add_(b), lambda: a.mul_(b))):
        with rooflens.profile("twice") as p:
            work()
        facts[f"twice_{number}"] = [operator["name"] for operator in p.analysis.document["operators"]]

    with rooflens.profile("steps", steps=True) as p:
        for _ in range(5):
            a.add_(b)
            p.step()
    facts["steps"] = [str(p.trace), str(p.report), p.analysis.document["phases"]]

    def loop():
        begun = time.thread_time_ns()
        for _ in range(2000):
            a.add_(b)
        return time.thread_time_ns() - begun

    bare = min(loop() for _ in range(5))
    outside = time.perf_counter()
    with rooflens.profile("cost") as p:
        begun = time.perf_counter()
        recorded = min(loop() for _ in range(5))
        block_s = time.perf_counter() - begun
    outside = time.perf_counter() - outside
    cost = p.overhead
    facts["cost"] = {
        "true_ns": (recorded - bare) / 2000, "said_ns": cost.per_operator_ns, "operators": cost.operators,
        "timed_s": block_s, "block_s": cost.block_s, "inside_s": cost.inside_s, "share": cost.inside_share,
        "rest_s": [cost.setup_s, cost.export_s, cost.analysis_s], "outside_s": outside, "words": str(cost),
        "rows": p.analysis.tables["ops"].num_rows, "trace": str(p.trace),
    }
    print(json.dumps(facts))
"""


def events(trace: Path) -> List[Dict[str, Any]]:
    with gzip.open(trace) as file:
        found: List[Dict[str, Any]] = json.load(file)["traceEvents"]
    return found


def count(trace: Path, **wanted: str) -> int:
    return sum(all(event.get(key) == value for key, value in wanted.items()) for event in events(trace))


@needs_wheel_and_torch
class Program(unittest.TestCase):
    def test_ten_lines_give_verdict_tables_report_and_trace(self) -> None:
        folder = temporary_folder()
        done = run(["-c", PROGRAM], folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        verdict, overhead = done.stdout.splitlines()[-2:]
        out = folder / "out"
        self.assertEqual(verdict, json.loads((out / "findings/verdict.json").read_text())["verdict"]["sentence"])
        self.assertRegex(verdict, r"^CPU-only trace: aten::\w+ takes [0-9.]+% of operator self time")
        trace = out / "raw/torch_profiler/trace.json.gz"
        # Two linear layers and an activation, twenty times; the warm-up is not in it.
        self.assertEqual(count(trace, cat="cpu_op", name="aten::linear"), 40)
        self.assertEqual(count(trace, cat="cpu_op", name="aten::gelu"), 20)
        self.assertIn(f"Recording {count(trace, cat='cpu_op'):,} operator calls took about ", overhead)
        self.assertIn("aten::linear", (out / "report/index.html").read_text())
        for table in ("ops", "name_dim", "runs"):
            self.assertTrue((out / f"tables/{table}.parquet").is_file(), table)


@needs_wheel_and_torch
class Uses(unittest.TestCase):
    folder: Path
    facts: Dict[str, Any]

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = temporary_folder()
        cls.facts = facts(USES.replace("MODEL", repr(str(MODEL))), cls.folder)

    def test_what_cannot_work_is_refused_before_the_block_runs(self) -> None:
        for name, kind, *words in (
            ("nested", "usage", "already recording", "cannot be nested"),
            ("inside_torch", "usage", "already recording", "torch.profiler.profile"),
            ("other_files", "usage", "mine"),
            ("a_file", "usage", "notes.txt"),
            ("unwritable", "environment", "/proc"),
            ("unknown_model", "data", "org/absent", "hf download org/absent"),
            ("unknown_device", "usage", "there is no device `absent`"),
        ):
            found = self.facts[name]
            self.assertEqual((found["type"], found["kind"], found["ran"]), ("Error", kind, 0), found)
            for word in words:
                self.assertIn(word, f"{found['error']}\n{found['hint']}")
            self.assertTrue(found["hint"], found)
        found = self.facts["unknown_keyword"]
        self.assertEqual((found["type"], found["ran"]), ("TypeError", 0))
        self.assertIn("modle", found["error"])
        self.assertFalse(self.facts["checked_first"])
        self.assertEqual((self.folder / "mine/notes.txt").read_text(), "")

    def test_a_block_that_raises_leaves_nothing(self) -> None:
        found = self.facts["raising"]
        self.assertEqual((found["type"], found["error"], found["ran"]), ("KeyError", "\"the block's own\"", 1))
        self.assertEqual(self.facts["left"], [])
        self.assertEqual(self.facts["after_raising"], {"type": None, "ran": 1})

    def kept_trace(self, name: str) -> Path:
        found = self.facts[name]
        kept = re.search(r"the trace is (\S+)", found["error"])
        assert kept is not None, found
        if found["hint"] is not None:
            self.assertIn(kept[0], found["hint"])
        return Path(kept[1])

    def test_without_a_lower_bound_the_run_is_complete_and_a_warning_says_why(self) -> None:
        found, known = self.facts["no_device"], self.facts["known_device"]
        self.assertEqual((found["type"], found["ran"]), (None, 1), found)
        for file in ("raw/torch_profiler/trace.json.gz", "report/index.html", "findings/verdict.json"):
            self.assertIn(f"no_device/{file}", found["files"])
        ((category, file, words),) = [one for one in found["warnings"] if "analysed without the model" in one[2]]
        self.assertEqual((category, file), ("UserWarning", "<string>"))
        self.assertIn("no lower bound can be computed: the trace does not name its device.", words)
        self.assertIn('hardware="amd-epyc-9654"', words)
        self.assertNotRegex(words, r"--\w|rooflens list")
        self.assertEqual(known["type"], None)
        self.assertNotIn("analysed without the model", str(known["warnings"]))

    def test_a_wrong_argument_does_not_cost_the_trace(self) -> None:
        for name, error in (("wrong_gemms", "Error"), ("wrong_type", "TypeError")):
            found = self.facts[name]
            self.assertEqual((found["type"], found["ran"], found["files"]), (error, 1, []), found)
            self.assertEqual(count(self.kept_trace(name), cat="cpu_op", name="aten::add_"), 1)

    def test_a_failed_analysis_leaves_nothing_half_written(self) -> None:
        # With the model, then without it.
        self.assertEqual(self.facts["begun"][:2], [["batch", "keep_private", "model"], ["keep_private"]])
        found = self.facts["half_written"]
        self.assertEqual((found["type"], found["warnings"]), ("Error", []), found)
        self.assertIn("the disk is full; the trace is ", found["error"])
        self.assertFalse((self.folder / "half_written").exists())
        self.assertEqual(count(self.kept_trace("half_written"), cat="cpu_op", name="aten::add_"), 1)
        # Of an earlier run only its trace is left.
        self.assertEqual(self.facts["no_model"]["files"], ["no_model/raw/torch_profiler/trace.json.gz"])

    def test_an_earlier_run_is_replaced(self) -> None:
        before, after = self.facts["random"]
        self.assertEqual(before, after, "calibration draws no random numbers")
        self.assertEqual(self.facts["twice_0"], ["aten::add_"])
        self.assertEqual(self.facts["twice_1"], ["aten::mul_"])
        trace = self.folder / "twice/raw/torch_profiler/trace.json.gz"
        self.assertEqual({event["name"] for event in events(trace) if event.get("cat") == "cpu_op"}, {"aten::mul_"})

    def test_nothing_is_said_too_early(self) -> None:
        self.assertEqual(self.facts["early"]["type"], "RuntimeError")
        self.assertIn("before the block has ended", self.facts["early"]["error"])
        self.assertIn("steps=True", self.facts["unmarked"]["error"])

    def test_steps(self) -> None:
        trace, report, phases = self.facts["steps"]
        marks = {event["name"] for event in events(self.folder / trace) if "ProfilerStep#" in event.get("name", "")}
        # What follows the last step() is a step that was cut.
        self.assertEqual(marks, {f"ProfilerStep#{number}" for number in range(6)})
        self.assertEqual((phases[0]["count"], phases[0]["flawed"]), (6, [{"reason": "cut", "steps": 1}]))
        self.assertIn("step", (self.folder / report).read_text())

    @unittest.skipUnless("ROOFLENS_NIGHTLY" in os.environ, "judges times, which needs a machine with nothing else to do")
    def test_the_estimated_overhead_is_near_the_measured_one(self) -> None:
        cost = self.facts["cost"]
        # An estimate may be wrong by a factor.
        self.assertGreater(cost["true_ns"], 0)
        self.assertGreater(cost["said_ns"], cost["true_ns"] / 5, cost)
        self.assertLess(cost["said_ns"], cost["true_ns"] * 5, cost)

    def test_the_overhead_is_reported(self) -> None:
        cost = self.facts["cost"]
        self.assertEqual(cost["operators"], 10_000)
        self.assertEqual(cost["rows"], count(self.folder / cost["trace"], cat="cpu_op"))
        self.assertGreaterEqual(cost["block_s"], cost["timed_s"])
        self.assertLessEqual(cost["block_s"] + sum(cost["rest_s"]), cost["outside_s"] + 0.001)
        self.assertTrue(all(seconds > 0 for seconds in cost["rest_s"]), cost)
        self.assertAlmostEqual(cost["inside_s"], min(cost["said_ns"] * 10_000 / 1e9, cost["block_s"]))
        self.assertAlmostEqual(cost["share"], cost["inside_s"] / cost["block_s"])
        self.assertIn(f"Recording 10,000 operator calls took about {cost['share']:.1%} of the block", cost["words"])


@needs_wheel
class Package(unittest.TestCase):
    def test_importing_it_is_light(self) -> None:
        script = """
            import json, sys
            before = set(sys.modules)
            import rooflens
            names = [name for name in vars(rooflens) if not name.startswith("_")]
            print(json.dumps({"names": names, "modules": sorted(set(sys.modules) - before)}))
        """
        found = facts(script, temporary_folder())
        self.assertEqual(found["names"], [])
        own = [name for name in found["modules"] if name.split(".")[0] not in ("importlib", "warnings")]
        self.assertEqual(own, ["rooflens"])


class Module(unittest.TestCase):
    """`python -m rooflens`, with a program of our own in its place."""

    def run_module(self, *arguments: str, path: str) -> "subprocess.CompletedProcess[str]":
        environment = {**os.environ, "PATH": path, "PYTHONPATH": str(PACKAGE)}
        argv = [sys.executable, "-m", "rooflens", *arguments]
        return subprocess.run(argv, env=environment, capture_output=True, text=True)

    def test_it_runs_the_program(self) -> None:
        folder = temporary_folder()
        program = folder / "rooflens"
        program.write_text('#!/bin/sh\necho "$@"\nexit 7\n')
        program.chmod(0o755)
        done = self.run_module("analyze", "two words", path=f"{folder}:/usr/bin:/bin")
        self.assertEqual((done.returncode, done.stdout), (7, "analyze two words\n"), done.stderr)

    def test_it_says_where_there_is_none(self) -> None:
        done = self.run_module("--version", path=str(temporary_folder()))
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stderr, r"^error: the program rooflens is not installed beside .*\nhint: .* pip install")
