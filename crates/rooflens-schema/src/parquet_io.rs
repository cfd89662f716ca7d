//! Tables to Parquet and back.
//!
//! A file holds all ranks of a job; each rank is its own row groups, so that one rank can be read
//! without the others. `runs.parquet` is written last and marks the run as whole.

use std::collections::BTreeMap;
use std::fs::File;
use std::marker::PhantomData;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, Encoding as ParquetEncoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::statistics::Statistics;
use parquet::schema::types::ColumnPath;

use crate::SCHEMA_VERSION;
use crate::cell::NameLookup;
use crate::error::SchemaError;
use crate::names::{Names, stable_id};
use crate::note::Note;
use crate::run_dir::RunDir;
use crate::table::{Encoding, TableSpec};
use crate::tables::{
    KernelDim, KernelDimRow, NameDim, NameDimRow, NoteRow, NotesTable, RankTables, Ranks, RunRow, Runs,
    TraceMeta,
};

/// Rows a row group.
const ROW_GROUP: usize = 1 << 20;
/// Rows encoded at once: bounds the memory of writing.
const BATCH: usize = 1 << 16;
const VERSION_KEY: &str = "rooflens.schema_version";

/// A table as the `table!` macro makes it.
pub trait Columnar: Default {
    /// Name, meaning and columns.
    fn spec() -> TableSpec;
    /// How many rows there are.
    fn rows(&self) -> usize;
    /// Some rows as Arrow arrays, in column order.
    fn encode(&self, range: Range<usize>, names: &Names) -> Vec<ArrayRef>;
    /// Appends `rows` rows, fetching each column by name.
    fn decode(
        &mut self,
        rows: usize,
        column: &mut dyn FnMut(&'static str) -> Option<ArrayRef>,
        names: &NameLookup,
    ) -> Result<(), SchemaError>;
}

/// The Arrow schema of a table's file.
pub fn arrow_schema(spec: &TableSpec) -> Schema {
    let rank = spec.per_rank.then(|| Field::new("rank", DataType::Int32, false));
    Schema::new(rank.into_iter().chain(spec.columns.iter().map(|column| column.field())).collect::<Vec<_>>())
}

struct TableFile {
    path: PathBuf,
    schema: Arc<Schema>,
    writer: ArrowWriter<File>,
    per_rank: bool,
}

impl TableFile {
    fn create(path: PathBuf, spec: &TableSpec) -> Result<Self, SchemaError> {
        let schema = Arc::new(arrow_schema(spec));
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(3).unwrap_or_default()))
            .set_writer_version(WriterVersion::PARQUET_1_0)
            .set_max_row_group_row_count(Some(ROW_GROUP))
            .set_key_value_metadata(Some(vec![KeyValue::new(
                VERSION_KEY.to_owned(),
                SCHEMA_VERSION.to_owned(),
            )]));
        for column in spec.columns.iter().filter(|column| column.encoding == Encoding::Delta) {
            let path = ColumnPath::from(column.name);
            properties = properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, ParquetEncoding::DELTA_BINARY_PACKED);
        }
        let file = File::create(&path).map_err(|source| SchemaError::Io {
            action: "cannot write",
            path: path.clone(),
            source,
        })?;
        let writer = ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties.build()))
            .map_err(|source| SchemaError::Parquet { path: path.clone(), source })?;
        Ok(TableFile { path, schema, writer, per_rank: spec.per_rank })
    }

    fn write<T: Columnar>(&mut self, table: &T, rank: i32, names: &Names) -> Result<(), SchemaError> {
        self.append(table, rank, names)?;
        // A rank ends its row group, so that it can be read alone.
        self.writer.flush().map_err(|source| self.error(source))
    }

    fn append<T: Columnar>(&mut self, table: &T, rank: i32, names: &Names) -> Result<(), SchemaError> {
        let mut start = 0;
        while start < table.rows() {
            let end = (start + BATCH).min(table.rows());
            let rank: Option<ArrayRef> =
                self.per_rank.then(|| Arc::new(Int32Array::from(vec![rank; end - start])) as ArrayRef);
            let columns = rank.into_iter().chain(table.encode(start..end, names)).collect();
            let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(ParquetError::from);
            batch.and_then(|batch| self.writer.write(&batch)).map_err(|source| self.error(source))?;
            start = end;
        }
        Ok(())
    }

    fn error(&self, source: ParquetError) -> SchemaError {
        SchemaError::Parquet { path: self.path.clone(), source }
    }

    fn close(self) -> Result<(), SchemaError> {
        let path = self.path;
        self.writer.close().map(drop).map_err(|source| SchemaError::Parquet { path, source })
    }
}

