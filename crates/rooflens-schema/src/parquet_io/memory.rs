//! The tables of a run in memory: what its Parquet files hold, as Arrow.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::SchemaRef;

use super::read::TableFile;
use super::write::{SharedRows, each_batch, notes_table};
use super::{Columnar, arrow_schema};
use crate::error::SchemaError;
use crate::names::Names;
use crate::note::Note;
use crate::run_id::{ContentHash, RunId};
use crate::tables::{RankTables, Ranks, RunRow, Runs, TableVisitor, specs};

/// A table: its rows in parts.
#[derive(Debug, Clone)]
pub struct MemoryTable {
    /// Its columns.
    pub schema: SchemaRef,
    /// Its rows.
    pub batches: Vec<RecordBatch>,
}

impl MemoryTable {
    /// Reads a Parquet file of a run.
    pub fn read(path: &Path) -> Result<Self, SchemaError> {
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        let known = specs().into_iter().find(|spec| spec.name == name).map_or("table", |spec| spec.name);
        let missing = || SchemaError::io("cannot read", path)(std::io::ErrorKind::NotFound.into());
        let reader = TableFile::open(known, path)?.ok_or_else(missing)?.batches()?;
        let schema = reader.schema();
        let batches = reader.map(|batch| batch.map_err(Into::into)).collect::<Result<Vec<_>, _>>();
        Ok(MemoryTable { schema, batches: batches.map_err(SchemaError::parquet(path))? })
    }
}

/// The tables of a run by name. Like the files of a run: a table without rows is left out, except those of the run.
#[derive(Debug, Clone, Default)]
pub struct MemoryTables(pub BTreeMap<&'static str, MemoryTable>);

impl MemoryTables {
    /// The tables of ranks, with the row of the run that has this id.
    pub fn of_ranks(
        ranks: &[RankTables],
        run: impl FnOnce(RunId) -> RunRow,
        notes: &[Note],
    ) -> Result<Self, SchemaError> {
        let mut tables = MemoryTables::default();
        let mut shared = SharedRows::default();
        for rank in ranks {
            shared.rank(rank);
            let mut own = Ranks::default();
            own.push(rank.meta.to_row());
            let mut adder = RankAdder { tables: &mut tables, shared: &mut shared, rank };
            adder.table(&own)?;
            rank.visit(&mut adder)?;
        }
        let mut runs = Runs::default();
        runs.push(run(shared.content_id()));
        let (names, kernels) = shared.into_tables();
        tables.whole(&names)?;
        tables.whole(&kernels)?;
        tables.whole(&notes_table(notes))?;
        tables.whole(&runs)?;
        Ok(tables)
    }

    fn whole<T: Columnar>(&mut self, table: &T) -> Result<(), SchemaError> {
        self.add(table, 0, &Names::default(), None)
    }

    fn add<T: Columnar>(
        &mut self,
        table: &T,
        rank: i32,
        names: &Names,
        content: Option<&mut ContentHash>,
    ) -> Result<(), SchemaError> {
        let spec = T::spec();
        let MemoryTable { schema, batches } = self
            .0
            .entry(T::NAME)
            .or_insert_with(|| MemoryTable { schema: Arc::new(arrow_schema(&spec)), batches: Vec::new() });
        let rank = spec.per_rank.then_some(rank);
        let keep = |batch| {
            batches.push(batch);
            Ok(())
        };
        each_batch(table, schema, rank, names, content, keep)
            .map_err(SchemaError::parquet(Path::new(T::NAME)))
    }
}

struct RankAdder<'a> {
    tables: &'a mut MemoryTables,
    shared: &'a mut SharedRows,
    rank: &'a RankTables,
}

impl TableVisitor for RankAdder<'_> {
    fn table<T: Columnar>(&mut self, table: &T) -> Result<(), SchemaError> {
        if table.rows() == 0 {
            return Ok(());
        }
        self.tables.add(table, self.rank.rank, &self.rank.names, self.shared.hash_of::<T>())
    }
}
