//! The catalog's files, embedded.

macro_rules! files {
    ($($name:literal)+) => { &[$(($name, include_str!(concat!("../../catalog/", $name)))),+] };
}

/// Files of rules in the order in which they are asked: the special before the general.
pub(super) const FILES: &[(&str, &str)] = files![
    "inductor.toml" "nccl.toml" "symmetric-memory.toml" "custom-all-reduce.toml" "deepep.toml"
    "nvshmem.toml" "mori.toml" "flashmla.toml" "flash-attention.toml" "flashinfer.toml" "xformers.toml"
    "tensorrt-llm.toml" "deepgemm.toml" "triton-kernels.toml" "marlin.toml" "aiter.toml" "vllm.toml"
    "sglang.toml" "sage-attention.toml" "mamba.toml" "flash-linear-attention.toml" "composable-kernel.toml"
    "transformer-engine.toml" "bitsandbytes.toml" "fbgemm.toml" "cudnn.toml" "miopen.toml" "cublaslt.toml"
    "cublas.toml" "cute-dsl.toml" "cutlass.toml" "hipblaslt.toml" "rocblas.toml" "cub.toml" "xpu.toml"
    "aten.toml" "nvfuser.toml" "mtia.toml" "ggml.toml" "rocm-runtime.toml" "fallback.toml"
];

/// Which data type a name tells.
pub(super) const DTYPES: (&str, &str) = ("dtypes.toml", include_str!("../../catalog/dtypes.toml"));

/// How a name is shortened.
pub(super) const SHORT_NAMES: (&str, &str) =
    ("short-names.toml", include_str!("../../catalog/short-names.toml"));

/// How a kernel was made, as its name tells.
pub(super) const MAKING: (&str, &str) = ("making.toml", include_str!("../../catalog/making.toml"));
