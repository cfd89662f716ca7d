"""Logs of libraries, exports of trtexec, metrics of servers and folders of rocprof-compute, read in plain Python with expressions of their own."""

import collections
import csv
import json
import math
import re
from pathlib import Path

BITS = {
    "64F": 64, "32F": 32, "16F": 16, "16BF": 16, "8F_E4M3": 8, "8F_E5M2": 8, "4F_E2M1": 4, "8I": 8, "32I": 32,
    "f64_r": 64, "f32_r": 32, "f16_r": 16, "bf16_r": 16, "f8_r": 8, "bf8_r": 8, "i8_r": 8, "i32_r": 32,
}  # fmt: skip
LETTERS = {"H": "16F", "S": "32F", "D": "64F"}


def product(sizes, types) -> tuple:
    m, n, k, batch = sizes
    elements = (m * k, k * n, m * n)
    bits = [BITS.get(kind.removeprefix("R_")) for kind in types]
    known = None not in bits
    size = sum(math.ceil(count * batch * bit / 8) for count, bit in zip(elements, bits)) if known else None
    return (m, n, k, batch, 2 * m * n * k * batch, size)


def lt_calls(text: str) -> list[tuple]:
    """Of cuBLASLt: traced calls; where there are none, calls right behind a question with their layouts."""
    lines = [line for line in text.splitlines() if "][cublasLt][" in line]
    traced = [line for line in lines if "][Trace][" in line and "Matmul] " in line]
    if not traced:
        pairs = zip(lines, lines[1:])
        traced = [first for first, then in pairs if "AlgoGetHeuristic]" in first and "[cublasLtMatmul]" in then]
    calls = []
    for line in traced:
        layouts = {}
        for name, words in re.findall(r"\b([ABCD])desc=\[([^\]]*)\]", line):
            layouts[name] = dict(word.split("=") for word in words.split())
        a, d = layouts["A"], layouts["D"]
        k = int(a["rows"] if re.search(r"transa=OP_[TC]", line) else a["cols"])
        sizes = (int(d["rows"]), int(d["cols"]), k, int(d.get("batchCount", 1)))
        calls.append(product(sizes, [layouts[name]["type"] for name in "ABD"]))
    return calls


def cublas_calls(text: str) -> list[tuple]:
    calls = []
    for record in text.split("I! cuBLAS (v")[1:]:
        function = re.search(r"function cublasStatus_t (\w+)\(", record).group(1)
        if "gemm" not in function.lower():
            continue
        value = dict(re.findall(r"^i!  (\w+): type=[^;]*; val=(\S+)", record, re.M))
        letter = LETTERS.get(function[6])
        types = [value.get(f"{name}type", letter) for name in "ABC"]
        types = [re.sub(r"^CUDA_|\(\d+\)$", "", kind) for kind in types]
        sizes = tuple(int(value.get(name, 1)) for name in ("m", "n", "k", "batchCount"))
        calls.append(product(sizes, types))
    return calls


def bench_calls(text: str) -> list[tuple]:
    calls = []
    for line in text.splitlines():
        if "hipblaslt-bench" not in line and "rocblas-bench -f gemm" not in line:
            continue
        value = dict(re.findall(r"(-\w|--\w+) (\S+)", line))
        if not {"-m", "-n", "-k"} <= value.keys():
            continue
        types = [value.get(f"--{name}_type", value.get("-r")) for name in "abd"]
        calls.append(product(tuple(int(value.get(key, 1)) for key in ("-m", "-n", "-k", "--batch_count")), types))
    return calls


def gemms(path: Path) -> dict:
    text = path.read_text()
    calls = lt_calls(text) + cublas_calls(text) + bench_calls(text)
    return {"calls": len(calls), "flops": sum(call[4] for call in calls), "shapes": collections.Counter(calls)}


def found_gemms(report: dict) -> dict:
    found = report["gemms"]
    shapes = collections.Counter()
    for shape in found["shapes"]:
        key = tuple(shape[name] for name in ("m", "n", "k", "batch", "flops", "bytes"))
        shapes[key] += shape["calls"]
    return {"calls": found["calls"], "flops": found["flops"], "shapes": shapes}


