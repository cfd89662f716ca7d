//! GEMM calls from the log of a BLAS library.

use crate::cell::Opt;
use crate::names::NameId;
use crate::table::{column_enum, table};

column_enum! {
    /// What is done to an operand before it is multiplied.
    Transpose {
        /// Nothing.
        No = "n",
        /// Transposed.
        Yes = "t",
        /// Transposed and conjugated.
        Conjugate = "c",
    }
}

table! {
    /// A GEMM call from the log of cuBLAS, cuBLASLt, hipBLASLt or rocBLAS: D = op(A) op(B), in the library's
    /// column-major order. Such logs have no durations. In the order of the log.
    Gemms(GemmRow) = "gemms", per_rank: true {
        /// Index of the process in the log, in order of first appearance.
        process: i32 => "index" Dictionary,
        /// Library, as `cublaslt`: joins `name_dim.name_id`.
        library_id: NameId => "id" Dictionary,
        /// Function that was called: joins `name_dim.name_id`.
        function_id: NameId => "id" Dictionary,
        /// Rows of the result.
        m: i64 => "count" Dictionary,
        /// Columns of the result.
        n: i64 => "count" Dictionary,
        /// Inner dimension.
        k: i64 => "count" Dictionary,
        /// Batch count: GEMMs in the call.
        batch: i64 => "count" Dictionary,
        /// What is done to A.
        trans_a: Transpose => "word" Dictionary,
        /// What is done to B.
        trans_b: Transpose => "word" Dictionary,
        /// Element type of A, as `bf16`: joins `name_dim.name_id`.
        a_dtype_id: Opt<NameId> => "id" Dictionary,
        /// Element type of B: joins `name_dim.name_id`.
        b_dtype_id: Opt<NameId> => "id" Dictionary,
        /// Element type of the result: joins `name_dim.name_id`.
        d_dtype_id: Opt<NameId> => "id" Dictionary,
        /// Compute type, as the library names it: joins `name_dim.name_id`.
        compute_id: Opt<NameId> => "id" Dictionary,
        /// Epilogue, as the library names it: joins `name_dim.name_id`. Null where nothing is.
        epilogue_id: Opt<NameId> => "id" Dictionary,
        /// Algorithm, tile and stages, as the library names them: joins `name_dim.name_id`.
        algorithm_id: Opt<NameId> => "id" Dictionary,
        /// Multiplications and additions: 2 m n k batch, four times that for complex numbers. Null if the
        /// number is implausibly large.
        flops: Opt<i64> => "FLOP" Dictionary,
        /// A, B and the result once each, without C. Null where a type is not known.
        bytes: Opt<i64> => "bytes" Dictionary,
        /// Kernel that ran it: row of the rank's `kernels`, from 0. Null where no timeline was joined.
        kernel_row: Opt<i32> => "index" Delta,
    }
}
