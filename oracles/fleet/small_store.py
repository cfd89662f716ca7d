"""A small folder in the layout of a store, with what a made fleet lacks: nulls, a run that two tenants have added, files
that do not count. Enough rows for every named query to find something."""

import json
import random
import shutil
from pathlib import Path

import duckdb

TEXT, BIG, INT, DOUBLE = "text", "bigint", "int", "double"
ROLLUPS = {"runs", "run_metrics", "kernel_dim", "kernel_rollup", "kernel_hours", "phase_rollup", "device_rollup"}
# Nullable where the type is in a tuple.
COLUMNS = {
    "runs": {"run_id": TEXT, "kind": TEXT, "hardware": (TEXT,), "start_unix_ns": (BIG,), "model": (TEXT,), "runtime": (TEXT,),
             "runtime_version": (TEXT,), "runtime_build": (TEXT,), "devices": (INT,), "node": (TEXT,), "label": (TEXT,),
             "dtype": (TEXT,), "workload": (TEXT,)},
    "run_metrics": {"run_id": TEXT, "metric": TEXT, "value": DOUBLE},
    "kernel_dim": {"kernel_id": BIG, "name": TEXT, "short_name": TEXT, "class": TEXT, "library": (TEXT,), "dtype": (TEXT,)},
    "kernel_rollup": {"run_id": TEXT, "rank": INT, "kernel_id": BIG, "phase": TEXT, "count": BIG, "total_ns": BIG, "min_ns": BIG, "max_ns": BIG},
    "kernel_hours": {"hour_unix_s": BIG, "hardware": TEXT, "runtime": TEXT, "runtime_version": TEXT, "runtime_build": TEXT, "model": TEXT,
                     "phase": TEXT, "kernel_id": BIG, "count": BIG, "total_ns": BIG, "min_ns": BIG, "max_ns": BIG},
    "phase_rollup": {"run_id": TEXT, "rank": INT, "phase": TEXT, "steps": BIG, "total_ns": BIG, "device_busy_ns": BIG, "prefill_tokens": (BIG,),
                     "decode_tokens": (BIG,), "kv_tokens": (BIG,), "activities": (BIG,), "launches": (BIG,)},
    "device_rollup": {"run_id": TEXT, "device": INT, "samples": BIG, "throttled_samples": BIG, "throttle_reasons": BIG,
                      "sm_clock_mean_mhz": (DOUBLE,), "sm_clock_min_mhz": (INT,), "power_mean_mw": (DOUBLE,), "temperature_max_c": (INT,), "energy_mj": (BIG,)},
    "kernels": {"run_id": TEXT, "rank": INT, "ts_ns": BIG, "dur_ns": BIG, "kernel_id": BIG, "phase": TEXT},
    "requests": {"run_id": TEXT, "request_id": BIG, "round_kind": (TEXT,), "scheduled_ts_ns": (BIG,), "sent_ts_ns": (BIG,), "first_token_ts_ns": (BIG,),
                 "last_token_ts_ns": (BIG,), "output_tokens": (BIG,), "status": TEXT},
}
KERNELS = [  # name, class, nanoseconds, of builds
    ("void cutlass::gemm<'a', 128>(x\\y)", "gemm", 90_000, None),
    ("_ZN5flash18flash_fwd_kernelE", "attention", 40_000, None),
    ("ncclDevKernel_AllReduce_Sum_bf16", "communication", 20_000, None),
    ("triton_red_fused_rms_norm_0", "norm", 9_000, ("b1", "b2")),
    ("triton_red_fused_rms_norm_1", "norm", 9_000, ("b3", None)),
]


def columns(table):
    """Its columns: name, type, whether it may be null."""
    return [(name, kind[0], True) if isinstance(kind, tuple) else (name, kind, False) for name, kind in COLUMNS[table].items()]


