//! Writing the tables of a run.

use std::collections::BTreeMap;
use std::fs::File;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, RecordBatch};
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding as ParquetEncoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::schema::types::ColumnPath;

use super::{Columnar, ROW_GROUP, VERSION_KEY, arrow_schema, read_table};
use crate::SCHEMA_VERSION;
use crate::error::SchemaError;
use crate::names::Names;
use crate::note::Note;
use crate::run_dir::RunDir;
use crate::run_id::{ContentHash, RunId};
use crate::table::{Encoding, TableSpec};
use crate::tables::{
    KernelDim, KernelDimRow, NameDim, NameDimRow, NoteRow, NotesTable, RankTables, Ranks, RunRow, Runs,
    TableVisitor,
};

/// Rows encoded at once: bounds the memory of writing.
const BATCH: usize = 1 << 16;

struct TableFile {
    path: PathBuf,
    schema: SchemaRef,
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
        let file = File::create(&path).map_err(SchemaError::io("cannot write", &path))?;
        let writer = ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties.build()))
            .map_err(SchemaError::parquet(&path))?;
        Ok(TableFile { path, schema, writer, per_rank: spec.per_rank })
    }

    fn append<T: Columnar>(
        &mut self,
        table: &T,
        rank: i32,
        names: &Names,
        content: Option<&mut ContentHash>,
    ) -> Result<(), SchemaError> {
        let rank = self.per_rank.then_some(rank);
        each_batch(table, &self.schema, rank, names, content, |batch| self.writer.write(&batch))
            .map_err(SchemaError::parquet(&self.path))
    }

    fn close(self) -> Result<(), SchemaError> {
        self.writer.close().map(drop).map_err(SchemaError::parquet(&self.path))
    }
}

/// Gives the rows of a table to `take`, part by part, with a column of their rank where they have one. `content` takes
/// in what they hold.
pub(super) fn each_batch<T: Columnar>(
    table: &T,
    schema: &SchemaRef,
    rank: Option<i32>,
    names: &Names,
    mut content: Option<&mut ContentHash>,
    mut take: impl FnMut(RecordBatch) -> Result<(), ParquetError>,
) -> Result<(), ParquetError> {
    let mut start = 0;
    while start < table.rows() {
        let end = (start + BATCH).min(table.rows());
        let columns = table.encode(start..end, names);
        if let Some(content) = &mut content {
            columns.iter().for_each(|column| content.array(column));
        }
        let rank = rank.map(|rank| Arc::new(Int32Array::from(vec![rank; end - start])) as ArrayRef);
        let columns = rank.into_iter().chain(columns).collect();
        take(RecordBatch::try_new(Arc::clone(schema), columns)?)?;
        start = end;
    }
    Ok(())
}

/// What all ranks of a run share: names, and an id that follows from the rows.
#[derive(Default)]
pub(super) struct SharedRows {
    names: BTreeMap<i64, Arc<str>>,
    kernels: BTreeMap<i64, KernelDimRow>,
    content: ContentHash,
}

impl SharedRows {
    pub(super) fn rank(&mut self, tables: &RankTables) {
        for (id, text) in tables.names.stable_ids().iter().zip(tables.names.texts()) {
            self.names.entry(*id).or_insert_with(|| Arc::clone(text));
        }
        for i in 0..tables.kernel_dim.len() {
            if let Some(row) = tables.kernel_dim.row(i) {
                self.kernels.entry(row.kernel_id).or_insert(row);
            }
        }
        // What a file is called is not what it holds.
        let meta = &tables.meta;
        for number in [i64::from(tables.rank), meta.base_unix_ns.unwrap_or(i64::MIN), meta.events] {
            self.content.number(number as u64);
        }
    }

    /// Adds the rows of a table to the id, as whoever hashes them. The row of the rank itself has the name of a file.
    pub(super) fn hash_of<T: Columnar>(&mut self) -> Option<&mut ContentHash> {
        if T::NAME == Ranks::NAME {
            return None;
        }
        self.content.bytes(T::NAME.as_bytes());
        Some(&mut self.content)
    }

    /// The id of the ranks so far, whatever their files are called.
    pub(super) fn content_id(&self) -> RunId {
        RunId::from_content(self.content.finish())
    }

    pub(super) fn into_tables(self) -> (NameDim, KernelDim) {
        let mut name_dim = NameDim::default();
        for (&name_id, name) in &self.names {
            name_dim.push(NameDimRow { name_id, name: name.to_string() });
        }
        let mut kernel_dim = KernelDim::default();
        self.kernels.into_values().for_each(|row| kernel_dim.push(row));
        (name_dim, kernel_dim)
    }
}

/// Writes the tables of a run, rank by rank.
pub struct RunWriter {
    run: RunDir,
    files: BTreeMap<&'static str, TableFile>,
    shared: SharedRows,
}

impl RunWriter {
    /// Makes the run's folders and, if an older run lies there, removes its tables.
    pub fn create(run: &RunDir) -> Result<Self, SchemaError> {
        run.create()?;
        // First the file that marks a run as whole, then the rest.
        for name in std::iter::once("runs").chain(crate::tables::specs().iter().map(|spec| spec.name)) {
            let path = run.table(name);
            if path.exists() {
                std::fs::remove_file(&path).map_err(SchemaError::io("cannot replace", &path))?;
            }
        }
        Ok(RunWriter { run: run.clone(), files: BTreeMap::new(), shared: SharedRows::default() })
    }

