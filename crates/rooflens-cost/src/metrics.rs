//! Every number that the cost model gives, with its formula, its unit and where the formula comes from.

/// A number that the cost model gives.
#[derive(Debug, Clone, Copy)]
pub struct CostMetric {
    /// Its name in documents and in `rooflens explain`.
    pub name: &'static str,
    /// Its unit; empty for what has none.
    pub unit: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// How it is computed.
    pub formula: &'static str,
    /// Where the formula comes from, and what it is held to.
    pub source: &'static str,
}

const COUNTER: &str = "torch.utils.flop_counter.FlopCounterMode on Transformers 5.22 models (eager, meta device); equal to the operation";
const ROOFLINE: &str = "Williams, Waterman, Patterson: Roofline, CACM 52 (2009)";
const CATALOG: &str = "peaks and bandwidth from catalog/hardware, each with its source";

/// Every metric, in the order of `rooflens list cost-metrics`.
pub const ALL: &[CostMetric] = &[
    CostMetric {
        name: "flops.as_counted",
        unit: "FLOP",
        about: "Matrix operations as PyTorch's counter counts the eager Transformers model: nothing masked, logits of all tokens.",
        formula: "Σ 2·rows·in·out over matrices + Σ 2·T·(P + S)·H·(d_qk + d_v) over attention; a \
                  multiply-add counts as two",
        source: COUNTER,
    },
    CostMetric {
        name: "flops.useful",
        unit: "FLOP",
        about: "Model FLOPs: matrix operations that the result requires: causal and windowed pairs only, \
                logits of sampled rows only, activated experts only.",
        formula: "as_counted with pairs = S·P + S·(S+1)/2 (causal), Σ min(P+j, W) (window W or top W), lm_head rows = sampled; absorbed latent attention when decoding",
        source: "closed forms; checked against as_counted where nothing is masked, and by hand",
    },
    CostMetric {
        name: "flops.issued",
        unit: "FLOP",
        about: "Matrix operations including tile padding: rows padded to 16, 32, 64 or multiples of 128, \
                attention to blocks of 128 by 128.",
        formula: "useful with rows → padded rows (each activated expert separately) and pairs → whole blocks",
        source: "tile sizes of cuBLAS, CUTLASS and FlashAttention kernels; an estimate of padding, not of a given kernel",
    },
    CostMetric {
        name: "vector_flops",
        unit: "FLOP",
        about: "Operations outside the tensor cores: norms (4 per element, layer norm 7), softmax (5 per \
                pair and head), activations, rotary embeddings (3 per element).",
        formula: "4·T·h per norm + 5·pairs·H + 5·T·i + 3·T·(H + K)·d_rot",
        source: "operation counts by hand",
    },
    CostMetric {
        name: "bytes.weights",
        unit: "B",
        about: "Weights read, including scales: of an embedding the used rows, of experts the activated \
                ones.",
        formula: "elements·bits/8 + groups·scale bits/8; experts: N_touched of E, N = Σ 1 - (1 - p_e)^T",
        source: "formats as checkpoints store them; coverage checked by simulation",
    },
    CostMetric {
        name: "bytes.kv_read",
        unit: "B",
        about: "KV cache and states read: once per sequence and step.",
        formula: "B·attended keys·K·(d_qk + d_v)·bytes; latent attention B·P·(r + d_r)·bytes; states whole",
        source: "closed forms",
    },
    CostMetric {
        name: "bytes.kv_write",
        unit: "B",
        about: "KV cache and states written.",
        formula: "T·K·(d_qk + d_v)·bytes; states whole, once per step",
        source: "closed forms",
    },
    CostMetric {
        name: "bytes.activations",
        unit: "B",
        about: "Activations that operators read and write; element-wise work is fused.",
        formula: "T·(in + out)·bytes per matrix, 4·T·h·bytes per norm with residual add",
        source: "fused kernels as in vLLM, SGLang and TensorRT-LLM",
    },
    CostMetric {
        name: "intensity",
        unit: "FLOP/B",
        about: "Arithmetic intensity: model FLOPs per byte that must be moved. Above the device's ridge \
                point, compute is the limit.",
        formula: "flops.useful / bytes.total; ridge = peak FLOP/s / bandwidth",
        source: ROOFLINE,
    },
    CostMetric {
        name: "seconds",
        unit: "s",
        about: "The lower bound of the time: operators of a device one after the other at its peaks, \
                communication fully overlapped, with the expected number of activated experts.",
        formula: "max(Σ over operators of max(useful / peak of the dtype, vector / fp32 peak, bytes / bandwidth), Σ over collectives of max(link bytes / link, inter-node bytes / inter-node))",
        source: ROOFLINE,
    },
    CostMetric {
        name: "estimate_s",
        unit: "s",
        about: "The time under the estimate's assumptions (estimate_assumptions), which --assume sets.",
        formula: "Σ over operators of max(useful / (peak · gemm or attention), vector / (fp32 peak · attention), bytes / (bandwidth · bandwidth share)) + launch, and Σ over collectives of sent / (link · link share) + latency + launch, of which the share overlap is hidden",
        source: "assumptions: measured_bf16_matmul_tflops of the catalog, FlashAttention-3 (arXiv \
                 2407.08608), NCCL tests; checked against oracles/cost_figures.py",
    },
    CostMetric {
        name: "mfu",
        unit: "1",
        about: "Model FLOPs utilisation: model FLOPs / (peak FLOP/s × time).",
        formula: "flops.useful / (dense peak of the dtype used · seconds)",
        source: "Chowdhery et al.: PaLM, arXiv 2204.02311, appendix B; peaks dense, per dtype",
    },
    CostMetric {
        name: "mfu_ceiling",
        unit: "1",
        about: "Upper bound of the MFU: that of the roofline itself.",
        formula: "Σ (useful / peak of the dtype) / seconds",
        source: ROOFLINE,
    },
    CostMetric {
        name: "mbu",
        unit: "1",
        about: "Model bandwidth utilisation: bytes that must be moved / (peak bandwidth × time).",
        formula: "bytes.total / (bandwidth · seconds)",
        source: "Databricks: LLM inference performance engineering (2023); here with cache and activations",
    },
    CostMetric {
        name: "mbu_ceiling",
        unit: "1",
        about: "Upper bound of the MBU: that of the roofline itself.",
        formula: "bytes.total / bandwidth / seconds",
        source: ROOFLINE,
    },
    CostMetric {
        name: "params.total",
        unit: "1",
        about: "Parameters of the text-generation class in Transformers, including the vision tower if that \
                class has one; draft layers are counted separately.",
        formula: "Σ over tensors; a head that shares the embedding counts once",
        source: "Transformers 5.22 models on the meta device; equal to the parameter",
    },
    CostMetric {
        name: "params.active",
        unit: "1",
        about: "Active parameters per token: the language model without the experts that the token is not \
                routed to, including the input embedding.",
        formula: "total - vision - routed·(1 - k/E)",
        source: "as above; published figures mix conventions, so both with and without the input embedding are given",
    },
    CostMetric {
        name: "kv.bytes_per_token",
        unit: "B",
        about: "KV cache per token, in layers that keep every token.",
        formula: "Σ over layers K·(d_qk + d_v)·bytes; latent attention (r + d_r)·bytes, in fp8 with sparse attention r + 4·r/128 + 2·d_r (FlashMLA); an indexer d_i + 4",
        source: "closed forms; layers with a window keep at most the window, see kv.windows; states do not grow",
    },
    CostMetric {
        name: "memory.total_bytes",
        unit: "B",
        about: "Memory of the fullest device: weights, KV cache at the end of the workload, and peak \
                activations.",
        formula: "weights + sequences·(kv·tokens + windows + states) + 2·T·h·bytes + the largest operator's \
                  input and output",
        source: "closed forms; allocators and workspaces add to this, hence the usable fraction of memory",
    },
    CostMetric {
        name: "joules_per_token",
        unit: "J",
        about: "Energy per generated token in the estimated time, if every device draws its TDP.",
        formula: "TDP · devices · estimate_s / tokens",
        source: CATALOG,
    },
    CostMetric {
        name: "link_bytes",
        unit: "B",
        about: "Bytes that a device sends to others of its node.",
        formula: "all-reduce 2·(n-1)/n·T·h·bytes, once T·h·bytes where switches multicast, all-gather (n-1)/n, experts T/tp·n·(1 - (1 - 1/n)^k)·(n-1)/n·h·bytes each way",
        source: "ring algorithms (Patarasuk and Yuan 2009); a token is sent once per device, however many of \
                 its experts are there",
    },
    CostMetric {
        name: "inter_node_bytes",
        unit: "B",
        about: "Bytes that a device sends to other nodes.",
        formula: "as link_bytes over nodes; a token is sent once to each node with one of its experts",
        source: "hierarchical algorithms of NCCL and DeepEP",
    },
    CostMetric {
        name: "experts_touched",
        unit: "1",
        about: "Activated experts: those that at least one token of a step is routed to; only their weights \
                are read.",
        formula: "min k, expected Σ 1 - (1 - p_e)^T with Σ p_e = k, max min(E, k·T)",
        source: "independent choices; p_e uniform, by a power law, or as measured",
    },
    CostMetric {
        name: "bubble",
        unit: "1",
        about: "Pipeline bubble: the fraction of time that a pipeline is idle while it fills and drains.",
        formula: "(p - 1) / (m + p - 1) with p stages and m steps",
        source: "Huang et al.: GPipe, arXiv 1811.06965",
    },
    CostMetric {
        name: "ridge",
        unit: "FLOP/B",
        about: "Ridge point: the arithmetic intensity above which a device is compute-bound.",
        formula: "peak FLOP/s of the dtype / bandwidth",
        source: ROOFLINE,
    },
];
