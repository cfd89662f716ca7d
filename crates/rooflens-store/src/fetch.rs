//! A run out of a store: its tables as a run directory, so that whatever reads one reads it.
//!
//! What stayed on the machine of the run stays unknown: operators, frames, annotations. Names of phases are the words
//! of what they do.

use std::collections::BTreeSet;
use std::fs::File;
use std::sync::Arc;

use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int32Type, Int64Type};
use arrow_array::{
    ArrayRef, BooleanArray, Int32Array, Int64Array, RecordBatch, StringArray, UInt32Array, new_null_array,
};
use arrow_schema::{ArrowError, DataType, Schema};
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use arrow_select::take::take_record_batch;
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use rooflens_schema::parquet_io::{arrow_schema, write_notes, write_table};
use rooflens_schema::tables::{KernelDim, KernelDimRow, NameDim, NameDimRow, PhaseKind, Runs};
use rooflens_schema::{Note, RunDir, Severity, Stage, stable_id};
use serde_json::{Map, Value as Json};

use crate::error::StoreError;
use crate::layout::{Place, StoreArea};
use crate::location::Store;
use crate::merge::read_all;
use crate::snapshot::PartitionFiles;
use crate::source::text;
use crate::tables::{StoreTable, table, tables};
use crate::upkeep::StoredRun;

/// Tables whose rows name things by ids of names that are not in a store.
const NAMELESS: [&str; 2] = ["collectives", "notes"];

/// What there was of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchedRun {
    /// Its kernels.
    pub kernels: usize,
    /// Whether its events were dropped when their time was over.
    pub events_dropped: bool,
}

/// What whoever reads the run must know.
fn from_a_store() -> Note {
    Note {
        stage: Stage::Ingest,
        severity: Severity::Warning,
        code: "from_store".to_owned(),
        source: String::new(),
        count: 1,
        message: "the run comes from a store, which keeps no operators, runtime calls and annotations: where a step \
                  begins, why the device was idle, and advice that follows from that can differ from those of the run \
                  directory"
            .to_owned(),
    }
}

impl Store {
    /// Writes the tables of a run to a folder, and answers how much of it there was.
    pub async fn fetch(&self, run: &StoredRun, to: &RunDir) -> Result<FetchedRun, StoreError> {
        let place = Place::new(&run.tenant, &run.day)?;
        let lost = || StoreError::NoSuchRun { why: format!("the store has no run {}", run.entry.run_id) };
        let partition = self.partition(&place).await?.ok_or_else(lost)?;
        let files = partition.files().await?;
        to.create()?;
        let specs = rooflens_schema::tables::specs();
        let mut kernel_rows = 0;
        for table in
            tables().iter().filter(|table| table.area == StoreArea::Events && !NAMELESS.contains(&table.name))
        {
            let failed = |error: ArrowError| StoreError::table("write", table.name, error);
            let rows = self.rows_of(&files, table, &run.entry.run_id).await?;
            let Some(spec) = specs.iter().find(|spec| spec.name == table.name) else { continue };
            let schema = Arc::new(arrow_schema(spec));
            if table.name == "kernels" {
                kernel_rows = rows.num_rows();
            }
            if rows.num_rows() > 0 {
                let rows = in_order_of_run(table, rows).map_err(failed)?;
                write(&to.table(table.name), &as_run_table(&rows, &schema).map_err(failed)?)?;
            }
        }
        // Without kernels there is no trace: a load test, or what only ran on the host.
        if kernel_rows > 0 {
            let kernels = self.kernel_dim(&files).await?;
            write_table(to, &names(&kernels))?;
            write_table(to, &kernels)?;
            write_notes(to, &[from_a_store()])?;
        }
        let row = row(&run.entry.row).map_err(|error| StoreError::table("write", "runs", error))?;
        write(&to.table("runs"), &row)?;
        Ok(FetchedRun { kernels: kernel_rows, events_dropped: kernel_rows == 0 && files.events_dropped() })
    }

    async fn rows_of(
        &self,
        files: &PartitionFiles,
        table: &'static StoreTable,
        run: &str,
    ) -> Result<RecordBatch, StoreError> {
        let failed = |error: ArrowError| StoreError::table("read", table.name, error);
        let mut kept = Vec::new();
        for batch in read_all(table, self.fetched(files, table).await?)? {
            let ids = text(&batch, "run_id").unwrap_or_else(|| StringArray::from(vec![""; batch.num_rows()]));
            let is_meant: BooleanArray = ids.iter().map(|id| Some(id == Some(run))).collect();
            kept.push(filter_record_batch(&batch, &is_meant).map_err(failed)?);
        }
        concat_batches(&table.schema(), &kept).map_err(failed)
    }

    async fn kernel_dim(&self, files: &PartitionFiles) -> Result<KernelDim, StoreError> {
        let mut dim = KernelDim::default();
        let Some(table) = table("kernel_dim") else { return Ok(dim) };
        let mut seen = BTreeSet::new();
        for batch in read_all(table, self.fetched(files, table).await?)? {
            let word = |name: &str, row: usize| {
                use arrow_array::Array;
                text(&batch, name)
                    .filter(|column| column.is_valid(row))
                    .map(|column| column.value(row).to_owned())
            };
            let Some(ids) = batch.column_by_name("kernel_id") else { continue };
            for (row, &kernel_id) in ids.as_primitive::<Int64Type>().values().iter().enumerate() {
                if seen.insert(kernel_id) {
                    dim.push(KernelDimRow {
                        kernel_id,
                        name: word("name", row).unwrap_or_default(),
                        short_name: word("short_name", row).unwrap_or_default(),
                        class: word("class", row).unwrap_or_default(),
                        library: word("library", row),
                        dtype: word("dtype", row),
                    });
                }
            }
        }
        Ok(dim)
    }
}