    /// Writes one rank.
    pub fn rank(&mut self, tables: &RankTables) -> Result<(), SchemaError> {
        self.shared.rank(tables);
        let mut ranks = Ranks::default();
        ranks.push(tables.meta.to_row());
        self.write(&ranks, tables)?;
        tables.visit(&mut RankWriter { run: self, tables })
    }

    fn write<T: Columnar>(&mut self, table: &T, tables: &RankTables) -> Result<(), SchemaError> {
        if table.rows() == 0 {
            return Ok(());
        }
        let file = match self.files.entry(T::NAME) {
            std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::btree_map::Entry::Vacant(entry) => {
                entry.insert(TableFile::create(self.run.table(T::NAME), &T::spec())?)
            }
        };
        file.append(table, tables.rank, &tables.names, self.shared.hash_of::<T>())
    }

    /// An id that follows from the rows of the ranks written so far, whatever their files are called.
    pub fn content_id(&self) -> RunId {
        self.shared.content_id()
    }

    /// Takes over what another run has besides the tables of its ranks and those that [`RunWriter::finish`] writes: its
    /// requests, its counters, and tables of later versions.
    pub fn carry_over(&self, from: &RunDir) -> Result<(), SchemaError> {
        let specs = crate::tables::specs();
        let own = [NameDim::NAME, KernelDim::NAME, NotesTable::NAME, Runs::NAME];
        let is_written =
            |name: &str| own.contains(&name) || specs.iter().any(|spec| spec.per_rank && spec.name == name);
        let runs = from.table(Runs::NAME);
        let Some(folder) = runs.parent() else { return Ok(()) };
        let entries = std::fs::read_dir(folder).map_err(SchemaError::io("cannot read", folder))?;
        for path in entries.flatten().map(|entry| entry.path()) {
            let Some(name) = path.file_stem().and_then(|name| name.to_str()) else { continue };
            if path.extension().is_some_and(|extension| extension == "parquet") && !is_written(name) {
                let to = self.run.table(name);
                std::fs::copy(&path, &to).map_err(SchemaError::io("cannot write", &to))?;
            }
        }
        Ok(())
    }

    /// Writes what belongs to the whole run, and last of all the row that marks it as whole.
    pub fn finish(mut self, run: RunRow, notes: &[Note]) -> Result<(), SchemaError> {
        for file in std::mem::take(&mut self.files).into_values() {
            file.close()?;
        }
        let (name_dim, kernel_dim) = std::mem::take(&mut self.shared).into_tables();
        let mut runs = Runs::default();
        runs.push(run);
        write_table(&self.run, &name_dim)?;
        write_table(&self.run, &kernel_dim)?;
        write_notes(&self.run, notes)?;
        write_table(&self.run, &runs)
    }
}

struct RankWriter<'a> {
    run: &'a mut RunWriter,
    tables: &'a RankTables,
}

impl TableVisitor for RankWriter<'_> {
    fn table<T: Columnar>(&mut self, table: &T) -> Result<(), SchemaError> {
        self.run.write(table, self.tables)
    }
}

/// Writes a table that belongs to the whole run, and leaves the others as they are.
pub fn write_table<T: Columnar>(run: &RunDir, table: &T) -> Result<(), SchemaError> {
    let path = run.table(T::spec().name);
    make_parent(&path)?;
    let mut file = TableFile::create(path, &T::spec())?;
    file.append(table, 0, &Names::default(), None)?;
    file.close()
}

/// Writes the notes of a run in place of those that it had.
pub fn write_notes(run: &RunDir, notes: &[Note]) -> Result<(), SchemaError> {
    write_table(run, &notes_table(notes))
}

pub(super) fn notes_table(notes: &[Note]) -> NotesTable {
    let mut rows = NotesTable::default();
    for note in notes.iter().cloned() {
        let Note { stage, severity, code, source, count, message } = note;
        rows.push(NoteRow { stage, severity, code, source, count, message });
    }
    rows
}

fn make_parent(path: &Path) -> Result<(), SchemaError> {
    let Some(folder) = path.parent() else { return Ok(()) };
    std::fs::create_dir_all(folder).map_err(SchemaError::io("cannot make", folder))
}

/// Changes the row of a run, once more is known of it. A run without a trace has none yet: it gets one of this kind.
pub fn edit_run_row(run: &RunDir, kind: &str, edit: impl FnOnce(&mut RunRow)) -> Result<(), SchemaError> {
    let path = run.table(Runs::NAME);
    let known = match path.is_file() {
        true => read_table::<Runs>(&path)?.row(0),
        false => None,
    };
    let mut row = known.unwrap_or_else(|| RunRow::new(kind));
    edit(&mut row);
    let mut runs = Runs::default();
    runs.push(row);
    make_parent(&path)?;
    // Its file marks the run as whole: there is always one.
    let part = path.with_extension("part");
    let mut file = TableFile::create(part.clone(), &Runs::spec())?;
    file.append(&runs, 0, &Names::default(), None)?;
    file.close()?;
    std::fs::rename(&part, &path).map_err(SchemaError::io("cannot replace", &path))
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
        self.file.append(rows, 0, &Names::default(), None)
    }

    /// Writes what makes the file readable.
    pub fn close(self) -> Result<(), SchemaError> {
        self.file.close()
    }
}
