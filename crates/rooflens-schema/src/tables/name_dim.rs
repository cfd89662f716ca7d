//! What the ids of all other names stand for.

use crate::table::table;

table! {
    /// Any other name: operators, Python frames, annotations, module paths, shapes.
    NameDim(NameDimRow) = "name_dim", per_rank: false {
        /// 64-bit FNV-1a of the name, the same in every run.
        name_id: i64 => "id" Dictionary,
        /// The text.
        name: String => "text" Dictionary,
    }
}
