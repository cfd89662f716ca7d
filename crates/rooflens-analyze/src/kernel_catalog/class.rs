//! The classes of device activities.

use serde::{Deserialize, Serialize};

/// Declares an enum of catalog words: variants, spelling, and definition, which is the doc comment.
macro_rules! vocabulary {
    ($(#[$attribute:meta])* $name:ident { $(#[doc = $doc:literal] $variant:ident = $text:literal,)+ }) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
        pub enum $name {
            $(#[doc = $doc] #[serde(rename = $text)] $variant,)+
        }

        #[allow(dead_code, reason = "not every vocabulary needs all of them")]
        impl $name {
            /// Every value, in the order of reports.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The value as it is written in tables, reports and the catalog.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }

            /// The value that is written so.
            pub fn named(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.as_str() == text)
            }

            /// What the value means, in one line.
            pub fn definition(self) -> &'static str {
                match self { $(Self::$variant => $doc),+ }.trim()
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.pad(self.as_str())
            }
        }
    };
}
pub(super) use vocabulary;

vocabulary! {
    /// What a device activity does. A fused kernel has the class of its most costly part.
    KernelClass {
        /// Dense GEMMs (matrix × matrix), with their fused epilogues and split-K reductions.
        Gemm = "gemm",
        /// GEMV (matrix × vector) and dot products: few tokens against a whole weight matrix.
        Gemv = "gemv",
        /// Scaled-dot-product attention (flash, paged, MLA, sparse), with merges of split attention and indexers of sparse attention.
        Attention = "attention",
        /// Mixture of experts: routing, permutation, grouped expert GEMMs, the weighted sum of experts.
        Moe = "moe",
        /// Normalisations (RMSNorm, LayerNorm, GroupNorm), with fused residual adds and quantisations.
        Norm = "norm",
        /// Activation functions, gated ones included (SiLU, GELU, SwiGLU, sigmoid, ReLU).
        Activation = "activation",
        /// Pointwise arithmetic, comparisons, fills and casts.
        Elementwise = "elementwise",
        /// Softmax and log-softmax as kernels of their own.
        Softmax = "softmax",
        /// Rotary position embeddings and their tables.
        Rope = "rope",
        /// Sums, means, maxima, losses, prefix scans and compactions over a dimension.
        Reduction = "reduction",
        /// Reads and writes by index: embedding tables, gather, scatter, index_select.
        Embedding = "embedding",
        /// Writes to the KV cache, moves inside it, and its block tables.
        KvCache = "kv_cache",
        /// Tensor copies by kernels: copy_, cat, pad, transpose, layout changes.
        Copy = "copy",
        /// Conversions to and from scaled narrow types, with their scales (FP8, FP4, INT8, INT4).
        Quantization = "quantization",
        /// The choice of the next token: penalties, filters, arg-max, multinomial, draft acceptance.
        Sampling = "sampling",
        /// Ordering as a kernel of its own: sort, top-k, unique, search.
        Sort = "sort",
        /// State-space models and linear attention: selective scan, gated delta rule, causal conv1d.
        Ssm = "ssm",
        /// Convolutions, with their layout offsets and transforms.
        Convolution = "convolution",
        /// Pooling and resampling of images.
        Pooling = "pooling",
        /// Random numbers and dropout.
        Random = "random",
        /// Optimizer steps of training.
        Optimizer = "optimizer",
        /// Data exchange between devices, the waits inside it and the arithmetic fused with it included.
        Communication = "communication",
        /// Copies that the driver or runtime makes, between host and device or inside a device.
        Memcpy = "memcpy",
        /// Fills that the driver or runtime makes.
        Memset = "memset",
        /// Not known to the catalog.
        Other = "other",
    }
}

vocabulary! {
    /// The type a kernel computes on, as far as its name tells. Index types (int32, int64) are not data
    /// types here.
    Dtype {
        /// 64-bit IEEE floating point.
        Fp64 = "fp64",
        /// 32-bit IEEE floating point, not on tensor cores.
        Fp32 = "fp32",
        /// 32-bit floating point multiplied on tensor cores with a 10-bit mantissa.
        Tf32 = "tf32",
        /// 16-bit IEEE floating point.
        Fp16 = "fp16",
        /// 16-bit floating point with the exponent of fp32.
        Bf16 = "bf16",
        /// 8-bit floating point, 4 exponent and 3 mantissa bits; also what a name calls only fp8.
        Fp8E4m3 = "fp8_e4m3",
        /// 8-bit floating point, 5 exponent and 2 mantissa bits.
        Fp8E5m2 = "fp8_e5m2",
        /// 4-bit floating point (E2M1) with block scales: MXFP4 and NVFP4.
        Fp4 = "fp4",
        /// 8-bit integers.
        Int8 = "int8",
        /// 4-bit integers.
        Int4 = "int4",
    }
}
