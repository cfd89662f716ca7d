#!/usr/bin/env python3
"""Makes the two example traces that `rooflens self-test` runs on and `--write-example` writes.

    python3 crates/rooflens-core/src/self_test/examples/make.py

Five decode steps (batch 1) of a made model on an H100: eight layers of nine kernels, then the head and a choice of the
token. `decode-eager.json` launches every kernel by itself: the host takes 11 microseconds for an operator, kernels 2 to
6, so that the device waits for launches. `decode-graphs.json` replays one CUDA graph per step. The kernels and their
durations are the same in both, so that what a comparison finds is the launches. `config.json` is the model: weights of
29 to 80 percent of the device's bandwidth are read in each product.
"""

import json
from pathlib import Path

LAYERS, STEPS = 8, 5
# Operator, kernel, grid, block, nanoseconds on the device, and the shapes of a product.
LAYER = [
    ("aten::rms_norm", "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float, true>(int, float, c10::BFloat16 const*)", 1, 128, 2200, None),
    ("aten::mm", "nvjet_tst_64x8_64x16_4x1_v_bz_TNN", 64, 384, 3900, [[1, 1024], [1024, 4096]]),
    ("aten::rotary_embedding", "void rotary_embedding_kernel<c10::BFloat16, true>(long const*, c10::BFloat16*)", 16, 128, 2000, None),
    ("flash_attn::_flash_attn_forward", "void flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4, false, false, cutlass::bfloat16_t>, false>(Flash_fwd_params)", 32, 128, 5800, None),
    ("aten::mm", "nvjet_tst_64x8_64x16_2x1_v_bz_TNN", 32, 384, 3100, [[1, 2048], [2048, 1024]]),
    ("aten::rms_norm", "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float, true>(int, float, c10::BFloat16 const*)", 1, 128, 2200, None),
    ("aten::mm", "nvjet_tst_64x8_64x16_4x1_v_bz_TNN", 96, 384, 4700, [[1, 1024], [1024, 6144]]),
    ("aten::silu_and_mul", "void act_and_mul_kernel<c10::BFloat16, silu>(c10::BFloat16*, c10::BFloat16 const*, int)", 3, 1024, 2100, None),
    ("aten::mm", "nvjet_tst_64x8_64x16_2x1_v_bz_TNN", 32, 384, 4100, [[1, 3072], [3072, 1024]]),
]
TAIL = [
    ("aten::mm", "nvjet_tst_128x8_64x12_4x1_v_bz_TNN", 132, 384, 24500, [[1, 1024], [1024, 32000]]),
    ("aten::argmax", "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<c10::BFloat16, at::native::ArgMaxOps<float>>>", 1, 512, 6400, None),
]
OPERATOR_NS, LAUNCH_NS, DELAY_NS, GAP_NS = 11000, 4200, 3600, 900
CPU, GPU, THREAD, STREAM = 4242, 0, 4242, 7


class Trace:
    """Events of one trace; times in nanoseconds."""

    def __init__(self):
        self.events, self.correlation, self.now, self.free = [], 1000, 1_000_000, 0

    def event(self, category, name, begin, nanoseconds, pid, tid, **args):
        times = {"ts": begin / 1000, "dur": nanoseconds / 1000}
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, **times, "args": args})

    def call(self, name, begin, nanoseconds):
        self.correlation += 1
        self.event("cuda_runtime", name, begin, nanoseconds, CPU, THREAD, correlation=self.correlation, cbid=211)
        arrow = {"ph": "s", "id": self.correlation, "pid": CPU, "tid": THREAD, "ts": begin / 1000, "cat": "ac2g", "name": "ac2g"}
        self.events.append(arrow)

    def activity(self, category, name, ready, nanoseconds, **args):
        begin = max(ready, self.free)
        self.free = begin + nanoseconds
        place = {"device": 0, "context": 1, "stream": STREAM, "correlation": self.correlation}
        self.event(category, name, begin, nanoseconds, GPU, STREAM, **place, **args)
        self.events.append({"ph": "f", "id": self.correlation, "pid": GPU, "tid": STREAM, "ts": begin / 1000, "cat": "ac2g", "name": "ac2g", "bp": "e"})

    def kernel(self, name, grid, block, ready, nanoseconds, **args):
        size = {"grid": [grid, 1, 1], "block": [block, 1, 1], "registers per thread": 64, "shared memory": 0}
        self.activity("kernel", name, ready, nanoseconds, **size, **args)

    def token(self):
        """Copies the token to the host, which waits for it."""
        begin = self.now
        self.call("cudaMemcpyAsync", begin + 2000, 4000)
        self.activity("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", begin + 2000 + DELAY_NS, 1400, bytes=8)
        ended = max(self.free + 3000, begin + 9000)
        self.call("cudaStreamSynchronize", begin + 6500, ended - begin - 6500)
        self.event("cpu_op", "aten::item", begin, ended + 1000 - begin, CPU, THREAD)
        self.now = ended + 6000


def kernels():
    return LAYER * LAYERS + TAIL


def eager(trace):
    for operator, name, grid, block, nanoseconds, dims in kernels():
        begin = trace.now
        shapes = {"Input Dims": dims, "Input type": ["c10::BFloat16"] * 2} if dims else {}
        trace.event("cpu_op", operator, begin, OPERATOR_NS - 600, CPU, THREAD, **shapes)
        launched = begin + 5200
        trace.call("cudaLaunchKernel", launched, LAUNCH_NS)
        trace.kernel(name, grid, block, launched + DELAY_NS, nanoseconds)
        trace.now += OPERATOR_NS
    trace.token()


def graphs(trace):
    begin = trace.now
    trace.call("cudaGraphLaunch", begin + 8000, 12000)
    ready = begin + 8000 + DELAY_NS
    for node, (_, name, grid, block, nanoseconds, _) in enumerate(kernels()):
        trace.kernel(name, grid, block, ready, nanoseconds, **{"graph id": 5, "graph node id": 100 + node})
        ready = trace.free + GAP_NS
    trace.now += 24000
    trace.token()


def write(name, step):
    trace = Trace()
    for _ in range(STEPS):
        begin = trace.now
        step(trace)
        trace.event("user_annotation", "execute_context_0(0)_generation_1(1)", begin, trace.now - begin, CPU, THREAD)
    head = {
        "schemaVersion": 1,
        "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85029158912, "computeMajor": 9, "computeMinor": 0, "warpSize": 32, "numSms": 132}],
        "cuda_runtime_version": 12080,
        "record_shapes": 1,
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": 1760000000000000000,
    }
    lines = ",\n".join(json.dumps(event, separators=(",", ":")) for event in trace.events)
    text = json.dumps(head, separators=(",", ":"))[:-1] + ',"traceEvents":[\n' + lines + "\n]}\n"
    (Path(__file__).parent / name).write_text(text)


CONFIG = {
    "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": 1024, "num_hidden_layers": LAYERS,
    "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 3072, "vocab_size": 32000,
    "max_position_embeddings": 32768, "rms_norm_eps": 1e-6, "rope_theta": 1000000, "hidden_act": "silu",
    "tie_word_embeddings": False, "torch_dtype": "bfloat16", "attention_bias": False,
}
(Path(__file__).parent / "config.json").write_text(json.dumps(CONFIG, indent=2) + "\n")
write("decode-eager.json", eager)
write("decode-graphs.json", graphs)
