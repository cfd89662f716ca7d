//! Reading the tables of a run.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use arrow_array::{Array, Int32Array, RecordBatch};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
    RowSelection,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::PageIndexPolicy;
use parquet::file::statistics::Statistics;

use super::{Columnar, RANK, VERSION_KEY};
use crate::SCHEMA_VERSION;
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

trait Rows {
    fn table<T: Columnar>(&mut self, rank: i32, names: &mut NameLookup) -> Result<T, SchemaError>;
}

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

/// Rows decoded at once. A rank that is read in passing keeps one batch of every table in memory.
const BATCH: usize = 1 << 14;

#[derive(Debug, Clone, PartialEq, Eq)]
struct RankRows {
    rank: i32,
    rows: Range<usize>,
}

#[derive(Debug)]
pub(super) struct TableFile {
    table: &'static str,
    path: PathBuf,
    metadata: ArrowReaderMetadata,
    /// The same with the places of pages, which only reading a part of a row group needs.
    with_pages: OnceLock<ArrowReaderMetadata>,
}

impl TableFile {
    /// Reads the footer of a table's file; `None` where there is no such file.
    pub(crate) fn open(table: &'static str, path: &Path) -> Result<Option<Self>, SchemaError> {
        if !path.exists() {
            return Ok(None);
        }
        let metadata = load(path, PageIndexPolicy::Skip)?;
        let pairs = metadata.metadata().file_metadata().key_value_metadata();
        let version = pairs.into_iter().flatten().find(|pair| pair.key == VERSION_KEY);
        let found = version.and_then(|pair| pair.value.clone()).unwrap_or_else(|| "none".to_owned());
        let major = |version: &str| version.split('.').next().map(str::to_owned);
        if major(&found) != major(SCHEMA_VERSION) {
            return Err(SchemaError::Version { path: path.to_owned(), found, expected: SCHEMA_VERSION });
        }
        Ok(Some(TableFile { table, path: path.to_owned(), metadata, with_pages: OnceLock::new() }))
    }

    pub(crate) fn batches(&self) -> Result<ParquetRecordBatchReader, SchemaError> {
        self.build(self.builder(&self.metadata)?)
    }

    /// Some rows, batch by batch: only their row groups, and of these only their pages, are read.
    fn batches_of(&self, wanted: &[Range<usize>]) -> Result<ParquetRecordBatchReader, SchemaError> {
        let (mut groups, mut ranges, mut covered) = (Vec::new(), Vec::new(), 0);
        for (index, group) in self.groups() {
            let begin = covered;
            for rows in wanted {
                let (from, to) = (rows.start.max(group.start), rows.end.min(group.end));
                if from < to {
                    ranges.push(begin + from - group.start..begin + to - group.start);
                    covered = begin + group.len();
                }
            }
            if covered > begin {
                groups.push(index);
            }
        }
        let is_whole = ranges.iter().map(ExactSizeIterator::len).sum::<usize>() == covered;
        if is_whole {
            return self.build(self.builder(&self.metadata)?.with_row_groups(groups));
        }
        let metadata = match self.with_pages.get() {
            Some(metadata) => metadata,
            None => {
                let loaded = load(&self.path, PageIndexPolicy::Optional)?;
                self.with_pages.get_or_init(|| loaded)
            }
        };
        let selection = RowSelection::from_consecutive_ranges(ranges.into_iter(), covered);
        self.build(self.builder(metadata)?.with_row_groups(groups).with_row_selection(selection))
    }

    /// Where the rows of each rank are, in the order of the file. Only row groups with rows of several ranks are
    /// looked into, and of these only the one column.
    fn rank_rows(&self) -> Result<Vec<RankRows>, SchemaError> {
        let schema = self.metadata.metadata().file_metadata().schema_descr();
        let leaf = schema.columns().iter().position(|column| column.path().string() == RANK);
        let leaf = leaf.ok_or_else(|| self.no_rank())?;
        let mut found: Vec<RankRows> = Vec::new();
        for (index, rows) in self.groups() {
            let statistics = self.metadata.metadata().row_group(index).column(leaf).statistics();
            if let Some(Statistics::Int32(values)) = statistics
                && let (Some(&least), Some(greatest)) = (values.min_opt(), values.max_opt())
                && least == *greatest
            {
                extend(&mut found, least, rows);
                continue;
            }
            let mut at = rows.start;
            let only_rank = ProjectionMask::leaves(schema, [leaf]);
            let builder =
                self.builder(&self.metadata)?.with_row_groups(vec![index]).with_projection(only_rank);
            for batch in self.build(builder)? {
                let batch = batch.map_err(|error| self.error(ParquetError::from(error)))?;
                let column = batch.column_by_name(RANK).ok_or_else(|| self.no_rank())?;
                let ranks =
                    column.as_any().downcast_ref::<Int32Array>().filter(|ranks| ranks.null_count() == 0);
                for run in ranks.ok_or_else(|| self.no_rank())?.values().chunk_by(|a, b| a == b) {
                    extend(&mut found, run[0], at..at + run.len());
                    at += run.len();
                }
            }
        }
        Ok(found)
    }

    fn error(&self, source: ParquetError) -> SchemaError {
        SchemaError::parquet(&self.path)(source)
    }

    fn no_rank(&self) -> SchemaError {
        SchemaError::Column { table: self.table, column: RANK, expected: "Int32".to_owned() }
    }

    /// The row groups, each with its rows counted from the first of the file.
    fn groups(&self) -> impl Iterator<Item = (usize, Range<usize>)> {
        let groups = self.metadata.metadata().row_groups().iter().enumerate();
        groups.scan(0_usize, |start, (index, group)| {
            let rows = usize::try_from(group.num_rows()).unwrap_or(0);
            let range = *start..start.saturating_add(rows);
            *start = range.end;
            Some((index, range))
        })
    }

    fn builder(
        &self,
        metadata: &ArrowReaderMetadata,
    ) -> Result<ParquetRecordBatchReaderBuilder<File>, SchemaError> {
        // A reader moves the position of its file, so that each needs one of its own.
        let file = open(&self.path)?;
        Ok(ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata.clone()).with_batch_size(BATCH))
    }

    fn build(
        &self,
        builder: ParquetRecordBatchReaderBuilder<File>,
    ) -> Result<ParquetRecordBatchReader, SchemaError> {
        builder.build().map_err(|source| self.error(source))
    }
}

/// Adds rows of a rank; those that follow its last rows join them.
fn extend(found: &mut Vec<RankRows>, rank: i32, rows: Range<usize>) {
    match found.last_mut() {
        Some(last) if last.rank == rank => last.rows.end = rows.end,
        _ => found.push(RankRows { rank, rows }),
    }
}

fn open(path: &Path) -> Result<File, SchemaError> {
    File::open(path).map_err(SchemaError::io("cannot read", path))
}

fn load(path: &Path, pages: PageIndexPolicy) -> Result<ArrowReaderMetadata, SchemaError> {
    let options = ArrowReaderOptions::new().with_offset_index_policy(pages);
    ArrowReaderMetadata::load(&open(path)?, options).map_err(SchemaError::parquet(path))
}
