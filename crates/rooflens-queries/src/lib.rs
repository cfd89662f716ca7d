#![doc = include_str!("../README.md")]

mod dialect;
mod error;
mod expand;
mod header;
mod load;
mod parameter;
mod query;
mod table;
mod views;

pub use dialect::Dialect;
pub use error::{QueryError, UnknownQuery};
pub use header::{QueryColumn, QueryJudge};
pub use load::{LoadEngine, load};
pub use parameter::{ParameterKind, QueryParameter};
pub use query::{NamedQuery, all, find};
pub use table::{ColumnDef, FileRef, SqlType, TableDef};
pub use views::views;