/// Writes the tables of a run, rank by rank.
pub struct RunWriter {
    run: RunDir,
    files: BTreeMap<&'static str, TableFile>,
    names: BTreeMap<i64, Arc<str>>,
    kernels: BTreeMap<i64, KernelDimRow>,
}

impl RunWriter {
    /// Makes the run's folders and, if an older run lies there, removes its tables.
    pub fn create(run: &RunDir) -> Result<Self, SchemaError> {
        run.create()?;
        // First the file that marks a run as whole, then the rest.
        for name in std::iter::once("runs").chain(crate::tables::specs().iter().map(|spec| spec.name)) {
            let path = run.table(name);
            if path.exists() {
                std::fs::remove_file(&path).map_err(|source| SchemaError::Io {
                    action: "cannot replace",
                    path,
                    source,
                })?;
            }
        }
        Ok(RunWriter {
            run: run.clone(),
            files: BTreeMap::new(),
            names: BTreeMap::new(),
            kernels: BTreeMap::new(),
        })
    }

    /// Writes one rank.
    pub fn rank(&mut self, tables: &RankTables) -> Result<(), SchemaError> {
        for (_, text) in tables.names.iter() {
            self.names.entry(stable_id(text)).or_insert_with(|| Arc::from(text));
        }
        for i in 0..tables.kernel_dim.len() {
            if let Some(row) = tables.kernel_dim.row(i) {
                self.kernels.entry(row.kernel_id).or_insert(row);
            }
        }
        let mut ranks = Ranks::default();
        ranks.push(tables.meta.to_row());
        self.write(&ranks, tables)?;
        self.write(&tables.devices, tables)?;
        self.write(&tables.kernels, tables)?;
        self.write(&tables.ops, tables)?;
        self.write(&tables.api, tables)?;
        self.write(&tables.frames, tables)?;
        self.write(&tables.phases, tables)?;
        self.write(&tables.ranges, tables)?;
        self.write(&tables.memory, tables)?;
        self.write(&tables.memory_blocks, tables)?;
        self.write(&tables.collectives, tables)?;
        self.write(&tables.gemms, tables)?;
        self.write(&tables.engine_layers, tables)?;
        self.write(&tables.inferences, tables)?;
        self.write(&tables.comm_calls, tables)?;
        self.write(&tables.metric_samples, tables)
    }

    fn write<T: Columnar>(&mut self, table: &T, tables: &RankTables) -> Result<(), SchemaError> {
        if table.rows() == 0 {
            return Ok(());
        }
        let spec = T::spec();
        let file = match self.files.entry(spec.name) {
            std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::btree_map::Entry::Vacant(entry) => {
                entry.insert(TableFile::create(self.run.table(spec.name), &spec)?)
            }
        };
        file.write(table, tables.rank, &tables.names)
    }

