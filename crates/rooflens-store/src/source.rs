//! The tables of a run, as a store takes them.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int8Type;
use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray, new_null_array};
use arrow_schema::{ArrowError, DataType};
use arrow_select::concat::concat_batches;
use arrow_select::take::take;
use foldhash::{HashMap, HashMapExt};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::errors::ParquetError;
use rooflens_schema::RunDir;

use crate::error::StoreError;
use crate::tables::StoreTable;

/// Rows that are written at once, and sorted at once when they are compacted. More become several files: memory stays bounded.
const CHUNK: usize = 1 << 20;
/// Rows that are read at once.
const BATCH: usize = 1 << 16;

/// The words of the column `phase`, by rank and id of the phase.
pub(crate) struct PhaseWords {
    kinds: HashMap<(i32, i32), Arc<str>>,
}

/// What it is for an activity of no phase.
pub(crate) const NO_PHASE: &str = "none";

impl PhaseWords {
    /// Those of a run; none where it has no phases.
    pub fn read(run: &RunDir) -> Result<Self, StoreError> {
        let mut kinds = HashMap::new();
        let path = run.table("phases");
        if path.is_file() {
            for batch in reader(&path, &["rank", "phase_id", "kind"])? {
                let batch = batch.map_err(|error| StoreError::table("read", path.display(), error))?;
                let (Some(rank), Some(id), Some(kind)) =
                    (int(&batch, "rank"), int(&batch, "phase_id"), text(&batch, "kind"))
                else {
                    continue;
                };
                let mut words: HashMap<String, Arc<str>> = HashMap::new();
                for row in 0..batch.num_rows() {
                    let word = kind.value(row);
                    let word = words.entry(word.to_owned()).or_insert_with(|| Arc::from(word)).clone();
                    kinds.insert((rank.value(row), id.value(row)), word);
                }
            }
        }
        Ok(PhaseWords { kinds })
    }

    fn column(&self, batch: &RecordBatch) -> ArrayRef {
        let (Some(rank), Some(id)) = (int(batch, "rank"), int(batch, "phase_id")) else {
            return Arc::new(StringArray::from(vec![NO_PHASE; batch.num_rows()]));
        };
        let word = |row: usize| {
            let phase = id.is_valid(row).then(|| self.kinds.get(&(rank.value(row), id.value(row)))).flatten();
            Some(phase.map_or(NO_PHASE, |word| &**word))
        };
        Arc::new((0..batch.num_rows()).map(word).collect::<StringArray>())
    }
}

/// Reads a table of a run in the columns that a store keeps, in parts of bounded size.
pub(crate) fn each_chunk(
    run: &RunDir,
    run_id: &str,
    table: &'static StoreTable,
    phases: &PhaseWords,
    mut take: impl FnMut(RecordBatch) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let path = run.table(table.name);
    if !path.is_file() {
        return Ok(());
    }
    let names: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
    let damaged = |error: ArrowError| StoreError::table("read", path.display(), error);
    let mut batches = Vec::new();
    let mut rows = 0;
    for batch in reader(&path, &names)? {
        let batch = stored(&batch.map_err(damaged)?, run_id, table, phases).map_err(damaged)?;
        rows += batch.num_rows();
        batches.push(batch);
        if rows >= CHUNK {
            take(concat_batches(&table.schema(), &batches).map_err(damaged)?)?;
            batches.clear();
            rows = 0;
        }
    }
    if rows > 0 {
        take(concat_batches(&table.schema(), &batches).map_err(damaged)?)?;
    }
    Ok(())
}

/// A batch of a run's table with the columns of the store's.
fn stored(
    batch: &RecordBatch,
    run_id: &str,
    table: &StoreTable,
    phases: &PhaseWords,
) -> Result<RecordBatch, ArrowError> {
    let mut columns = Vec::with_capacity(table.columns.len());
    for column in &table.columns {
        columns.push(match (column.name, batch.column_by_name(column.name)) {
            ("run_id", _) => Arc::new(StringArray::from(vec![run_id; batch.num_rows()])) as ArrayRef,
            ("phase", None) if table.name == "kernels" => phases.column(batch),
            (_, Some(array)) => plain(array)?,
            (_, None) => new_null_array(&column.value.data_type(), batch.num_rows()),
        });
    }
    RecordBatch::try_new(table.schema(), columns)
}

/// An array without a dictionary: not every engine reads those.
pub(crate) fn plain(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    match array.data_type() {
        DataType::Dictionary(key, _) if **key == DataType::Int8 => {
            let words = array.as_dictionary::<Int8Type>();
            take(words.values(), words.keys(), None)
        }
        _ => Ok(Arc::clone(array)),
    }
}

fn reader(path: &Path, names: &[&str]) -> Result<ParquetRecordBatchReader, StoreError> {
    let damaged = |error: &dyn std::fmt::Display| StoreError::table("read", path.display(), error);
    let file = File::open(path).map_err(|error| damaged(&error))?;
    columns_of(file, BATCH, |name| names.contains(&name)).map_err(|error| damaged(&error))
}

pub(crate) fn columns_of(
    file: File,
    batch_rows: usize,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<ParquetRecordBatchReader, ParquetError> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(file)?;
    let fields = builder.schema().fields();
    let wanted: Vec<usize> = (0..fields.len()).filter(|&at| is_wanted(fields[at].name())).collect();
    let mask = ProjectionMask::roots(builder.parquet_schema(), wanted);
    builder.with_projection(mask).with_batch_size(batch_rows).build()
}

pub(crate) fn int(batch: &RecordBatch, name: &str) -> Option<Int32Array> {
    batch.column_by_name(name)?.as_primitive_opt().cloned()
}

pub(crate) fn big(batch: &RecordBatch, name: &str) -> Option<Int64Array> {
    batch.column_by_name(name)?.as_primitive_opt().cloned()
}

/// A column of text, whether or not it has a dictionary.
pub(crate) fn text(batch: &RecordBatch, name: &str) -> Option<StringArray> {
    plain(batch.column_by_name(name)?).ok()?.as_string_opt::<i32>().cloned()
}
