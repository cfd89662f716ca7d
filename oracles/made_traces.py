"""Traces made up from a seed, for what the corpus has too little of.

Several devices in one file, stamps written in every way a number can be written,
events out of order, equal intervals, names that only look like collectives, ranks
whose clocks count from different bases. The plain reader reads them like any other.
"""

import gzip
import json
import random
from pathlib import Path

COLLECTIVES = [
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)",
    "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*)",
    "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*, vllm::RankSignals)",
    "void vllm::cross_device_reduce_2stage<half, 4>(vllm::RankData*, vllm::RankSignals)",
    "void (anonymous namespace)::one_shot_all_reduce_kernel<c10::BFloat16, 16, 8>(c10::BFloat16**)",
    "void (anonymous namespace)::two_shot_all_reduce_kernel<float, 16, 8>(float**, unsigned long)",
    "void deep_ep::intranode::dispatch<8, 768, 8192>(int4*, float*, int*, long*)",
    "void deep_ep::internode_ll::combine<true, 7168, 9>(void*, void*, int*)",
    "nvshmemi_transfer_rma_p_kernel(int, void*)",
]
ORDINARY = [
    "void splitKreduce_kernel<32, 16, int, float>(cublasSplitKParams<float>, float const*)",
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float>>>",
    "void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int)",
    "void at::native::_scatter_gather_elementwise_kernel<128, 4>(int)",
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_cublas",
    "triton_poi_fused_add_mul_0",
    "paged_attention_ll4mi_reduce_kernel",
    'a name with "quotes", a \\ and \u4e2d\u6587',
    "",
]
COPIES = {
    "gpu_memcpy": ["Memcpy HtoD (Pinned -> Device)", "Memcpy DtoD (Device -> Device)"],
    "gpu_memset": ["Memset (Device)"],
}


def microseconds(ns: int, style: str) -> str:
    """The same time, written in one of the ways that traces write it."""
    sign, whole, part = "-" if ns < 0 else "", abs(ns) // 1000, abs(ns) % 1000
    if style == "integer" and part == 0:
        return f"{sign}{whole}"
    if style == "exponent":
        digits = str(abs(ns))
        return f"{sign}{digits[0]}.{digits[1:] or 0}e{len(digits) - 4}"
    if style == "long":  # what a double looks like after some arithmetic
        return f"{sign}{whole}.{part:03}000000001"
    if style == "short" and part % 10 == 0:
        return f"{sign}{whole}.{part // 10:02}"
    return f"{sign}{whole}.{part:03}"