    /// Writes what belongs to the whole run, and last of all the row that marks it as whole.
    pub fn finish(mut self, run: RunRow, notes: &[Note]) -> Result<(), SchemaError> {
        for file in std::mem::take(&mut self.files).into_values() {
            file.close()?;
        }
        let mut name_dim = NameDim::default();
        for (&name_id, name) in &self.names {
            name_dim.push(NameDimRow { name_id, name: name.to_string() });
        }
        let mut kernel_dim = KernelDim::default();
        std::mem::take(&mut self.kernels).into_values().for_each(|row| kernel_dim.push(row));
        let mut note_rows = NotesTable::default();
        for note in notes.iter().cloned() {
            let Note { stage, severity, code, source, count, message } = note;
            note_rows.push(NoteRow { stage, severity, code, source, count, message });
        }
        let mut runs = Runs::default();
        runs.push(run);
        self.whole(&name_dim)?;
        self.whole(&kernel_dim)?;
        self.whole(&note_rows)?;
        self.whole(&runs)
    }

    fn whole<T: Columnar>(&self, table: &T) -> Result<(), SchemaError> {
        write_table(&self.run, table)
    }
}

/// Writes a table that belongs to the whole run, and leaves the others as they are.
pub fn write_table<T: Columnar>(run: &RunDir, table: &T) -> Result<(), SchemaError> {
    let path = run.table(T::spec().name);
    if let Some(folder) = path.parent() {
        let io = |source| SchemaError::Io { action: "cannot make", path: folder.to_owned(), source };
        std::fs::create_dir_all(folder).map_err(io)?;
    }
    let mut file = TableFile::create(path, &T::spec())?;
    file.write(table, 0, &Names::default())?;
    file.close()
}

/// Writes one table to a file of any name, part by part. The file can be read once it is closed.
pub struct PartWriter<T> {
    file: TableFile,
    table: PhantomData<T>,
}

impl<T: Columnar> PartWriter<T> {
    /// Makes the file, or empties the one that is there.
    pub fn create(path: &Path) -> Result<Self, SchemaError> {
        Ok(PartWriter { file: TableFile::create(path.to_owned(), &T::spec())?, table: PhantomData })
    }

    /// Writes further rows.
    pub fn write(&mut self, rows: &T) -> Result<(), SchemaError> {
        self.file.append(rows, 0, &Names::default())
    }

    /// Writes what makes the file readable.
    pub fn close(self) -> Result<(), SchemaError> {
        self.file.close()
    }
}

/// Reads a table that belongs to no rank from a file of any name.
pub fn read_table<T: Columnar>(path: &Path) -> Result<T, SchemaError> {
    read(path, None, &NameLookup::default())
}

/// Reads the tables of a run, rank by rank.
pub struct RunReader {
    run: RunDir,
    names: Names,
    lookup: NameLookup,
    kernel_dim: KernelDim,
    ranks: Vec<i32>,
}

impl RunReader {
    /// Opens a run and reads what all ranks share.
    pub fn open(run: &RunDir) -> Result<Self, SchemaError> {
        let none = NameLookup::default();
        let name_dim: NameDim = read(&run.table("name_dim"), None, &none)?;
        let kernel_dim: KernelDim = read(&run.table("kernel_dim"), None, &none)?;
        let mut names = Names::default();
        let mut lookup = NameLookup::default();
        for (id, name) in name_dim.name_id.iter().zip(&name_dim.name) {
            lookup.insert(*id, names.add(name));
        }
        let ranks = rank_groups(&run.table("ranks"))?.into_iter().map(|(rank, _)| rank).collect();
        Ok(RunReader { run: run.clone(), names, lookup, kernel_dim, ranks })
    }

    /// The ranks, in the order they were written.
    pub fn ranks(&self) -> &[i32] {
        &self.ranks
    }

    /// The run's own row.
    pub fn run_row(&self) -> Result<Option<RunRow>, SchemaError> {
        let runs: Runs = read(&self.run.table("runs"), None, &self.lookup)?;
        Ok(runs.row(0))
    }

    /// The notes of the run.
    pub fn notes(&self) -> Result<Vec<Note>, SchemaError> {
        let table: NotesTable = read(&self.run.table("notes"), None, &self.lookup)?;
        let rows = (0..table.len()).filter_map(|i| table.row(i));
        Ok(rows
            .map(|NoteRow { stage, severity, code, source, count, message }| Note {
                stage,
                severity,
                code,
                source,
                count,
                message,
            })
            .collect())
    }

