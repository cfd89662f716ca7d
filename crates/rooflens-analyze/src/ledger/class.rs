//! The class of an activity, and whether a model needs such kernels at all.

use rooflens_schema::{NameId, RankTables};

use crate::kernel_catalog::KernelClass;

/// Whether a model needs kernels of this class. What is not needed is done within other kernels where it is
/// fused: the static model counts it there.
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
    pub(crate) fn new(tables: &RankTables) -> Self {
        let rows = tables.kernel_dim_rows();
        let class = |&row: &u32| {
            let word = tables.kernel_dim.class.get(row as usize);
            word.and_then(|word| KernelClass::named(word)).unwrap_or(KernelClass::Other)
        };
        KernelClasses { by_name: rows.iter().map(class).collect() }
    }

    pub(crate) fn of(&self, name: NameId) -> KernelClass {
        self.by_name.get(name.index()).copied().unwrap_or(KernelClass::Other)
    }
}

/// Classes of framework operators, the first that fits: words that the name is, and words that it contains.
const OPERATORS: &[(KernelClass, &str, &str)] = &[
    (KernelClass::Attention, "", "scaled_dot_product flash_attention attention"),
    (KernelClass::Gemv, "mv dot vdot addmv", ""),
    (
        KernelClass::Gemm,
        "mm addmm bmm baddbmm matmul linear scaled_mm grouped_mm einsum",
        "mkldnn_linear linear_pointwise packed_linear onednn",
    ),
    (KernelClass::Moe, "", "moe expert topk_softmax"),
    (KernelClass::Norm, "", "norm"),
    (KernelClass::Softmax, "", "softmax"),
    (KernelClass::Rope, "", "rotary rope"),
    (KernelClass::KvCache, "", "reshape_and_cache kv_cache"),
    (KernelClass::Activation, "", "silu gelu relu sigmoid tanh swiglu"),
    (
        KernelClass::Copy,
        "copy to_copy to clone contiguous cat stack repeat pad constant_pad_nd copy_from",
        "",
    ),
    (KernelClass::Convolution, "", "conv"),
    (KernelClass::Pooling, "", "pool upsample interpolate"),
    (
        KernelClass::Embedding,
        "embedding index index_select gather scatter index_put index_put_impl masked_scatter take",
        "",
    ),
    (KernelClass::Sampling, "", "argmax multinomial sample"),
    (KernelClass::Sort, "", "sort topk unique searchsorted"),
    (KernelClass::Reduction, "sum mean max min amax amin cumsum any all var logsumexp nonzero prod", ""),
    (KernelClass::Quantization, "", "quantize dequant"),
    (KernelClass::Communication, "", "all_reduce all_gather reduce_scatter broadcast_ c10d"),
    (KernelClass::Random, "", "rand normal dropout bernoulli"),
    (
        KernelClass::Elementwise,
        "add sub mul div neg pow rsqrt sqrt exp cos sin where eq ne lt le gt ge logical_not logical_and bitwise_and \
         bitwise_or bitwise_not fill zero zeros ones full arange masked_fill clamp rsub abs log square triu tril addcmul \
         addcdiv reciprocal isin ones_like zeros_like scalar_tensor",
        "",
    ),
];

/// The class of what a framework operator does on the host, by its name. Operators that only pass on to
/// others (`aten::linear`) have no time of their own worth a class.
pub(crate) fn of_operator(name: &str) -> KernelClass {
    let bare = name.rsplit("::").next().unwrap_or(name).trim_start_matches('_').trim_end_matches('_');
    let fits = |(class, whole, part): &&(KernelClass, &str, &str)| {
        whole.split_whitespace().any(|word| word == bare)
            || part.split_whitespace().any(|word| bare.contains(word))
            || (*class == KernelClass::Communication && name.starts_with("c10d::"))
    };
    OPERATORS.iter().find(fits).map_or(KernelClass::Other, |row| row.0)
}