def nearest(values: list[int], percent: int) -> int:
    return sorted(values)[math.ceil(len(values) * percent / 100) - 1]


def engine(files: list[Path]) -> dict:
    truth = {}
    layers, kinds, runs = [], {}, 1
    for path in files:
        data = json.loads(path.read_text())
        if isinstance(data, dict):
            kinds = {layer["Name"]: layer["LayerType"] for layer in data["Layers"]}
        elif "count" in data[0]:
            runs = data[0]["count"]
            layers = [(item["name"], round(item["timeMs"] * 1e6)) for item in data[1:]]
            truth["told"] = {item["name"]: item["percentage"] / 100 for item in data[1:]}
        else:
            timed = [item for item in data if isinstance(item.get("startEnqMs"), (int, float))]
            column = lambda key: [round(item[key] * 1e6) for item in timed]  # noqa: E731
            for name, key in (("latency", "latencyMs"), ("compute", "computeMs"), ("h2d", "h2dMs"), ("d2h", "d2hMs")):
                values = column(key)
                truth[name] = {f"p{at}_ns": nearest(values, at) for at in (50, 90, 95, 99)}
                truth[name] |= {"min_ns": min(values), "max_ns": max(values), "mean_ns": sum(values) / len(values)}
            truth["runs"] = len(timed)
            truth["span_ns"] = max(column("endD2hMs")) - min(column("startEnqMs") + column("startComputeMs"))
    if layers:
        truth["layers"] = {name: (kinds.get(name), total) for name, total in layers}
        truth["run_ns"] = sum(total for _, total in layers) / runs
        by_kind = collections.defaultdict(float)
        for name, total in layers:
            by_kind[kinds.get(name)] += total / runs
        truth["by_type"] = dict(by_kind)
    return truth


def found_engine(report: dict) -> dict:
    found = dict(report["inferences"] or {})
    layers = report["engine_layers"]
    if layers and layers["run_ns"] is not None:
        timed = [it for it in layers["layers"] if it["total_ns"] is not None]
        found["layers"] = {it["name"]: (it["type"], it["total_ns"]) for it in timed}
        found["told"] = {it["name"]: it["share"] for it in timed}
        found["run_ns"] = layers["run_ns"]
        found["by_type"] = {it["name"]: it["run_ns"] for it in layers["by_type"] if it["run_ns"] is not None}
    return found


NCCL_BYTES = [1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1]
PARTS = ("AllGather", "ReduceScatter")


def records(text: str):
    """JSON values one after the other, up to the first that is cut."""
    decoder, at = json.JSONDecoder(), 0
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        try:
            record, at = decoder.raw_decode(text, at)
        except ValueError:
            return
        yield record


def collectives(path: Path) -> dict:
    """Calls and time by collective, ranks and size."""
    sizes = collections.defaultdict(lambda: [0, 0])
    text = path.read_text()
    for record in records(text) if path.suffix == ".jsonl" else []:
        if perf := record.get("coll_perf"):
            ranks = record["header"]["n_ranks"]
            row = sizes[perf["coll"].lower(), ranks, perf["coll_msg_size_bytes"] * (ranks if perf["coll"] in PARTS else 1)]
            row[0] += 1
            row[1] += perf["coll_exec_time_us"] * 1000
    pattern = r"NCCL INFO (\w+): opCount \w+ .*?count (\d+) datatype (\d+) .*?\[nranks=(\d+)\]"
    for name, count, kind, ranks in re.findall(pattern, text):
        kind, ranks = int(kind), int(ranks)
        known = kind < len(NCCL_BYTES)
        size = int(count) * NCCL_BYTES[kind] * (ranks if name in PARTS else 1) if known else None
        sizes[name.lower(), ranks, size][0] += 1
    return {key: tuple(row) for key, row in sizes.items()}


def found_collectives(report: dict) -> dict:
    rows = report["comm_calls"]["sizes"]
    return {(it["collective"], it["group_size"], it["bytes"]): (it["calls"], it["total_ns"] or 0) for it in rows}


