//! Reading the tables of a run.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use parquet::errors::ParquetError;

use super::Columnar;
use super::rank_rows::{RankRows, TableFile};
use crate::cell::{NameLookup, StoredNames};
use crate::error::SchemaError;
use crate::note::Note;
use crate::run_dir::RunDir;
use crate::tables::{
    KernelDim, NameDim, NoteRow, NotesTable, RankTables, Ranks, RunRow, Runs, TableVisitorMut, TraceMeta,
    specs,
};

/// Reads a table that belongs to no rank from a file of any name. A file that is not there has no rows.
pub fn read_table<T: Columnar>(path: &Path) -> Result<T, SchemaError> {
    let mut table = T::default();
    if let Some(file) = TableFile::open(T::NAME, path)? {
        append(&mut table, &file, file.batches()?, &mut NameLookup::default())?;
    }
    Ok(table)
}

/// The notes of a run; none where none were written.
pub fn read_notes(run: &RunDir) -> Result<Vec<Note>, SchemaError> {
    let table: NotesTable = read_table(&run.table(NotesTable::NAME))?;
    let note = |row: NoteRow| {
        let NoteRow { stage, severity, code, source, count, message } = row;
        Note { stage, severity, code, source, count, message }
    };
    Ok((0..table.len()).filter_map(|row| table.row(row)).map(note).collect())
}

/// Reads the tables of a run: all ranks in turn ([`RunReader::each_rank`]), or one of them
/// ([`RunReader::rank`]). The footer of each file is read once.
pub struct RunReader {
    run: RunDir,
    stored: Arc<StoredNames>,
    kernel_dim: KernelDim,
    /// Row of `kernel_dim` by the id of the name.
    kernel_rows: HashMap<i64, usize, foldhash::fast::RandomState>,
    files: BTreeMap<&'static str, RankedFile>,
    ranks: Vec<i32>,
}

/// A table's file with rows of ranks.
struct RankedFile {
    file: TableFile,
    rows: Vec<RankRows>,
    /// Whether its ranks come in the order of the run, so that all can be read in one pass.
    is_in_order: bool,
}

impl RunReader {
    /// Opens a run and reads what all ranks share.
    pub fn open(run: &RunDir) -> Result<Self, SchemaError> {
        let name_dim: NameDim = read_table(&run.table(NameDim::NAME))?;
        let kernel_dim: KernelDim = read_table(&run.table(KernelDim::NAME))?;
        let mut files = BTreeMap::new();
        for spec in specs().into_iter().filter(|spec| spec.per_rank) {
            if let Some(file) = TableFile::open(spec.name, &run.table(spec.name))? {
                let rows = file.rank_rows()?;
                files.insert(spec.name, RankedFile { file, rows, is_in_order: false });
            }
        }
        let mut seen = BTreeSet::new();
        let listed = files.get(Ranks::NAME).map_or(&[][..], |file| &file.rows);
        let ranks: Vec<i32> = listed.iter().map(|rows| rows.rank).filter(|rank| seen.insert(*rank)).collect();
        for file in files.values_mut() {
            let mut order = ranks.iter();
            file.is_in_order = file.rows.iter().all(|rows| order.any(|rank| *rank == rows.rank));
        }
        let names = name_dim.name_id.into_iter().zip(name_dim.name);
        Ok(RunReader {
            run: run.clone(),
            stored: Arc::new(names.map(|(id, name)| (id, Arc::from(name))).collect()),
            kernel_rows: kernel_dim.kernel_id.iter().copied().zip(0..).collect(),
            kernel_dim,
            files,
            ranks,
        })
    }

    /// The ranks, in the order they were written.
    pub fn ranks(&self) -> &[i32] {
        &self.ranks
    }

    /// The run's own row.
    pub fn run_row(&self) -> Result<Option<RunRow>, SchemaError> {
        let runs: Runs = read_table(&self.run.table(Runs::NAME))?;
        Ok(runs.row(0))
    }

    /// The notes of the run.
    pub fn notes(&self) -> Result<Vec<Note>, SchemaError> {
        read_notes(&self.run)
    }

    /// All tables of one rank, without reading the rows of others.
    pub fn rank(&self, rank: i32) -> Result<RankTables, SchemaError> {
        self.assemble(rank, &mut Alone(self))
    }

    /// All tables of each rank, in the order they were written: each file is read once, from its first row to
    /// its last.
    pub fn each_rank(&self) -> RankStream<'_> {
        RankStream { reader: self, done: 0, cursors: BTreeMap::new() }
    }

    fn assemble(&self, rank: i32, from: &mut impl Rows) -> Result<RankTables, SchemaError> {
        let mut names = NameLookup::new(&self.stored);
        let ranks: Ranks = from.table(rank, &mut names)?;
        let meta = ranks.row(0).map(|row| TraceMeta::from_row(rank, row)).unwrap_or_default();
        let mut tables = RankTables { rank, meta, ..RankTables::default() };
        tables.visit_mut(&mut RankFiller { rank, from, names: &mut names })?;
        let mut rows: Vec<usize> = names.used().filter_map(|id| self.kernel_rows.get(&id).copied()).collect();
        rows.sort_unstable();
        rows.into_iter()
            .filter_map(|row| self.kernel_dim.row(row))
            .for_each(|row| tables.kernel_dim.push(row));
        tables.names = names.into_names();
        Ok(tables)
    }
}