    /// All tables of one rank.
    pub fn rank(&self, rank: i32) -> Result<RankTables, SchemaError> {
        let ranks: Ranks = self.table(rank)?;
        let meta = ranks.row(0).map(|row| TraceMeta::from_row(rank, row)).unwrap_or_default();
        Ok(RankTables {
            rank,
            meta,
            names: self.names.clone(),
            kernel_dim: self.kernel_dim.clone(),
            devices: self.table(rank)?,
            kernels: self.table(rank)?,
            ops: self.table(rank)?,
            api: self.table(rank)?,
            frames: self.table(rank)?,
            phases: self.table(rank)?,
            ranges: self.table(rank)?,
            memory: self.table(rank)?,
            memory_blocks: self.table(rank)?,
            collectives: self.table(rank)?,
            gemms: self.table(rank)?,
            engine_layers: self.table(rank)?,
            inferences: self.table(rank)?,
            comm_calls: self.table(rank)?,
            metric_samples: self.table(rank)?,
        })
    }

    fn table<T: Columnar>(&self, rank: i32) -> Result<T, SchemaError> {
        read(&self.run.table(T::spec().name), Some(rank), &self.lookup)
    }
}

fn open(path: &Path) -> Result<ParquetRecordBatchReaderBuilder<File>, SchemaError> {
    let file = File::open(path).map_err(|source| SchemaError::Io {
        action: "cannot read",
        path: path.to_owned(),
        source,
    })?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file)
        .map_err(|source| SchemaError::Parquet { path: path.to_owned(), source })?;
    let pairs = builder.metadata().file_metadata().key_value_metadata();
    let version = pairs.into_iter().flatten().find(|pair| pair.key == VERSION_KEY);
    let found = version.and_then(|pair| pair.value.clone()).unwrap_or_else(|| "none".to_owned());
    let major = |version: &str| version.split('.').next().map(str::to_owned);
    if major(&found) != major(SCHEMA_VERSION) {
        return Err(SchemaError::Version { path: path.to_owned(), found, expected: SCHEMA_VERSION });
    }
    Ok(builder)
}

/// The row groups of each rank, in file order.
fn rank_groups(path: &Path) -> Result<Vec<(i32, Vec<usize>)>, SchemaError> {
    let mut groups: Vec<(i32, Vec<usize>)> = Vec::new();
    for (i, group) in open(path)?.metadata().row_groups().iter().enumerate() {
        let Some(Statistics::Int32(statistics)) = group.column(0).statistics() else { continue };
        let Some(&rank) = statistics.min_opt() else { continue };
        match groups.last_mut() {
            Some((last, indices)) if *last == rank => indices.push(i),
            _ => groups.push((rank, vec![i])),
        }
    }
    Ok(groups)
}

/// Reads a table, or one rank's rows of it. A table that was never written has no rows.
fn read<T: Columnar>(path: &Path, rank: Option<i32>, names: &NameLookup) -> Result<T, SchemaError> {
    let mut table = T::default();
    if !path.exists() {
        return Ok(table);
    }
    let mut builder = open(path)?;
    if let Some(rank) = rank {
        let groups =
            rank_groups(path)?.into_iter().filter(|(r, _)| *r == rank).flat_map(|(_, groups)| groups);
        builder = builder.with_row_groups(groups.collect());
    }
    let wrap = |source| SchemaError::Parquet { path: path.to_owned(), source };
    for batch in builder.with_batch_size(BATCH).build().map_err(wrap)? {
        let batch = batch.map_err(|error| wrap(ParquetError::from(error)))?;
        table.decode(batch.num_rows(), &mut |name| batch.column_by_name(name).cloned(), names)?;
    }
    Ok(table)
}
