//! The catalog's files, embedded.

/// Files of rules in the order in which they are asked: the special before the general.
pub(super) const FILES: &[(&str, &str)] = &[
    ("inductor.toml", include_str!("../../../../catalog/kernels/inductor.toml")),
    ("nccl.toml", include_str!("../../../../catalog/kernels/nccl.toml")),
    ("symmetric-memory.toml", include_str!("../../../../catalog/kernels/symmetric-memory.toml")),
    ("custom-all-reduce.toml", include_str!("../../../../catalog/kernels/custom-all-reduce.toml")),
    ("deepep.toml", include_str!("../../../../catalog/kernels/deepep.toml")),
    ("nvshmem.toml", include_str!("../../../../catalog/kernels/nvshmem.toml")),
    ("mori.toml", include_str!("../../../../catalog/kernels/mori.toml")),
    ("flashmla.toml", include_str!("../../../../catalog/kernels/flashmla.toml")),
    ("flash-attention.toml", include_str!("../../../../catalog/kernels/flash-attention.toml")),
    ("flashinfer.toml", include_str!("../../../../catalog/kernels/flashinfer.toml")),
    ("xformers.toml", include_str!("../../../../catalog/kernels/xformers.toml")),
    ("tensorrt-llm.toml", include_str!("../../../../catalog/kernels/tensorrt-llm.toml")),
    ("deepgemm.toml", include_str!("../../../../catalog/kernels/deepgemm.toml")),
    ("triton-kernels.toml", include_str!("../../../../catalog/kernels/triton-kernels.toml")),
    ("marlin.toml", include_str!("../../../../catalog/kernels/marlin.toml")),
    ("aiter.toml", include_str!("../../../../catalog/kernels/aiter.toml")),
    ("vllm.toml", include_str!("../../../../catalog/kernels/vllm.toml")),
    ("sglang.toml", include_str!("../../../../catalog/kernels/sglang.toml")),
    ("sage-attention.toml", include_str!("../../../../catalog/kernels/sage-attention.toml")),
    ("mamba.toml", include_str!("../../../../catalog/kernels/mamba.toml")),
    ("flash-linear-attention.toml", include_str!("../../../../catalog/kernels/flash-linear-attention.toml")),
    ("composable-kernel.toml", include_str!("../../../../catalog/kernels/composable-kernel.toml")),
    ("transformer-engine.toml", include_str!("../../../../catalog/kernels/transformer-engine.toml")),
    ("bitsandbytes.toml", include_str!("../../../../catalog/kernels/bitsandbytes.toml")),
    ("fbgemm.toml", include_str!("../../../../catalog/kernels/fbgemm.toml")),
    ("cudnn.toml", include_str!("../../../../catalog/kernels/cudnn.toml")),
    ("miopen.toml", include_str!("../../../../catalog/kernels/miopen.toml")),
    ("cublaslt.toml", include_str!("../../../../catalog/kernels/cublaslt.toml")),
    ("cublas.toml", include_str!("../../../../catalog/kernels/cublas.toml")),
    ("cute-dsl.toml", include_str!("../../../../catalog/kernels/cute-dsl.toml")),
    ("cutlass.toml", include_str!("../../../../catalog/kernels/cutlass.toml")),
    ("hipblaslt.toml", include_str!("../../../../catalog/kernels/hipblaslt.toml")),
    ("rocblas.toml", include_str!("../../../../catalog/kernels/rocblas.toml")),
    ("cub.toml", include_str!("../../../../catalog/kernels/cub.toml")),
    ("xpu.toml", include_str!("../../../../catalog/kernels/xpu.toml")),
    ("aten.toml", include_str!("../../../../catalog/kernels/aten.toml")),
    ("nvfuser.toml", include_str!("../../../../catalog/kernels/nvfuser.toml")),
    ("mtia.toml", include_str!("../../../../catalog/kernels/mtia.toml")),
    ("ggml.toml", include_str!("../../../../catalog/kernels/ggml.toml")),
    ("rocm-runtime.toml", include_str!("../../../../catalog/kernels/rocm-runtime.toml")),
    ("fallback.toml", include_str!("../../../../catalog/kernels/fallback.toml")),
];

/// Which data type a name tells.
pub(super) const DTYPES: (&str, &str) =
    ("dtypes.toml", include_str!("../../../../catalog/kernels/dtypes.toml"));

/// How a name is shortened.
pub(super) const SHORT_NAMES: (&str, &str) =
    ("short-names.toml", include_str!("../../../../catalog/kernels/short-names.toml"));

/// How a kernel was made, as its name tells.
pub(super) const MAKING: (&str, &str) =
    ("making.toml", include_str!("../../../../catalog/kernels/making.toml"));
