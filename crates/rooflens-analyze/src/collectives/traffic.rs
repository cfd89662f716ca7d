//! How much of a message crosses a device's links.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a collective moves data, as far as the name of its kernel says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Algorithm {
    /// Every rank reads the whole message of every other rank.
    OneShot,
    /// Every rank reduces its part, then gathers the parts of the others.
    TwoShot,
    /// Along two trees.
    Tree,
    /// The switch reduces and multicasts (NVLink SHARP).
    Nvls,
}

/// Parts of kernel names, the first that is found decides. NCCL's `RING` is not among them: since 2.19 its
/// `ncclDevKernel_*_RING_LL` runs every algorithm but the tree and every protocol (`best_kernel` in
/// NVIDIA/nccl src/device/generate.py), so such a name says neither.
const NAMES: &[(&str, Algorithm)] = &[
    // PyTorch, torch/csrc/distributed/c10d/symm_mem/CUDASymmetricMemoryOps.cu.
    ("multimem_one_shot", Algorithm::OneShot),
    ("one_shot_all_reduce", Algorithm::OneShot),
    ("two_shot_all_reduce", Algorithm::TwoShot),
    ("multimem_", Algorithm::Nvls),
    // NCCL, src/device/symmetric: all-gather and reduce, or reduce-scatter by loads and all-gather by stores;
    // MC is multicast.
    ("AllReduce_AGxLL_R", Algorithm::OneShot),
    ("AllReduce_AGxLLMC_R", Algorithm::OneShot),
    ("AllReduce_RSxLD_AGxST", Algorithm::TwoShot),
    ("AllReduce_RSxLDMC_AGxSTMC", Algorithm::Nvls),
    ("_TREE_", Algorithm::Tree),
    ("_NVLS_", Algorithm::Nvls),
    // vLLM, SGLang and AITER, csrc/custom_all_reduce.cuh; vLLM csrc/quickreduce.
    ("cross_device_reduce_1stage", Algorithm::OneShot),
    ("cross_device_reduce_2stage", Algorithm::TwoShot),
    ("allreduce_prototype_twoshot", Algorithm::TwoShot),
    // TensorRT-LLM and FlashInfer.
    ("oneshot", Algorithm::OneShot),
    ("twoshot", Algorithm::TwoShot),
    ("lamport", Algorithm::OneShot),
];

impl Algorithm {
    pub(crate) fn of(kernel: &str) -> Option<Self> {
        let is_in = |part: &str| match part.chars().any(|letter| letter.is_ascii_uppercase()) {
            true => kernel.contains(part),
            false => kernel.to_ascii_lowercase().contains(part),
        };
        NAMES.iter().find(|(part, _)| is_in(part)).map(|(_, algorithm)| *algorithm)
    }

    /// Word in JSON and tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Algorithm::OneShot => "one_shot",
            Algorithm::TwoShot => "two_shot",
            Algorithm::Tree => "tree",
            Algorithm::Nvls => "nvls",
        }
    }
}

/// A collective by its name, which frameworks write in several ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    AllReduce,
    Parts,
    Rooted,
    PointToPoint,
}

impl Kind {
    pub(crate) fn of(collective: &str) -> Option<Self> {
        let word: String = collective
            .chars()
            .filter(char::is_ascii_alphabetic)
            .map(|letter| letter.to_ascii_lowercase())
            .collect();
        let is = |words: &[&str]| words.iter().any(|part| word.contains(part));
        if is(&["allreduce"]) {
            Some(Kind::AllReduce)
        } else if is(&["allgather", "reducescatter", "alltoall"]) {
            Some(Kind::Parts)
        } else if is(&["send", "recv", "receive"]) {
            Some(Kind::PointToPoint)
        } else if is(&["broadcast", "reduce"]) {
            Some(Kind::Rooted)
        } else {
            None
        }
    }
}

/// What algorithm bandwidth is multiplied with to compare collectives and group sizes, by NVIDIA/nccl-tests,
/// doc/PERFORMANCE.md. `None` for collectives that it does not list.
pub(crate) fn bus_factor(collective: &str, ranks: i32) -> Option<f64> {
    if ranks < 2 {
        return None;
    }
    let others = f64::from(ranks - 1) / f64::from(ranks);
    Some(match Kind::of(collective)? {
        Kind::AllReduce => 2.0 * others,
        Kind::Parts => others,
        Kind::Rooted | Kind::PointToPoint => 1.0,
    })
}

