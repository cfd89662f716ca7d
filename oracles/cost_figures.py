"""Lower bound and estimate of dense decoders by hand, from the config and the device's file alone.

Shares no code with Rooflens: the operators of a Llama layer are written down here once more.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from oracle import REPOSITORY


BYTES = 2  # of a weight, an activation, a cached number: bf16
INTER_NODE = 400e9 / 8


@dataclass
class Device:
    bf16: float
    fp32: float
    bandwidth: float
    link: float
    gemm: float
    node: int
    multicast: bool


def device(file: str, tp: int) -> Device:
    data = tomllib.loads((REPOSITORY / "catalog/hardware" / f"{file}.toml").read_text())
    compute, package = data["compute"], data["package"]
    peaks = compute["dense_tflops"]
    link = package["link_gb_per_s"] * 1e9
    if (links := package.get("direct_links")) and 1 < tp <= links:
        link = link / links * (tp - 1)  # without a switch, a link leads to one other device
    return Device(
        bf16=peaks["bf16"] * 1e12,
        fp32=peaks["fp32"] * 1e12,
        bandwidth=data["memory"]["bandwidth_gb_per_s"] * 1e9,
        link=link,
        gemm=compute["measured_bf16_matmul_tflops"] / peaks["bf16"],
        node=package["devices_per_node"],
        multicast=package.get("link_multicast", False),
    )


@dataclass
class Operator:
    flops: int = 0
    vector: int = 0
    bytes: int = 0
    sent: int = 0
    sent_between_nodes: int = 0
    is_attention: bool = False


@dataclass
class Work:
    """A step of a dense decoder on one device of `tp`."""

    config: dict
    batch: int
    new: int
    past: int
    tp: int
    device: Device
    split_by_token: bool  # norms over the devices of tensor parallelism
    multicast: bool  # all-reduces in the switch

    def operators(self) -> list[tuple[int, Operator]]:
        config, tp = self.config, self.tp
        hidden, inner, vocabulary = (config[key] for key in ("hidden_size", "intermediate_size", "vocab_size"))
        heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
        width = config.get("head_dim") or hidden // heads
        layers, tokens = config["num_hidden_layers"], self.batch * self.new
        mine, mine_kv = heads // tp, max(1, kv_heads // tp)
        qkv, all_qkv = (mine + 2 * mine_kv) * width, (heads + 2 * kv_heads) * width
        pairs = self.batch * (self.new * self.past + self.new * (self.new + 1) // 2)
        own = -(-tokens // tp)  # of rows that are split by token
        normed = own if self.split_by_token else tokens
        norm = Operator(vector=4 * normed * hidden, bytes=(4 * normed * hidden + hidden) * BYTES)
        cached = 2 * mine_kv * width
        layer = [
            norm,
            self.matrix(tokens, hidden, qkv, 3 * (heads + kv_heads) * width * qkv // all_qkv),
            Operator(
                flops=4 * pairs * mine * width,
                vector=5 * pairs * mine,
                bytes=(self.batch * self.past * cached + 2 * tokens * cached + 2 * tokens * mine * width) * BYTES,
                is_attention=True,
            ),
            self.matrix(tokens, mine * width, hidden),
            self.all_reduce(tokens * hidden * BYTES),
            norm,
            self.matrix(tokens, hidden, 2 * inner // tp, 5 * inner // tp),
            self.matrix(tokens, inner // tp, hidden),
            self.all_reduce(tokens * hidden * BYTES),
        ]
        around = [
            Operator(bytes=2 * own * hidden * BYTES),
            self.all_reduce(tokens * hidden * BYTES),
            norm,
            self.matrix(self.batch, hidden, vocabulary // tp),
            self.all_gather(self.batch * vocabulary * BYTES),
        ]
        return [(layers, operator) for operator in layer] + [(1, operator) for operator in around]

    @staticmethod
    def matrix(rows: int, width: int, out: int, vector: int = 0) -> Operator:
        return Operator(flops=2 * rows * width * out, vector=rows * vector,
                        bytes=(width * out + rows * (width + out)) * BYTES)

    def nodes(self) -> tuple[int, int]:
        within = min(self.tp, self.device.node)
        return within, -(-self.tp // within)

    def all_gather(self, message: int) -> Operator:
        within, nodes = self.nodes()
        return Operator(sent=(within - 1) * message // within,
                        sent_between_nodes=(nodes - 1) * message // nodes // within)

    def all_reduce(self, message: int) -> Operator:
        within, nodes = self.nodes()

        def sent(message, devices):
            ring = 2 * (devices - 1) * message // devices
            return min(ring, message) if self.multicast else ring

        return Operator(sent=sent(message, within), sent_between_nodes=sent(-(-message // within), nodes))


def bound(config: dict, file: str, batch: int, new: int, past: int, tp: int) -> float:
    """Every operator at its roof, communication hidden behind the rest."""
    on = device(file, tp)
    work = Work(config, batch, new, past, tp, on, split_by_token=True, multicast=on.multicast)
    local = link = 0.0
    for layers, it in work.operators():
        local += layers * max(it.flops / on.bf16, it.vector / on.fp32, it.bytes / on.bandwidth)
        link += layers * max(it.sent / on.link, it.sent_between_nodes / INTER_NODE)
    return max(local, link)


def estimate(config: dict, file: str, batch: int, new: int, past: int, tp: int) -> float:
    """The documented defaults: measured GEMMs, 60 % in attention, 80 % of bandwidth and links, 2 µs a kernel,
    10 µs a collective, nothing hidden, ring all-reduces, norms on every device."""
    on = device(file, tp)
    work = Work(config, batch, new, past, tp, on, split_by_token=False, multicast=False)
    total = 0.0
    for layers, it in work.operators():
        matrix = it.flops / on.bf16 / (0.6 if it.is_attention else on.gemm)
        local = max(matrix, it.vector / on.fp32 / 0.6, it.bytes / on.bandwidth / 0.8)
        link = max(it.sent / on.link, it.sent_between_nodes / INTER_NODE) / 0.8
        if local == link == 0:
            continue  # a collective of one device
        total += layers * (local + (link + 10e-6 if link else 0.0) + 2e-6)
    return total


CASES = [
    (file, batch, new, past, tp)
    for file in ("nvidia-h100-sxm", "nvidia-b200", "amd-mi300x", "nvidia-a100-sxm-80gb")
    for batch, new, past in ((1, 8192, 0), (32, 1, 4096), (3, 700, 0))
    for tp in (1, 2, 8, 16)
]


def plain_configs(corpus: Path):
    """Dense decoders whose layers are exactly those above, in bf16."""
    for name in ("meta-llama--Meta-Llama-3.1-70B", "meta-llama--Meta-Llama-3-8B", "mistralai--Mistral-7B-Instruct-v0.3"):
        if (path := corpus / "configs" / f"{name}.json").exists():
            yield name, path
