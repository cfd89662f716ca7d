//! An opened file of a table, and where in it the rows of each rank are.

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use arrow_array::{Array, Int32Array};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
    RowSelection,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::PageIndexPolicy;
use parquet::file::statistics::Statistics;

use super::{RANK, VERSION_KEY};
use crate::SCHEMA_VERSION;
use crate::error::SchemaError;

/// Rows decoded at once. A rank that is read in passing keeps one batch of every table in memory.
const BATCH: usize = 1 << 14;

/// Consecutive rows of one rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RankRows {
    pub(crate) rank: i32,
    pub(crate) rows: Range<usize>,
}

/// A table's file whose footer was read.
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

    /// All rows, batch by batch.
    pub(crate) fn batches(&self) -> Result<ParquetRecordBatchReader, SchemaError> {
        self.build(self.builder(&self.metadata)?)
    }

    /// Some rows, batch by batch: only their row groups, and of these only their pages, are read.
    pub(crate) fn batches_of(
        &self,
        wanted: &[Range<usize>],
    ) -> Result<ParquetRecordBatchReader, SchemaError> {
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
    pub(crate) fn rank_rows(&self) -> Result<Vec<RankRows>, SchemaError> {
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

    /// What went wrong in this file.
    pub(crate) fn error(&self, source: ParquetError) -> SchemaError {
        SchemaError::Parquet { path: self.path.clone(), source }
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
    File::open(path).map_err(|source| SchemaError::Io {
        action: "cannot read",
        path: path.to_owned(),
        source,
    })
}

fn load(path: &Path, pages: PageIndexPolicy) -> Result<ArrowReaderMetadata, SchemaError> {
    let options = ArrowReaderOptions::new().with_offset_index_policy(pages);
    ArrowReaderMetadata::load(&open(path)?, options)
        .map_err(|source| SchemaError::Parquet { path: path.to_owned(), source })
}
