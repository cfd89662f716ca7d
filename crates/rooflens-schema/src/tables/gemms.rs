//! Matrix products as a library was asked for them.

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
    /// A call that multiplies matrices, as cuBLAS, cuBLASLt, hipBLASLt or rocBLAS wrote it to its log: D = op(A) op(B), in the library's column-major view. Such logs hold no durations. In the order of the log.
    Gemms(GemmRow) = "gemms", per_rank: true {
        /// Number of the process in the log, in order of first sight.
        process: i32 => "index" Dictionary,
        /// Library, as `cublaslt`: joins `name_dim.name_id`.
        library_id: NameId => "id" Dictionary,
        /// Function that was called: joins `name_dim.name_id`.
        function_id: NameId => "id" Dictionary,
        /// Rows of the result.
        m: i64 => "count" Dictionary,
        /// Columns of the result.
        n: i64 => "count" Dictionary,
        /// Length of each sum.
        k: i64 => "count" Dictionary,
        /// Products in the call.
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
        /// Type of the sums, in the library's word: joins `name_dim.name_id`.
        compute_id: Opt<NameId> => "id" Dictionary,
        /// What is done to the result, in the library's word: joins `name_dim.name_id`. Null where nothing is.
        epilogue_id: Opt<NameId> => "id" Dictionary,
        /// Algorithm, tile and stages, in the library's words: joins `name_dim.name_id`.
        algorithm_id: Opt<NameId> => "id" Dictionary,
        /// Multiplications and additions: 2 m n k batch, four times that for complex numbers. Null where the number is too large to be true.
        flops: Opt<i64> => "FLOP" Dictionary,
        /// A, B and the result once each, without C. Null where a type is not known.
        bytes: Opt<i64> => "bytes" Dictionary,
        /// Kernel that ran it: row of the rank's `kernels`, from 0. Null where no timeline was joined.
        kernel_row: Opt<i32> => "index" Delta,
    }
}