def make(folder, seed=1, runs=24):
    """Writes the store and returns its files: table, path, day, tenant."""
    draw = random.Random(seed)
    rows = {}

    def add(table, day, tenant, *values):
        rows.setdefault((table, day, tenant), []).append(values)

    for number in range(runs):
        # The last two are the same run, added by two tenants.
        run, tenant = f"run-{min(number, runs - 2):03}", "ab"[number % 2]
        day = f"2026-11-{number // 5 + 1:02}"
        start = 1_790_000_000_000_000_000 + number * 3_600_000_000_000
        build = ["b1", "b2", "b3", None][min(number // 7, 3)]
        hardware, model = draw.choice(["H100", "B200", None]), draw.choice(["llama", "qwen"])
        version = {"b1": "1.0", "b2": "1.0", "b3": "1.1"}.get(build)
        add("runs", day, tenant, run, "run", hardware, start if number % 11 else None, model, "vllm", version, build, draw.choice([8, 8, None]), f"node-{number % 3}", "r1" if build == "b2" else None, "bf16" if number % 9 else None, None)
        for metric, low, high in [("mbu_decode", 0.3, 0.8), ("output_tokens_per_s", 100, 9000), ("ttft_p50_ns", 1e7, 1e8)]:
            if draw.random() < 0.9:
                add("run_metrics", day, tenant, run, metric, draw.uniform(low, high))
        for kernel, (name, of_class, usual_ns, builds) in enumerate(KERNELS):
            if builds and build not in builds:
                continue
            add("kernel_dim", day, tenant, kernel * 7 - 9, name, name[:8], of_class, None, None)
            for rank in range(4):
                for phase in ("prefill", "decode"):
                    times = [round(usual_ns * draw.lognormvariate(0, 0.05) * (1.3 if number == 4 and rank == 2 else 1)) for _ in range(9)]
                    for at, ns in enumerate(times):
                        add("kernels", day, tenant, run, rank, at * 1_000_000, ns, kernel * 7 - 9, phase)
                    figures = (len(times), sum(times), min(times), max(times))
                    add("kernel_rollup", day, tenant, run, rank, kernel * 7 - 9, phase, *figures)
                    add("kernel_hours", day, tenant, start // 10**9 // 3600 * 3600, hardware or "", "vllm", version or "", build or "", model, phase, kernel * 7 - 9, *figures)
        for rank in range(4):
            throttled = 40 if number == 5 else 0
            add("phase_rollup", day, tenant, run, rank, "decode", 9, 9_000_000, 8_000_000, 0, None if number == 3 else 9 * draw.randint(1, 8), None, draw.randint(40, 60), None if number == 6 else 9)
            add("device_rollup", day, tenant, run, rank, 100, throttled, 0x4C if throttled else 0, 1500.5, 900, None, 70, 12345)
        for request in range(30):
            sent = request * 10_000_000
            status = draw.choice(["completed"] * 6 + ["failed", "timed_out", "cancelled"])
            first = sent + draw.randint(1, 100_000_000) if status == "completed" else None
            tokens = draw.choice([1, 2, 100])
            last = first and first + (tokens - 1) * draw.randint(1, 40_000_000)
            add("requests", day, tenant, run, request, draw.choice(["measured", "measured", "warmup", None]), draw.choice([sent - 5_000_000, None]), sent, first, last, tokens, status)
    files = []
    for (table, day, tenant), values in sorted(rows.items()):
        area = "rollups" if table in ROLLUPS else "events"
        path = Path(folder) / f"tenant={tenant}" / area / table / f"day={day}" / "made.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        write(table, values, path)
        files.append((table, str(path), day, tenant))
        # A file that no manifest lists: views that read it give other numbers.
        shutil.copy(path, path.with_name("not-counted.parquet"))
    return files


def write(table, rows, path):
    names = [name for name, _, _ in columns(table)]
    lines = path.with_suffix(".json")
    lines.write_text("".join(json.dumps(dict(zip(names, row))) + "\n" for row in rows))
    kinds = {TEXT: "VARCHAR", BIG: "BIGINT", INT: "INTEGER", DOUBLE: "DOUBLE"}
    types = ", ".join(f"'{name}': '{kinds[kind]}'" for name, kind, _ in columns(table))
    duckdb.sql(f"COPY (SELECT * FROM read_json('{lines}', format = 'newline_delimited', columns = {{{types}}})) TO '{path}' (FORMAT parquet)")
    lines.unlink()