/// Fills each table of one rank.
struct RankFiller<'a, R> {
    rank: i32,
    from: &'a mut R,
    names: &'a mut NameLookup,
}

impl<R: Rows> TableVisitorMut for RankFiller<'_, R> {
    fn table<T: Columnar>(&mut self, table: &mut T) -> Result<(), SchemaError> {
        *table = self.from.table(self.rank, self.names)?;
        Ok(())
    }
}

/// Where the rows of a rank come from.
trait Rows {
    fn table<T: Columnar>(&mut self, rank: i32, names: &mut NameLookup) -> Result<T, SchemaError>;
}

/// One rank, without the others.
struct Alone<'a>(&'a RunReader);

impl Rows for Alone<'_> {
    fn table<T: Columnar>(&mut self, rank: i32, names: &mut NameLookup) -> Result<T, SchemaError> {
        let mut table = T::default();
        let Some(RankedFile { file, rows, .. }) = self.0.files.get(T::NAME) else { return Ok(table) };
        let wanted: Vec<_> =
            rows.iter().filter(|rows| rows.rank == rank).map(|rows| rows.rows.clone()).collect();
        if !wanted.is_empty() {
            append(&mut table, file, file.batches_of(&wanted)?, names)?;
        }
        Ok(table)
    }
}

/// The ranks of a run, one after another.
pub struct RankStream<'a> {
    reader: &'a RunReader,
    done: usize,
    cursors: BTreeMap<&'static str, Cursor>,
}

/// How far a file was read.
struct Cursor {
    batches: ParquetRecordBatchReader,
    batch: Option<RecordBatch>,
    /// Rows of the batch that were taken.
    taken: usize,
    /// Ranks of the file that were taken.
    ranks: usize,
}

impl Iterator for RankStream<'_> {
    type Item = Result<RankTables, SchemaError>;

    fn next(&mut self) -> Option<Self::Item> {
        let rank = *self.reader.ranks.get(self.done)?;
        self.done += 1;
        Some(self.reader.assemble(rank, self))
    }
}

impl Rows for RankStream<'_> {
    fn table<T: Columnar>(&mut self, rank: i32, names: &mut NameLookup) -> Result<T, SchemaError> {
        let Some(ranked) = self.reader.files.get(T::NAME) else { return Ok(T::default()) };
        if !ranked.is_in_order {
            // The tables were rearranged by another tool.
            return Alone(self.reader).table(rank, names);
        }
        let cursor = match self.cursors.entry(T::NAME) {
            std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::btree_map::Entry::Vacant(entry) => {
                let batches = ranked.file.batches()?;
                entry.insert(Cursor { batches, batch: None, taken: 0, ranks: 0 })
            }
        };
        let mut table = T::default();
        if let Some(rows) = ranked.rows.get(cursor.ranks).filter(|rows| rows.rank == rank) {
            cursor.ranks += 1;
            cursor.take(rows.rows.len(), &ranked.file, &mut |batch| decode(&mut table, batch, names))?;
        }
        Ok(table)
    }
}

impl Cursor {
    /// Gives the next rows to `to`, batch by batch.
    fn take(
        &mut self,
        mut rows: usize,
        file: &TableFile,
        to: &mut dyn FnMut(&RecordBatch) -> Result<(), SchemaError>,
    ) -> Result<(), SchemaError> {
        while rows > 0 {
            let Some(batch) = &self.batch else {
                // Footers that promise more rows than there are belong to damaged files.
                let next = self.batches.next().ok_or_else(|| {
                    file.error(ParquetError::EOF("it has fewer rows than its footer says".to_owned()))
                })?;
                self.batch = Some(next.map_err(|error| file.error(ParquetError::from(error)))?);
                self.taken = 0;
                continue;
            };
            let count = rows.min(batch.num_rows() - self.taken);
            to(&batch.slice(self.taken, count))?;
            self.taken += count;
            rows -= count;
            if self.taken == batch.num_rows() {
                self.batch = None;
            }
        }
        Ok(())
    }
}

fn append<T: Columnar>(
    table: &mut T,
    file: &TableFile,
    batches: ParquetRecordBatchReader,
    names: &mut NameLookup,
) -> Result<(), SchemaError> {
    for batch in batches {
        decode(table, &batch.map_err(|error| file.error(ParquetError::from(error)))?, names)?;
    }
    Ok(())
}

fn decode<T: Columnar>(
    table: &mut T,
    batch: &RecordBatch,
    names: &mut NameLookup,
) -> Result<(), SchemaError> {
    table.decode(batch.num_rows(), &mut |name| batch.column_by_name(name).cloned(), names)
}