def workload(folder: Path) -> list[dict]:
    """Launches of a folder of rocprof-compute, by the formulas of its own roofline, with pandas' rules left out."""
    read = lambda name: list(csv.DictReader((folder / name).open())) if (folder / name).exists() else []  # noqa: E731
    system, measured = read("sysinfo.csv")[0], read("roofline.csv")
    waves = {row["Dispatch_ID"]: row for row in read("SQ_LEVEL_WAVES.csv")}
    launches = []
    for row in read("pmc_perf.csv"):
        value = lambda name: float(row[name]) if row.get(name) else None  # noqa: E731
        whole = lambda *names: None if None in (values := [value(name) for name in names]) else values  # noqa: E731
        bf = "TCC_EA0" if "TCC_EA0_RDREQ_sum" in row else "TCC_EA"
        names = (f"{bf}_RDREQ_sum", f"{bf}_RDREQ_32B_sum", f"{bf}_WRREQ_sum", f"{bf}_WRREQ_64B_sum")
        dram = None
        if parts := whole(*names):
            reads, small, writes, large = parts
            bubble = value("TCC_BUBBLE_sum") if bf == "TCC_EA0" else 0.0
            dram = 128 * bubble + 32 * small + 64 * (reads - bubble - small) + 64 * large + 32 * (writes - large)
        flops = 0.0
        for kind in ("F16", "F32", "F64"):
            add, mul, fma, trans = whole(*(f"SQ_INSTS_VALU_{name}_{kind}" for name in ("ADD", "MUL", "FMA", "TRANS")))
            flops += 64 * (add + mul + 2 * fma + trans)
        flops += 512 * sum(value(f"SQ_INSTS_VALU_MFMA_MOPS_{kind}") for kind in ("F16", "BF16", "F32", "F64", "I8"))
        time = int(row["End_Timestamp"]) - int(row["Start_Timestamp"])
        peak = max((float(line["HBMBw"]) for line in measured), default=float(system["hbm_bw"])) * 1e9
        occupancy = None
        if level := waves.get(row["Dispatch_ID"]):
            cycles = float(level["GRBM_GUI_ACTIVE"]) / int(system["num_xcd"])
            most = int(system["cu_per_gpu"]) * int(system["max_waves_per_cu"])
            occupancy = 100 * float(level["SQ_ACCUM_PREV_HIRES"]) / cycles / most
        hit, miss = whole("TCC_HIT_sum", "TCC_MISS_sum")
        shared = (value("SQ_LDS_IDX_ACTIVE") - value("SQ_LDS_BANK_CONFLICT")) * 4 * int(system["lds_banks_per_cu"])
        launches.append({
            "time_ns": time,
            "flops": flops,
            "dram": dram,
            "l2": value("TCC_REQ_sum") * (64 if system["gpu_arch"] == "gfx908" else 128),
            "l1": value("TCP_TOTAL_CACHE_ACCESSES_sum") * 64,
            "shared": shared,
            "dram_pct": None if dram is None else 100 * dram / (time / 1e9) / peak,
            "l2_hit_pct": 100 * hit / (hit + miss),
            "occupancy_pct": occupancy,
            "groups": math.ceil(int(row["Grid_Size"]) / int(row["Workgroup_Size"])),
        })  # fmt: skip
    return launches


def found_workload(report: dict) -> list[dict]:
    launches = sorted(report["kernels"], key=lambda kernel: kernel["launch"])
    return [
        {
            "time_ns": kernel["time_ns"],
            "flops": kernel["flops"]["total"],
            **kernel["bytes"],
            "dram_pct": kernel["dram_pct"],
            "l2_hit_pct": kernel["l2_hit_pct"],
            "occupancy_pct": kernel["occupancy"]["achieved_pct"],
            "groups": kernel["grid"][0],
        }
        for kernel in launches
    ]


def pages_of(path: Path) -> tuple[list[dict], list[float]]:
    """Pages of metrics with the same series each, and the times they were taken at."""
    pages, times = [{}], []
    for line in path.read_text().splitlines():
        if line.startswith("# time "):
            times.append(float(line.split()[2]))
        if line.startswith("#") or not line.strip():
            continue
        key, value = line.rsplit(" ", 1)
        if key in pages[-1]:
            pages.append({})
        pages[-1][key] = float(value)
    return pages, times


