//! Many sorted files into few: rows in one order, memory bounded by a batch of each.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fs::File;

use arrow_array::{BooleanArray, RecordBatch, new_null_array};
use arrow_schema::ArrowError;
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use arrow_select::interleave::interleave_record_batch;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use crate::error::StoreError;
use crate::files::{SORTED_BY, TableWriter, WrittenFile, scratch};
use crate::sorting::{Keys, sorted};
use crate::source::{columns_of, plain, text};
use crate::tables::StoreTable;

/// Files that are merged at once; more are merged in several rounds.
const FILES: usize = 256;
/// Rows of a file; those beyond begin another.
const ROWS: u64 = 1 << 24;
/// Rows that are written at once.
const BATCH: usize = 1 << 16;
/// Rows that all inputs together may hold at a time.
const HELD: usize = 1 << 21;

pub(crate) struct Merge<'a> {
    pub(crate) table: &'static StoreTable,
    pub(crate) runs: usize,
    pub(crate) without: &'a BTreeSet<String>,
}

struct Cursor {
    reader: ParquetRecordBatchReader,
    keys: Keys,
    rows: usize,
    row: usize,
    slot: usize,
}

impl Merge<'_> {
    pub(crate) fn run(
        &self,
        mut inputs: Vec<File>,
        mut seen: impl FnMut(&RecordBatch),
    ) -> Result<Vec<WrittenFile>, StoreError> {
        for input in &mut inputs {
            self.bring_into_order(input)?;
        }
        while inputs.len() > FILES {
            let mut fewer = Vec::new();
            while !inputs.is_empty() {
                let rest = inputs.split_off(inputs.len().min(FILES));
                let merged = self.round(std::mem::replace(&mut inputs, rest), u64::MAX, &mut |_| {})?;
                fewer.extend(merged.into_iter().map(WrittenFile::into_file));
            }
            inputs = fewer;
        }
        self.round(inputs, ROWS, &mut seen)
    }

    /// Replaces a file whose rows come as a run has them by one in the order of the table. Such a file holds one run, in
    /// parts that fit into memory.
    fn bring_into_order(&self, file: &mut File) -> Result<(), StoreError> {
        let damaged = |error| StoreError::table("read", self.table.name, error);
        let again = file.try_clone().map_err(scratch)?;
        let builder = ParquetRecordBatchReaderBuilder::try_new(again).map_err(damaged)?;
        let metadata = builder.metadata().file_metadata().key_value_metadata();
        let order = metadata.into_iter().flatten().find(|entry| entry.key == SORTED_BY);
        if order.and_then(|entry| entry.value.as_deref()) == Some(self.table.sort.join(",").as_str()) {
            return Ok(());
        }
        let batches = self.all_batches(file.try_clone().map_err(scratch)?)?;
        let batch = concat_batches(&self.table.schema(), &batches);
        let batch = batch.map_err(|error| StoreError::table("sort", self.table.name, error))?;
        *file = write_sorted(self.table, 1, batch)?.into_file();
        Ok(())
    }

    fn all_batches(&self, file: File) -> Result<Vec<RecordBatch>, StoreError> {
        let mut reader = self.open(file, BATCH)?;
        let mut batches = Vec::new();
        while let Some(batch) = self.next_batch(&mut reader)? {
            batches.push(batch);
        }
        Ok(batches)
    }

    fn round(
        &self,
        inputs: Vec<File>,
        rows_per_file: u64,
        seen: &mut dyn FnMut(&RecordBatch),
    ) -> Result<Vec<WrittenFile>, StoreError> {
        let batch_rows = (HELD / inputs.len().max(1)).clamp(256, BATCH);
        let mut held: Vec<RecordBatch> = Vec::new();
        let mut cursors: Vec<Cursor> = Vec::new();
        for input in inputs {
            let mut reader = self.open(input, batch_rows)?;
            if let Some(batch) = self.next_batch(&mut reader)? {
                let (keys, rows) = (Keys::of(self.table, &batch), batch.num_rows());
                cursors.push(Cursor { reader, keys, rows, row: 0, slot: held.len() });
                held.push(batch);
            }
        }
        let mut heap = Heap::new(&cursors);
        let mut output = Output { merge: self, rows_per_file, writer: None, files: Vec::new() };
        let mut picked: Vec<(usize, usize)> = Vec::with_capacity(BATCH);
        while let Some(&first) = heap.order.first() {
            let cursor = &mut cursors[first];
            picked.push((cursor.slot, cursor.row));
            cursor.row += 1;
            if cursor.row == cursor.rows {
                match self.next_batch(&mut cursor.reader)? {
                    Some(batch) => {
                        cursor.keys = Keys::of(self.table, &batch);
                        (cursor.rows, cursor.row, cursor.slot) = (batch.num_rows(), 0, held.len());
                        held.push(batch);
                    }
                    None => drop(heap.order.swap_remove(0)),
                }
            }
            heap.sift(&cursors);
            if picked.len() == BATCH {
                output.write(&held, &picked, seen)?;
                picked.clear();
                // Batches that every row was taken of are no longer needed.
                held = heap.order.iter().map(|&at| held[cursors[at].slot].clone()).collect();
                heap.order.iter().enumerate().for_each(|(slot, &at)| cursors[at].slot = slot);
            }
        }
        if !picked.is_empty() {
            output.write(&held, &picked, seen)?;
        }
        output.finish()
    }

    fn open(&self, file: File, batch_rows: usize) -> Result<ParquetRecordBatchReader, StoreError> {
        columns_of(file, batch_rows, |name| self.table.position(name).is_some())
            .map_err(|error| StoreError::table("read", self.table.name, error))
    }

    /// The next rows that stay, with the columns of the table as it is today.
    fn next_batch(&self, reader: &mut ParquetRecordBatchReader) -> Result<Option<RecordBatch>, StoreError> {
        let damaged = |error: ArrowError| StoreError::table("read", self.table.name, error);
        for batch in reader.by_ref() {
            let mut batch = adapted(self.table, &batch.map_err(damaged)?).map_err(damaged)?;
            if let Some(runs) = text(&batch, "run_id").filter(|_| !self.without.is_empty()) {
                let stays: BooleanArray =
                    runs.iter().map(|run| run.map(|run| !self.without.contains(run))).collect();
                batch = filter_record_batch(&batch, &stays).map_err(damaged)?;
            }
            if batch.num_rows() > 0 {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }
}

/// The columns of a table out of a file that may be older: what it lacks is null.
fn adapted(table: &StoreTable, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let column = |column: &crate::StoreColumn| match batch.column_by_name(column.name) {
        Some(array) => plain(array),
        None => Ok(new_null_array(&column.value.data_type(), batch.num_rows())),
    };
    let columns = table.columns.iter().map(column).collect::<Result<Vec<_>, _>>()?;
    RecordBatch::try_new(table.schema(), columns)
}

struct Heap {
    order: Vec<usize>,
}

impl Heap {
    fn new(cursors: &[Cursor]) -> Self {
        let mut order: Vec<usize> = (0..cursors.len()).collect();
        order.sort_by(|&a, &b| compare(cursors, a, b));
        Heap { order }
    }

    /// Moves the first to its place; all others are at theirs.
    fn sift(&mut self, cursors: &[Cursor]) {
        let mut at = 0;
        loop {
            let children = [2 * at + 1, 2 * at + 2].into_iter().filter(|&child| child < self.order.len());
            let least = children.min_by(|&a, &b| compare(cursors, self.order[a], self.order[b]));
            match least {
                Some(child) if compare(cursors, self.order[child], self.order[at]) == Ordering::Less => {
                    self.order.swap(at, child);
                    at = child;
                }
                _ => return,
            }
        }
    }
}

/// Equal rows come in the order of their files, so that the result is the same each time.
fn compare(cursors: &[Cursor], a: usize, b: usize) -> Ordering {
    let (first, second) = (&cursors[a], &cursors[b]);
    first.keys.compare(first.row, &second.keys, second.row).then(a.cmp(&b))
}

/// Where merged rows go.
struct Output<'m, 'a> {
    merge: &'m Merge<'a>,
    rows_per_file: u64,
    writer: Option<TableWriter>,
    files: Vec<WrittenFile>,
}

impl Output<'_, '_> {
    fn write(
        &mut self,
        held: &[RecordBatch],
        picked: &[(usize, usize)],
        seen: &mut dyn FnMut(&RecordBatch),
    ) -> Result<(), StoreError> {
        let batches: Vec<&RecordBatch> = held.iter().collect();
        let batch = interleave_record_batch(&batches, picked);
        let batch = batch.map_err(|error| StoreError::table("merge", self.merge.table.name, error))?;
        seen(&batch);
        let writer = match &mut self.writer {
            Some(writer) => writer,
            None => self.writer.insert(TableWriter::sorted(self.merge.table, self.merge.runs)?),
        };
        writer.write(&batch)?;
        if writer.rows() >= self.rows_per_file {
            self.close()?;
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), StoreError> {
        if let Some(writer) = self.writer.take() {
            self.files.push(writer.finish()?);
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<WrittenFile>, StoreError> {
        self.close()?;
        Ok(self.files)
    }
}

pub(crate) fn write_as_it_is(
    table: &'static StoreTable,
    batch: &RecordBatch,
) -> Result<WrittenFile, StoreError> {
    let mut writer = TableWriter::as_it_is(table, batch)?;
    writer.write(batch)?;
    writer.finish()
}

/// Writes a table that is small enough for memory, in its order.
pub(crate) fn write_sorted(
    table: &'static StoreTable,
    runs: usize,
    batch: RecordBatch,
) -> Result<WrittenFile, StoreError> {
    let mut writer = TableWriter::sorted(table, runs)?;
    let batch = sorted(table, batch).map_err(|error| StoreError::table("sort", table.name, error))?;
    writer.write(&batch)?;
    writer.finish()
}

/// The rows of files, in memory.
pub fn read_all(table: &'static StoreTable, inputs: Vec<File>) -> Result<Vec<RecordBatch>, StoreError> {
    let merge = Merge { table, runs: 1, without: &BTreeSet::new() };
    let mut batches = Vec::new();
    for input in inputs {
        batches.append(&mut merge.all_batches(input)?);
    }
    Ok(batches)
}

/// One row for each kernel, of tables that may hold one several times.
pub(crate) fn distinct_kernels(batches: &[RecordBatch]) -> Result<Option<RecordBatch>, StoreError> {
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    let failed = |error| StoreError::table("merge", "kernel_dim", error);
    let mut first: std::collections::BTreeMap<i64, (usize, usize)> = std::collections::BTreeMap::new();
    for (at, batch) in batches.iter().enumerate() {
        let Some(ids) = batch.column_by_name("kernel_id") else { continue };
        let ids = ids.as_primitive::<Int64Type>();
        for (row, &id) in ids.values().iter().enumerate() {
            first.entry(id).or_insert((at, row));
        }
    }
    if first.is_empty() {
        return Ok(None);
    }
    let picked: Vec<(usize, usize)> = first.into_values().collect();
    let batches: Vec<&RecordBatch> = batches.iter().collect();
    interleave_record_batch(&batches, &picked).map(Some).map_err(failed)
}