class Maker:
    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.styles = self.rng.choice(
            [["integer"], ["plain"], ["plain", "short"], ["exponent", "plain"], ["long", "plain"]]
        )
        # Relative stamps, stamps since boot, and stamps since 1970 in microseconds.
        self.origin_ns = self.rng.choice([0, 3_743_411_222_894_405, 1_712_195_495_978_941_000])
        self.step_ns = 1000 if self.styles == ["integer"] else 1

    def stamp(self, ns: int) -> str:
        return microseconds(ns, self.rng.choice(self.styles))

    def time(self, below_ns: int) -> int:
        return self.rng.randrange(0, below_ns, self.step_ns)

    def event(self, category, name, start_ns, dur_ns, pid, tid, args) -> str:
        head = json.dumps(
            {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid},
            ensure_ascii=self.rng.random() < 0.5,
        )
        stamps = f'"ts": {self.stamp(self.origin_ns + start_ns)}, "dur": {self.stamp(dur_ns)}'
        return f'{head[:-1]}, {stamps}, "args": {json.dumps(args)}}}'

    def device_event(self, device: int) -> str:
        category = self.rng.choices(["kernel", "gpu_memcpy", "gpu_memset"], [8, 1, 1])[0]
        names = COPIES.get(category) or self.rng.choices([COLLECTIVES, ORDINARY], [1, 3])[0]
        stream = self.rng.choice([0, 7, 20])
        args = {"device": device, "stream": stream, "correlation": self.rng.randrange(1 << 31)}
        start, dur = self.time(20_000_000), self.time(self.rng.choice([2000, 50_000, 400_000]))
        return self.event(category, self.rng.choice(names), start, dur, device, stream, args)

    def operators(self, thread: int, start_ns: int, end_ns: int, depth: int) -> list[str]:
        """A call and the calls inside it; a child may fill its parent exactly."""
        name = self.rng.choice(["aten::linear", "aten::addmm", "aten::to", "aten::copy_", "nccl:x"])
        args = {"External id": 1}
        if self.rng.random() < 0.1:
            args["stream"] = 7  # a Triton launch: on the host for all that
        out = [self.event("cpu_op", name, start_ns, end_ns - start_ns, 4242, thread, args)]
        if depth == 0 or end_ns - start_ns < 4 * self.step_ns:
            return out
        if self.rng.random() < 0.2:
            return out + self.operators(thread, start_ns, end_ns, depth - 1)
        middle = start_ns + self.time(end_ns - start_ns) // self.step_ns * self.step_ns
        for low, high in ((start_ns, middle), (middle, end_ns)):
            if high > low and self.rng.random() < 0.7:
                out += self.operators(thread, low, high, depth - 1)
        return out

    def other_events(self) -> list[str]:
        """What is not work: annotations, waits, marks, flows and metadata."""
        stamp = self.stamp(self.origin_ns + self.time(1_000_000))
        return [
            self.event("gpu_user_annotation", "step", 0, 20_000_000, 0, 7, {"stream": 7}),
            self.event("cuda_sync", "Event Sync", 5_000, 3_000_000, 0, 7, {"stream": 7}),
            self.event("Trace", "PyTorch Profiler (0)", -9_000, 50_000_000, "Spans", "x", {}),
            f'{{"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": {stamp}, '
            '"args": {"Total Allocated": 512, "Bytes": 512, "Device Id": 0, "Device Type": 1, "Addr": 4096}}',
            f'{{"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 1, "pid": 1, "tid": 1, "ts": {stamp}}}',
            '{"ph": "M", "name": "process_name", "pid": 0, "ts": 0, "args": {"name": "python"}}',
        ]

    def trace(self, rank: int | None, devices: list[int], base_ns: int | None = None) -> str:
        events = [self.device_event(d) for d in devices for _ in range(self.rng.randint(1, 120))]
        events += self.other_events()
        self.rng.shuffle(events)
        # Among calls of the same interval the outer is written first, so these keep their order.
        for thread in (1, 2):
            for at in range(self.rng.randint(0, 5)):
                first = at * 4_000_000
                events += self.operators(thread, first, first + 3_000_000, 4)
        top = ['"schemaVersion": 1', '"traceEvents": [\n' + ",\n".join(events) + "\n]"]
        if rank is not None:
            top.append(f'"distributedInfo": {{"backend": "nccl", "rank": {rank}, "world_size": 4}}')
        if base_ns is not None:
            top.append(f'"baseTimeNanoseconds": {base_ns}')
        self.rng.shuffle(top)
        return "{" + ", ".join(top) + "}"


def make(folder: Path, count: int, seed: int) -> list[Path]:
    """Files and, every fourth time, a directory of ranks."""
    paths = []
    for number in range(count):
        maker = Maker(seed * 1_000_003 + number)
        if number % 4 == 3:
            job = folder / f"made-{number}"
            job.mkdir()
            for rank in range(maker.rng.randint(2, 4)):
                base = 1_767_189_312_000_000_000 + rank * maker.rng.randrange(0, 5_000_000, 1000)
                if maker.origin_ns > 10**18:
                    base = None  # stamps since 1970 count from no base
                write(job / f"rank-{rank}.json", maker.trace(rank, [rank], base), maker)
            paths.append(job)
        else:
            rank = maker.rng.choice([None, 0, 5])
            devices = maker.rng.sample(range(9), maker.rng.randint(1, 4))
            paths.append(write(folder / f"made-{number}.json", maker.trace(rank, devices), maker))
    return paths


def write(path: Path, text: str, maker: Maker) -> Path:
    if maker.rng.random() < 0.5:
        path = path.with_name(path.name + ".gz")
        path.write_bytes(gzip.compress(text.encode(), 1))
    else:
        path.write_text(text)
    return path