fn names(kernels: &KernelDim) -> NameDim {
    let mut names = NameDim::default();
    let phases = PhaseKind::ALL.iter().map(|kind| kind.as_str());
    for name in phases.chain(kernels.name.iter().map(String::as_str)).collect::<BTreeSet<_>>() {
        names.push(NameDimRow { name_id: stable_id(name), name: name.to_owned() });
    }
    names
}

/// Rows as a run has them: by rank, then device, stream and time, or by their own ids.
fn in_order_of_run(table: &StoreTable, rows: RecordBatch) -> Result<RecordBatch, ArrowError> {
    let order: &[&str] = match table.name {
        "kernels" => &["rank", "device", "stream", "ts_ns"],
        "phases" => &["rank", "phase_id"],
        _ => table.sort,
    };
    let number = |name: &str, row: usize| {
        let column = rows.column_by_name(name)?;
        match column.data_type() {
            DataType::Int32 => Some(i64::from(column.as_primitive::<Int32Type>().value(row))),
            DataType::Int64 => Some(column.as_primitive::<Int64Type>().value(row)),
            _ => None,
        }
    };
    let mut indices: Vec<u32> = (0..u32::try_from(rows.num_rows()).unwrap_or(u32::MAX)).collect();
    indices
        .sort_by_cached_key(|&row| order.iter().map(|name| number(name, row as usize)).collect::<Vec<_>>());
    take_record_batch(&rows, &UInt32Array::from(indices))
}

/// The columns of a run's table; what is not in the store is null, or empty.
fn as_run_table(rows: &RecordBatch, schema: &Arc<Schema>) -> Result<RecordBatch, ArrowError> {
    let count = rows.num_rows();
    let mut columns: Vec<ArrayRef> = Vec::new();
    for field in schema.fields() {
        let found = rows.column_by_name(field.name());
        columns.push(match (field.name().as_str(), field.data_type(), found) {
            ("name_id", _, _) => {
                let kinds = text(rows, "kind").unwrap_or_else(|| StringArray::from(vec![""; count]));
                Arc::new(kinds.iter().map(|kind| kind.map(stable_id)).collect::<Int64Array>())
            }
            (_, DataType::Dictionary(..), found) => {
                let words = found.map(|array| array.as_string::<i32>().clone());
                let words = words.unwrap_or_else(|| StringArray::from(vec![""; count]));
                let mut builder = StringDictionaryBuilder::<Int8Type>::new();
                words.iter().for_each(|word| builder.append_option(word));
                Arc::new(builder.finish())
            }
            (_, _, Some(array)) => Arc::clone(array),
            (_, kind, None) if field.is_nullable() => new_null_array(kind, count),
            ("properties", ..) => Arc::new(StringArray::from(vec!["[]"; count])),
            (_, DataType::Utf8, None) => Arc::new(StringArray::from(vec![""; count])),
            (_, DataType::Int32, None) => Arc::new(Int32Array::from(vec![0; count])),
            (_, DataType::Boolean, None) => Arc::new(BooleanArray::from(vec![false; count])),
            (_, _, None) => Arc::new(Int64Array::from(vec![0; count])),
        });
    }
    RecordBatch::try_new(Arc::clone(schema), columns)
}

fn write(path: &std::path::Path, batch: &RecordBatch) -> Result<(), StoreError> {
    let file = File::create(path).map_err(|source| StoreError::Scratch { path: path.to_owned(), source })?;
    let version =
        KeyValue::new("rooflens.schema_version".to_owned(), rooflens_schema::SCHEMA_VERSION.to_owned());
    let properties = WriterProperties::builder().set_key_value_metadata(Some(vec![version])).build();
    let failed = |error| StoreError::table("write", path.display(), error);
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).map_err(failed)?;
    writer.write(batch).map_err(failed)?;
    writer.close().map(drop).map_err(failed)
}

fn row(known: &Map<String, Json>) -> Result<RecordBatch, ArrowError> {
    let number = |name: &str| known.get(name).and_then(Json::as_i64);
    let degrees: Map<String, Json> = ["tp", "pp", "dp", "ep"]
        .iter()
        .filter_map(|&name| Some((name.to_owned(), Json::from(number(name)?))))
        .collect();
    let metrics =
        known.get("metrics").filter(|metrics| metrics.as_object().is_some_and(|all| !all.is_empty()));
    let schema = Arc::new(arrow_schema(&Runs::spec()));
    let mut columns: Vec<ArrayRef> = Vec::new();
    for field in schema.fields() {
        let name = field.name().as_str();
        let absent = (!field.is_nullable()).then_some(0);
        columns.push(match (name, field.data_type()) {
            ("parallelism", _) if !degrees.is_empty() => {
                Arc::new(StringArray::from(vec![Json::Object(degrees.clone()).to_string()]))
            }
            ("metrics", _) => Arc::new(StringArray::from(vec![metrics.map(Json::to_string)])),
            ("base_unix_ns", _) => Arc::new(Int64Array::from(vec![number("start_unix_ns")])),
            (_, DataType::Int64) => Arc::new(Int64Array::from(vec![number(name).or(absent)])),
            (_, DataType::Int32) => {
                let small = number(name).or(absent).and_then(|number| i32::try_from(number).ok());
                Arc::new(Int32Array::from(vec![small]))
            }
            _ => {
                let word = known.get(name).and_then(Json::as_str);
                Arc::new(StringArray::from(vec![word.or((!field.is_nullable()).then_some(""))]))
            }
        });
    }
    RecordBatch::try_new(schema, columns)
}