SERVED = ("requests", "failures", "batch", "request_ns", "queue_ns", "compute_infer_ns", "compute_output_ns", "requests_per_s")
# What engines call finished requests, and the histograms of time in the queue and of the whole request.
ENGINES = {
    "vllm:": ("vllm:request_success_total", "vllm:request_queue_time_seconds", "vllm:e2e_request_latency_seconds"),
    "sglang:": ("sglang:num_requests_total", "sglang:queue_time_seconds", "sglang:e2e_request_latency_seconds"),
    "trtllm_": ("trtllm_request_success_total", "trtllm_request_queue_time_seconds", "trtllm_e2e_request_latency_seconds"),
    "tgi_": ("tgi_request_success", "tgi_request_queue_duration", "tgi_request_duration"),
    "llamacpp:": None,
}


def served_by_engine(pages: list[dict], times: list[float], names: tuple[str, str, str] | None) -> dict:
    def over(series: str) -> float:
        last, first = (sum(value for key, value in page.items() if key.split("{")[0] == series) for page in (pages[-1], pages[0]))
        return last - first if len(pages) > 1 else last

    found = dict.fromkeys(SERVED)
    if names:
        requests, queue, whole = names
        found["requests"] = over(requests)
        found["queue_ns"] = over(f"{queue}_sum") * 1e9 / over(f"{queue}_count")
        found["request_ns"] = over(f"{whole}_sum") * 1e9 / over(f"{whole}_count")
        found["requests_per_s"] = over(requests) / (times[-1] - times[0]) if len(times) > 1 else None
    return found


def served(path: Path) -> dict:
    """Last page less first, or all where there is one page."""
    pages, times = pages_of(path)
    for prefix, engine in ENGINES.items():
        if any(key.startswith(prefix) for key in pages[0]):
            named = re.search(r'model_name="([^"]*)"', " ".join(pages[0]))
            name = named[1] if named else {"tgi_": "TGI", "llamacpp:": "llama.cpp"}[prefix]
            return {"snapshots": len(pages), "models": {name: served_by_engine(pages, times, engine)}, "values": {}}
    first = pages[0] if len(pages) > 1 else {}
    names = sorted({match for page in pages for match in re.findall(r'model="([^"]*)"', " ".join(page))})
    truth = {"snapshots": len(pages), "models": {}, "values": {}}
    for name in names:
        count = collections.Counter()
        for key, value in pages[-1].items():
            if f'model="{name}"' in key:
                count[key.split("{")[0].removeprefix("nv_inference_")] += value - first.get(key, 0)
        answered = count["request_success"]
        seconds = times[-1] - times[0] if len(times) > 1 else None
        mean = lambda what: count[f"{what}_duration_us"] * 1000 / answered if answered else None  # noqa: B023, E731
        truth["models"][name] = {
            "requests": answered,
            "failures": count.get("request_failure"),
            "batch": count["count"] / count["exec_count"] if count["exec_count"] else None,
            **{f"{what}_ns": mean(what) for what in ("request", "queue", "compute_infer", "compute_output")},
            "requests_per_s": answered / seconds if seconds else None,
        }
    for key, value in pages[-1].items():
        if key.startswith("nv_gpu_memory_used_bytes"):
            truth["values"]["memory_used_bytes"] = value
        if key.startswith("DCGM_FI_DEV_FB_USED"):
            truth["values"]["memory_used_bytes"] = value * 2**20
        if key.startswith(("nv_gpu_power_usage", "DCGM_FI_DEV_POWER_USAGE")):
            truth["values"]["power_w"] = value
    return truth


def found_served(report: dict) -> dict:
    found = report["server_metrics"]
    last = found["devices"][0]["values"] if found["devices"] else {}
    return {
        "snapshots": found["snapshots"],
        "models": {model["model"]: {key: model[key] for key in SERVED} for model in found["models"]},
        "values": {name: last[name]["last"] for name in ("memory_used_bytes", "power_w") if name in last},
    }
