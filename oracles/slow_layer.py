"""A made decode trace in which one layer of one step is slow: what a reader of the page must find."""

import json
import random
from pathlib import Path

LAYERS, STEPS = 16, 12
KERNELS = [
    ("void vllm::rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*)", 3.0),
    ("nvjet_tst_64x8_64x16_4x1_v_bz_TNN", 11.0),
    ("void flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4>>(Flash_fwd_params)", 7.0),
    ("nvjet_tst_128x8_64x12_2x1_v_bz_TNT", 14.0),
]


def make(path: Path, step: int, layer: int, seed: int = 7) -> None:
    """Twelve steps of sixteen layers; kernels of `layer` take four times as long in `step`."""
    draw = random.Random(seed)
    events, correlation, now = [], 0, 1_000.0
    for number in range(STEPS):
        begin, host, device = now, now + 5, now + 60
        for at in range(LAYERS):
            first = host
            for name, mean in KERNELS:
                correlation += 1
                slow = 4 if (number, at) == (step, layer) else 1
                dur = round(mean * draw.uniform(0.97, 1.03) * slow, 3)
                launch = {"External id": correlation, "correlation": correlation}
                events.append(slice_of("cpu_op", "aten::mm", 1, host, 4.0, {"External id": correlation}))
                events.append(slice_of("cuda_runtime", "cudaLaunchKernel", 1, host + 1, 2.0, launch))
                events.append(slice_of("kernel", name, 7, device, dur, launch | {"device": 0, "stream": 7}, pid=0))
                host, device = host + 5, device + dur + 0.6
            module = {"Python id": number * 100 + at, "Python module id": at}
            name = f"nn.Module: LlamaDecoderLayer_{at}"
            events.append(slice_of("python_function", name, 1, first - 0.5, host - first, module))
        events.append(slice_of("user_annotation", f"ProfilerStep#{number}", 1, begin, device - begin + 2, {}))
        now = device + 10
    top = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}], "traceEvents": events}
    path.write_text(json.dumps(top))


def slice_of(category, name, tid, ts, dur, args, pid=1):
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": round(ts, 3),
            "dur": round(dur, 3), "args": args}  # fmt: skip
