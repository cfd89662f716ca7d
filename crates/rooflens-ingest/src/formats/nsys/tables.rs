//! What `nsys export --type parquetdir` and `--type arrowdir` write: a folder with a file for each table of the
//! SQLite export, in Parquet or as an Arrow stream. The tables that are read are put into a database in memory, so
//! that one reader serves all three.

use std::fs::File;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch, types};
use arrow_ipc::reader::StreamReader;
use arrow_schema::{ArrowError, DataType};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use rusqlite::Connection;
use rusqlite::types::Value;

use crate::artefact::Probe;
use crate::guard::guarded;

const READ: &[&str] = &[
    "StringIds",
    "NVTX_EVENTS",
    "OSRT_API",
    "PROFILER_OVERHEAD",
    "DIAGNOSTIC_EVENT",
    "CUDA_GPU_MEMORY_USAGE_EVENTS",
    "META_DATA_EXPORT",
    "EXPORT_META_DATA",
    "TARGET_INFO_SESSION_START_TIME",
    "TARGET_INFO_CUDA_DEVICE",
    "TARGET_INFO_GPU",
    "TARGET_INFO_GPU_METRICS",
];
const COUNTED: &[&str] = &[
    "SAMPLING_CALLCHAINS",
    "COMPOSITE_EVENTS",
    "SCHED_EVENTS",
    "CUBLAS_EVENTS",
    "CUDNN_EVENTS",
    "MPI_COLLECTIVES_EVENTS",
    "GPU_METRICS",
];

/// The table that a file is named after, if it is one that is read.
fn table(name: &str) -> Option<&str> {
    let table = name.strip_suffix(".parquet").or_else(|| name.strip_suffix(".arrow"))?;
    let plain = table.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let prefixed = ["CUPTI_ACTIVITY_KIND_", "ENUM_"].iter().any(|prefix| table.starts_with(prefix));
    (plain && (prefixed || READ.contains(&table) || COUNTED.contains(&table))).then_some(table)
}

/// Whether a file is a table of such a folder.
pub fn is_one(probe: &Probe) -> bool {
    // A stream of Arrow begins with the mark that a message follows.
    let begins = probe.head.starts_with(b"PAR1") || probe.head.starts_with(&[0xff; 4]);
    begins && table(&probe.name).is_some()
}

fn name(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

/// Keeps one item of each folder: its strings, which every folder has.
pub fn keep_one<T>(items: &mut Vec<T>, path: &dyn Fn(&T) -> Option<&Path>) {
    let folder = |item: &T| {
        let path = path(item)?;
        table(name(path)?)?;
        Some((path.parent()?.to_owned(), path.extension()?.to_owned()))
    };
    let mut kept = std::collections::HashSet::new();
    items.retain(|item| folder(item).is_none_or(|folder| kept.insert(folder)));
}

/// Whether a file is a table of such a folder that is not read.
pub fn is_beside(path: &Path) -> bool {
    let Some(extension) = path.extension().filter(|end| *end == "parquet" || *end == "arrow") else {
        return false;
    };
    path.with_file_name("StringIds").with_extension(extension).is_file()
}

/// The tables of the folder of a file, in a database; and what was damaged.
pub fn load(file: &Path) -> rusqlite::Result<(Connection, Vec<String>)> {
    let mut connection = Connection::open_in_memory()?;
    let mut damaged = Vec::new();
    let folder = file.parent().unwrap_or(Path::new("."));
    let inside = std::fs::read_dir(if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
    let mut paths: Vec<PathBuf> =
        inside.into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension() == file.extension());
    paths.sort();
    let transaction = connection.transaction()?;
    for path in &paths {
        let Some(table) = name(path).and_then(table) else { continue };
        let mut loading = Loading { connection: &transaction, table, columns: None };
        let read = guarded(|| batches(path, &mut |batch| loading.add(batch)));
        if let Err(error) = read.unwrap_or_else(|| Err("its lengths or types are invalid".into())) {
            damaged.push(format!("{table} is damaged: {error}; records are missing"));
        }
    }
    transaction.commit()?;
    Ok((connection, damaged))
}

type Failure = Box<dyn std::error::Error>;

fn batches(path: &Path, take: &mut dyn FnMut(&RecordBatch) -> rusqlite::Result<()>) -> Result<(), Failure> {
    let file = File::open(path)?;
    let each: Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>>> =
        match path.extension().is_some_and(|end| end == "parquet") {
            true => Box::new(ParquetRecordBatchReaderBuilder::try_new(file)?.build()?),
            false => Box::new(StreamReader::try_new_buffered(file, None)?),
        };
    for batch in each {
        take(&batch?)?;
    }
    Ok(())
}

struct Loading<'c> {
    connection: &'c Connection,
    table: &'c str,
    /// Places of the columns that are taken, and the statement for a row of them.
    columns: Option<(Vec<usize>, String)>,
}

