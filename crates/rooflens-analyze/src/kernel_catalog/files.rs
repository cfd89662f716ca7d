//! The catalog's files, embedded.

/// Files of rules in the order in which they are asked: the special before the general.
pub(super) const FILES: &[(&str, &str)] = &[
    ("inductor.toml", include_str!("../../catalog/inductor.toml")),
    ("nccl.toml", include_str!("../../catalog/nccl.toml")),
    ("symmetric-memory.toml", include_str!("../../catalog/symmetric-memory.toml")),
    ("custom-all-reduce.toml", include_str!("../../catalog/custom-all-reduce.toml")),
    ("deepep.toml", include_str!("../../catalog/deepep.toml")),
    ("nvshmem.toml", include_str!("../../catalog/nvshmem.toml")),
    ("mori.toml", include_str!("../../catalog/mori.toml")),
    ("flashmla.toml", include_str!("../../catalog/flashmla.toml")),
    ("flash-attention.toml", include_str!("../../catalog/flash-attention.toml")),
    ("flashinfer.toml", include_str!("../../catalog/flashinfer.toml")),
    ("xformers.toml", include_str!("../../catalog/xformers.toml")),
    ("tensorrt-llm.toml", include_str!("../../catalog/tensorrt-llm.toml")),
    ("deepgemm.toml", include_str!("../../catalog/deepgemm.toml")),
    ("triton-kernels.toml", include_str!("../../catalog/triton-kernels.toml")),
    ("marlin.toml", include_str!("../../catalog/marlin.toml")),
    ("aiter.toml", include_str!("../../catalog/aiter.toml")),
    ("vllm.toml", include_str!("../../catalog/vllm.toml")),
    ("sglang.toml", include_str!("../../catalog/sglang.toml")),
    ("sage-attention.toml", include_str!("../../catalog/sage-attention.toml")),
    ("mamba.toml", include_str!("../../catalog/mamba.toml")),
    ("flash-linear-attention.toml", include_str!("../../catalog/flash-linear-attention.toml")),
    ("composable-kernel.toml", include_str!("../../catalog/composable-kernel.toml")),
    ("transformer-engine.toml", include_str!("../../catalog/transformer-engine.toml")),
    ("bitsandbytes.toml", include_str!("../../catalog/bitsandbytes.toml")),
    ("fbgemm.toml", include_str!("../../catalog/fbgemm.toml")),
    ("cudnn.toml", include_str!("../../catalog/cudnn.toml")),
    ("miopen.toml", include_str!("../../catalog/miopen.toml")),
    ("cublaslt.toml", include_str!("../../catalog/cublaslt.toml")),
    ("cublas.toml", include_str!("../../catalog/cublas.toml")),
    ("cute-dsl.toml", include_str!("../../catalog/cute-dsl.toml")),
    ("cutlass.toml", include_str!("../../catalog/cutlass.toml")),
    ("hipblaslt.toml", include_str!("../../catalog/hipblaslt.toml")),
    ("rocblas.toml", include_str!("../../catalog/rocblas.toml")),
    ("cub.toml", include_str!("../../catalog/cub.toml")),
    ("xpu.toml", include_str!("../../catalog/xpu.toml")),
    ("aten.toml", include_str!("../../catalog/aten.toml")),
    ("nvfuser.toml", include_str!("../../catalog/nvfuser.toml")),
    ("mtia.toml", include_str!("../../catalog/mtia.toml")),
    ("ggml.toml", include_str!("../../catalog/ggml.toml")),
    ("rocm-runtime.toml", include_str!("../../catalog/rocm-runtime.toml")),
    ("fallback.toml", include_str!("../../catalog/fallback.toml")),
];

/// Which data type a name tells.
pub(super) const DTYPES: (&str, &str) = ("dtypes.toml", include_str!("../../catalog/dtypes.toml"));

/// How a name is shortened.
pub(super) const SHORT_NAMES: (&str, &str) =
    ("short-names.toml", include_str!("../../catalog/short-names.toml"));

/// How a kernel was made, as its name tells.
pub(super) const MAKING: (&str, &str) = ("making.toml", include_str!("../../catalog/making.toml"));
