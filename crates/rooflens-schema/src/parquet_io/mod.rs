//! Tables to Parquet and back.
//!
//! A file holds the rows of all ranks, one rank after another. Row groups end by size, not where a rank ends: a
//! job of a thousand small ranks would otherwise be thousands of tiny row groups, whose headers take longer to
//! read than their rows. Where a rank's rows are follows from the statistics of the column `rank`, and, in row
//! groups that several ranks share, from the column itself ([`RunReader`]).
//!
//! `runs.parquet` is written last and marks the run as whole.

mod memory;
mod read;
mod write;

use std::ops::Range;

use arrow_array::ArrayRef;
use arrow_schema::{DataType, Field, Schema};

use crate::cell::{NameLookup, Rewording};
use crate::error::SchemaError;
use crate::names::Names;
use crate::table::TableSpec;

pub use memory::{MemoryTable, MemoryTables};
pub use read::{RankStream, RunReader, read_notes, read_table};
pub use write::{PartWriter, RunWriter, edit_run_row, write_notes, write_table};

const ROW_GROUP: usize = 1 << 20;
const VERSION_KEY: &str = "rooflens.schema_version";
const RANK: &str = "rank";

/// A table as the `table!` macro makes it.
pub trait Columnar: Default {
    /// Name of the table and of its file.
    const NAME: &'static str;
    /// Name, meaning and columns.
    fn spec() -> TableSpec;
    /// How many rows there are.
    fn rows(&self) -> usize;
    /// Puts other words in place of those the rows hold.
    fn reword(&mut self, rewording: &Rewording<'_>);
    /// Moves every time on the run's clock by `delta_ns`.
    fn shift(&mut self, delta_ns: i64);
    /// Some rows as Arrow arrays, in column order.
    fn encode(&self, range: Range<usize>, names: &Names) -> Vec<ArrayRef>;
    /// Appends `rows` rows, fetching each column by name.
    fn decode(
        &mut self,
        rows: usize,
        column: &mut dyn FnMut(&'static str) -> Option<ArrayRef>,
        names: &mut NameLookup,
    ) -> Result<(), SchemaError>;
}

/// The Arrow schema of a table's file.
pub fn arrow_schema(spec: &TableSpec) -> Schema {
    let rank = spec.per_rank.then(|| Field::new(RANK, DataType::Int32, false));
    Schema::new(rank.into_iter().chain(spec.columns.iter().map(|column| column.field())).collect::<Vec<_>>())
}