impl Loading<'_> {
    fn add(&mut self, batch: &RecordBatch) -> rusqlite::Result<()> {
        if self.columns.is_none() {
            self.columns = Some(self.create(batch)?);
        }
        let Some((columns, insert)) = &self.columns else { return Ok(()) };
        let mut statement = self.connection.prepare(insert)?;
        let cells: Vec<Cells<'_>> = columns
            .iter()
            .filter_map(|at| batch.columns().get(*at))
            .map(|column| Cells::of(column.as_ref()))
            .collect();
        for row in 0..batch.num_rows() {
            let mut values: Vec<Value> = cells.iter().map(|cells| cells.value(row)).collect();
            // A table that is only counted has one column of nothing; a batch may lack what the first had.
            values.resize(columns.len().max(1), Value::Null);
            statement.execute(rusqlite::params_from_iter(values))?;
        }
        Ok(())
    }

    fn create(&self, batch: &RecordBatch) -> rusqlite::Result<(Vec<usize>, String)> {
        let counted = COUNTED.contains(&self.table);
        let schema = batch.schema();
        let mut seen = std::collections::HashSet::new();
        let mut places = Vec::new();
        let mut names = Vec::new();
        for (at, field) in schema.fields().iter().enumerate() {
            // Names become part of a statement.
            let plain = field.name().bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            if !counted && plain && seen.insert(field.name().to_ascii_lowercase()) {
                // Strings are asked for by `rowid`, which is the number of the row only under this type.
                let key = if field.name() == "id" { " INTEGER PRIMARY KEY" } else { "" };
                names.push(format!("\"{}\"{key}", field.name()));
                places.push(at);
            }
        }
        if names.is_empty() {
            names.push("record".to_owned());
        }
        let marks = vec!["?"; names.len()].join(", ");
        self.connection.execute(&format!("CREATE TABLE \"{}\" ({})", self.table, names.join(", ")), [])?;
        // A number that stands twice would end the table; the first stands.
        Ok((places, format!("INSERT OR IGNORE INTO \"{}\" VALUES ({marks})", self.table)))
    }
}

/// A column, and where each of its rows stands in its dictionary, if it has one.
struct Cells<'b> {
    values: &'b dyn Array,
    rows: &'b dyn Array,
    keys: Option<Vec<usize>>,
}

impl<'b> Cells<'b> {
    fn of(column: &'b dyn Array) -> Self {
        match column.as_any_dictionary_opt() {
            Some(dictionary) if !dictionary.values().is_empty() => Cells {
                values: dictionary.values().as_ref(),
                rows: column,
                keys: Some(dictionary.normalized_keys()),
            },
            _ => Cells { values: column, rows: column, keys: None },
        }
    }

    fn value(&self, row: usize) -> Value {
        match &self.keys {
            _ if self.rows.is_null(row) => Value::Null,
            None => value(self.values, row),
            Some(keys) => keys.get(row).map_or(Value::Null, |at| value(self.values, *at)),
        }
    }
}

/// A cell as SQLite has it. Types that no export has are null.
fn value(column: &dyn Array, row: usize) -> Value {
    if column.is_null(row) {
        return Value::Null;
    }
    macro_rules! whole {
        ($type:ty) => {
            Value::Integer(column.as_primitive::<$type>().value(row) as i64)
        };
    }
    match column.data_type() {
        DataType::Int8 => whole!(types::Int8Type),
        DataType::Int16 => whole!(types::Int16Type),
        DataType::Int32 => whole!(types::Int32Type),
        DataType::Int64 => whole!(types::Int64Type),
        DataType::UInt8 => whole!(types::UInt8Type),
        DataType::UInt16 => whole!(types::UInt16Type),
        DataType::UInt32 => whole!(types::UInt32Type),
        // SQLite's whole numbers have a sign: the bits stay.
        DataType::UInt64 => whole!(types::UInt64Type),
        DataType::Boolean => Value::Integer(column.as_boolean().value(row).into()),
        DataType::Float32 => Value::Real(column.as_primitive::<types::Float32Type>().value(row).into()),
        DataType::Float64 => Value::Real(column.as_primitive::<types::Float64Type>().value(row)),
        DataType::Utf8 => Value::Text(column.as_string::<i32>().value(row).to_owned()),
        DataType::LargeUtf8 => Value::Text(column.as_string::<i64>().value(row).to_owned()),
        _ => Value::Null,
    }
}
