//! The class of an activity, and whether a model needs such kernels at all.

use rooflens_schema::{NameId, RankTables};

use crate::kernel_catalog::KernelClass;

/// Whether a model needs kernels of this class. What is not needed is done within other kernels where it is
/// fused: the static model counts it there.
#[must_use]
pub fn is_needed(class: KernelClass) -> bool {
    !matches!(
        class,
        KernelClass::Elementwise
            | KernelClass::Activation
            | KernelClass::Copy
            | KernelClass::Random
            | KernelClass::Memcpy
            | KernelClass::Memset
    )
}

/// The class of each kernel name of a rank.
pub(crate) struct KernelClasses {
    by_name: Vec<KernelClass>,
}

impl KernelClasses {
    /// Of the kernels of a rank.
    pub(crate) fn new(tables: &RankTables) -> Self {
        let rows = tables.kernel_dim_rows();
        let class = |&row: &u32| {
            let word = tables.kernel_dim.class.get(row as usize);
            word.and_then(|word| KernelClass::named(word)).unwrap_or(KernelClass::Other)
        };
        KernelClasses { by_name: rows.iter().map(class).collect() }
    }

    /// That of a name.
    pub(crate) fn of(&self, name: NameId) -> KernelClass {
        self.by_name.get(name.index()).copied().unwrap_or(KernelClass::Other)
    }
}

/// The class of what a framework operator does on the host, by its name. Operators that only pass on to
/// others (`aten::linear`) have no time of their own worth a class.
pub(crate) fn of_operator(name: &str) -> KernelClass {
    let bare = name.rsplit("::").next().unwrap_or(name).trim_start_matches('_').trim_end_matches('_');
    let is = |words: &[&str]| words.contains(&bare);
    let has = |words: &[&str]| words.iter().any(|word| bare.contains(word));
    if has(&["scaled_dot_product", "flash_attention", "attention"]) {
        KernelClass::Attention
    } else if is(&["mv", "dot", "vdot", "addmv"]) {
        KernelClass::Gemv
    } else if is(&["mm", "addmm", "bmm", "baddbmm", "matmul", "linear", "scaled_mm", "grouped_mm", "einsum"])
        || has(&["mkldnn_linear", "linear_pointwise", "packed_linear", "onednn"])
    {
        KernelClass::Gemm
    } else if has(&["moe", "expert", "topk_softmax"]) {
        KernelClass::Moe
    } else if has(&["norm"]) {
        KernelClass::Norm
    } else if has(&["softmax"]) {
        KernelClass::Softmax
    } else if has(&["rotary", "rope"]) {
        KernelClass::Rope
    } else if has(&["reshape_and_cache", "kv_cache"]) {
        KernelClass::KvCache
    } else if has(&["silu", "gelu", "relu", "sigmoid", "tanh", "swiglu"]) {
        KernelClass::Activation
    } else if is(&[
        "copy",
        "to_copy",
        "to",
        "clone",
        "contiguous",
        "cat",
        "stack",
        "repeat",
        "pad",
        "constant_pad_nd",
        "copy_from",
    ]) {
        KernelClass::Copy
    } else if has(&["conv"]) {
        KernelClass::Convolution
    } else if has(&["pool", "upsample", "interpolate"]) {
        KernelClass::Pooling
    } else if is(&[
        "embedding",
        "index",
        "index_select",
        "gather",
        "scatter",
        "index_put",
        "index_put_impl",
        "masked_scatter",
        "take",
    ]) {
        KernelClass::Embedding
    } else if has(&["argmax", "multinomial", "sample"]) {
        KernelClass::Sampling
    } else if has(&["sort", "topk", "unique", "searchsorted"]) {
        KernelClass::Sort
    } else if is(&[
        "sum",
        "mean",
        "max",
        "min",
        "amax",
        "amin",
        "cumsum",
        "any",
        "all",
        "var",
        "logsumexp",
        "nonzero",
        "prod",
    ]) {
        KernelClass::Reduction
    } else if has(&["quantize", "dequant"]) {
        KernelClass::Quantization
    } else if has(&["all_reduce", "all_gather", "reduce_scatter", "broadcast_", "c10d"])
        || name.starts_with("c10d::")
    {
        KernelClass::Communication
    } else if has(&["rand", "normal", "dropout", "bernoulli"]) {
        KernelClass::Random
    } else if is(&[
        "add",
        "sub",
        "mul",
        "div",
        "neg",
        "pow",
        "rsqrt",
        "sqrt",
        "exp",
        "cos",
        "sin",
        "where",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "logical_not",
        "logical_and",
        "bitwise_and",
        "bitwise_or",
        "bitwise_not",
        "fill",
        "zero",
        "zeros",
        "ones",
        "full",
        "arange",
        "masked_fill",
        "clamp",
        "rsub",
        "abs",
        "log",
        "square",
        "triu",
        "tril",
        "addcmul",
        "addcdiv",
        "reciprocal",
        "isin",
        "ones_like",
        "zeros_like",
        "scalar_tensor",
    ]) {
        KernelClass::Elementwise
    } else {
        KernelClass::Other
    }
}