/// How often a message crosses the links of one device in one direction. As the bus factor, but for all-reduce
/// by algorithms that move more or less: one shot reads the message of every other rank, a switch that reduces
/// sends it back once.
pub(crate) fn link_factor(collective: &str, algorithm: Option<Algorithm>, ranks: i32) -> Option<f64> {
    let bus = bus_factor(collective, ranks)?;
    Some(match (Kind::of(collective)?, algorithm) {
        (Kind::AllReduce, Some(Algorithm::OneShot)) => f64::from(ranks - 1),
        (Kind::AllReduce, Some(Algorithm::Nvls)) => 1.0,
        _ => bus,
    })
}

/// Bytes of an element, by PyTorch's name of its type: `c10::ScalarType`, or as in Python.
pub(crate) fn element_bytes(dtype: &str) -> Option<i64> {
    let name = dtype.to_ascii_lowercase();
    let name = name.trim_start_matches("torch.").trim_start_matches("c10::");
    Some(match name {
        "byte" | "char" | "bool" | "uint8" | "int8" | "qint8" | "quint8" => 1,
        // Two four-bit values share an element of one byte.
        "float4_e2m1fn_x2" => 1,
        _ if name.starts_with("float8") => 1,
        "half" | "bfloat16" | "short" | "float16" | "int16" | "uint16" => 2,
        "float" | "int" | "float32" | "int32" | "uint32" | "qint32" | "complexhalf" => 4,
        "double" | "long" | "float64" | "int64" | "uint64" | "complexfloat" | "complex64" => 8,
        "complexdouble" | "complex128" => 16,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors() {
        assert_eq!(bus_factor("allreduce_coalesced", 8), Some(1.75));
        assert_eq!(bus_factor("_allgather_base", 8), Some(0.875));
        assert_eq!(bus_factor("reduce_scatter_tensor_coalesced", 4), Some(0.75));
        assert_eq!(bus_factor("all_to_allv", 2), Some(0.5));
        assert_eq!(bus_factor("broadcast", 4), Some(1.0));
        assert_eq!(bus_factor("reduce", 4), Some(1.0));
        assert_eq!(bus_factor("barrier", 4), None);
        assert_eq!(bus_factor("allreduce", 1), None);
        // One shot of eight reads seven messages; a switch returns one.
        assert_eq!(link_factor("allreduce", Some(Algorithm::OneShot), 8), Some(7.0));
        assert_eq!(link_factor("allreduce", Some(Algorithm::Nvls), 8), Some(1.0));
        assert_eq!(link_factor("allreduce", None, 8), Some(1.75));
        assert_eq!(link_factor("_allgather_base", Some(Algorithm::Nvls), 8), Some(0.875));
    }

    #[test]
    fn sizes() {
        let sizes = [
            ("Float", 4),
            ("BFloat16", 2),
            ("Float8_e4m3fn", 1),
            ("Long", 8),
            ("torch.float16", 2),
            ("Byte", 1),
        ];
        for (dtype, bytes) in sizes {
            assert_eq!(element_bytes(dtype), Some(bytes), "{dtype}");
        }
        assert_eq!(element_bytes("Undefined"), None);
    }

    #[test]
    fn algorithms_by_the_names_of_kernels() {
        let one_shot = Some(Algorithm::OneShot);
        for (kernel, algorithm) in [
            ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", None),
            (
                "ncclDevKernel_AllReduce_Sum_bf16_TREE_LL(ncclDevKernelArgsStorage<4096ul>)",
                Some(Algorithm::Tree),
            ),
            ("ncclSymkDevKernel_AllReduce_RSxLDMC_AGxSTMC_sum_bf16", Some(Algorithm::Nvls)),
            ("ncclSymDevKernel_AllReduce_AGxLL_R_sum_bf16", one_shot),
            ("void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*)", one_shot),
            (
                "void vllm::cross_device_reduce_2stage<__nv_bfloat16, 8>(vllm::RankData*)",
                Some(Algorithm::TwoShot),
            ),
            (
                "void c10d::symmetric_memory::multimem_all_reduce_kernel<c10::BFloat16, 16>()",
                Some(Algorithm::Nvls),
            ),
            ("void one_shot_all_reduce_kernel<c10::BFloat16, 16, 8, false>()", one_shot),
            ("ar_fusion::allreduce_fusion_kernel_oneshot_lamport<(AllReduceFusionPattern)1>", one_shot),
            (
                "ar_fusion::allreduce_fusion_kernel_twoshot_sync<(AllReduceFusionPattern)1>",
                Some(Algorithm::TwoShot),
            ),
            ("void tensorrt_llm::kernels::oneShotAllReduceKernel<__nv_bfloat16, 8, true>()", one_shot),
            ("deep_ep::intranode::dispatch", None),
        ] {
            assert_eq!(Algorithm::of(kernel), algorithm, "{kernel}");
        }
    }
}
