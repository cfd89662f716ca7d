//! What ids of kernels and other names stand for.

use crate::table::table;

table! {
    /// A kernel, copy or fill by name.
    KernelDim(KernelDimRow) = "kernel_dim", per_rank: false {
        /// 64-bit FNV-1a of the name, the same in every run.
        kernel_id: i64 => "id" Dictionary,
        /// Full name.
        name: String => "text" Dictionary,
        /// Readable short form; not unique.
        short_name: String => "text" Dictionary,
        /// What it computes: gemm, attention, norm, communication …
        class: String => "word" Dictionary,
        /// Where it comes from: cublas, triton, nccl …
        library: Option<String> => "word" Dictionary,
        /// Data type, from its name.
        dtype: Option<String> => "word" Dictionary,
    }
}

table! {
    /// Any other name: operators, Python frames, annotations, module paths, shapes.
    NameDim(NameDimRow) = "name_dim", per_rank: false {
        /// 64-bit FNV-1a of the name, the same in every run.
        name_id: i64 => "id" Dictionary,
        /// The text.
        name: String => "text" Dictionary,
    }
}
