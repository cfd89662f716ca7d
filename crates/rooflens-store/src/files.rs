//! Parquet files: written to this machine first, then carried to the store.

use std::fs::File;
use std::io::{Read, Seek};

use arrow_array::RecordBatch;
use bytes::Bytes;
use object_store::{MultipartUpload, ObjectStoreExt, PutPayload};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{
    EnabledStatistics, WriterProperties, WriterPropertiesBuilder, WriterVersion,
};
use parquet::schema::types::ColumnPath;
use sha2::{Digest, Sha256};

use crate::encoding::{self, ColumnEncoding};
use crate::error::StoreError;
use crate::layout::{Place, hex};
use crate::location::Store;
use crate::manifest::FileEntry;
use crate::tables::StoreTable;

/// Rows per row group: small enough that a query for one kernel passes over most of a file.
const ROW_GROUP: usize = 1 << 18;
/// Files up to this size are sent in one request; of larger ones so much at a time.
const PART: usize = 8 << 20;

/// Key in a file's metadata: the columns that its rows are sorted by.
pub(crate) const SORTED_BY: &str = "rooflens.sorted_by";

pub(crate) struct TableWriter {
    table: &'static StoreTable,
    writer: ArrowWriter<File>,
    rows: u64,
}

/// A file that is whole, on this machine.
pub struct WrittenFile {
    file: File,
    pub table: &'static StoreTable,
    pub bytes: u64,
    pub rows: u64,
    pub sha256: String,
}

impl TableWriter {
    /// Begins a file whose rows come in the order of the table. `runs` is how many runs it will hold.
    pub(crate) fn sorted(table: &'static StoreTable, runs: usize) -> Result<Self, StoreError> {
        let order = KeyValue::new(SORTED_BY.to_owned(), table.sort.join(","));
        TableWriter::begin(table, properties(table, runs, &encoding::usual(table)).metadata(order))
    }

    /// Begins a file of one run whose rows come as the run has them, encoded as suits the first of them.
    pub(crate) fn as_it_is(table: &'static StoreTable, first: &RecordBatch) -> Result<Self, StoreError> {
        TableWriter::begin(table, properties(table, 1, &encoding::smallest(table, first)))
    }

    fn begin(table: &'static StoreTable, properties: FileProperties) -> Result<Self, StoreError> {
        let file = tempfile::tempfile().map_err(scratch)?;
        let writer = ArrowWriter::try_new(file, table.schema(), Some(properties.build()));
        let writer = writer.map_err(|error| StoreError::table("write", table.name, error))?;
        Ok(TableWriter { table, writer, rows: 0 })
    }

    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), StoreError> {
        self.rows += batch.num_rows() as u64;
        self.writer.write(batch).map_err(|error| StoreError::table("write", self.table.name, error))
    }

    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    pub fn finish(self) -> Result<WrittenFile, StoreError> {
        let (table, rows) = (self.table, self.rows);
        let file = self.writer.into_inner();
        let mut file = file.map_err(|error| StoreError::table("write", table.name, error))?;
        let mut digest = Sha256::new();
        let mut buffer = vec![0; 1 << 16];
        let mut bytes = 0;
        file.rewind().map_err(scratch)?;
        loop {
            let read = file.read(&mut buffer).map_err(scratch)?;
            if read == 0 {
                break;
            }
            digest.update(&buffer[..read]);
            bytes += read as u64;
        }
        Ok(WrittenFile { file, table, bytes, rows, sha256: hex(&digest.finalize()) })
    }
}

struct FileProperties {
    builder: WriterPropertiesBuilder,
    metadata: Vec<KeyValue>,
}

impl FileProperties {
    fn metadata(mut self, entry: KeyValue) -> Self {
        self.metadata.push(entry);
        self
    }

    fn build(self) -> WriterProperties {
        self.builder.set_key_value_metadata(Some(self.metadata)).build()
    }
}

fn properties(
    table: &StoreTable,
    runs: usize,
    encodings: &[(&'static str, ColumnEncoding)],
) -> FileProperties {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3).unwrap_or_default()))
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_max_row_group_row_count(Some(ROW_GROUP));
    for (column, encoding) in encodings {
        properties = encoding.apply(properties, column);
    }
    // Where rows are sorted by kernel, statistics do not tell which runs a row group holds.
    if runs > 1 && table.sort.first() != Some(&"run_id") && table.position("run_id").is_some() {
        let path = ColumnPath::from("run_id");
        properties = properties
            .set_column_bloom_filter_enabled(path.clone(), true)
            .set_column_bloom_filter_max_ndv(path, runs as u64);
    }
    let version =
        KeyValue::new("rooflens.schema_version".to_owned(), rooflens_schema::SCHEMA_VERSION.to_owned());
    FileProperties { builder: properties, metadata: vec![version] }
}

impl WrittenFile {
    pub(crate) fn into_file(self) -> File {
        self.file
    }

    /// Its entry in a manifest, under a name that follows from its content.
    pub(crate) fn entry(&self, place: &Place, stem: &str) -> FileEntry {
        let folder = place.table(self.table.area, self.table.name);
        let short = self.sha256.get(..12).unwrap_or_default();
        FileEntry {
            table: self.table.name.to_owned(),
            path: format!("{folder}/{stem}-{short}.parquet"),
            bytes: self.bytes,
            rows: self.rows,
            sha256: self.sha256.clone(),
        }
    }

    /// Sends it to its place. Whatever lies there has the same bytes.
    pub(crate) async fn upload(mut self, store: &Store, entry: &FileEntry) -> Result<(), StoreError> {
        let path = store.place(&entry.path);
        let failed = |error| StoreError::access("write", &entry.path, &error);
        self.file.rewind().map_err(scratch)?;
        let mut part = read_part(&mut self.file)?;
        if part.len() < PART {
            return store.object_store().put(&path, PutPayload::from(part)).await.map(drop).map_err(failed);
        }
        let objects = store.object_store();
        let mut upload = objects.put_multipart(&path).await.map_err(failed)?;
        while !part.is_empty() {
            let sent = upload.put_part(PutPayload::from(part)).await;
            if let Err(error) = sent {
                // What was sent is of no use; that this may fail, too, changes nothing.
                drop(upload.abort().await);
                return Err(failed(error));
            }
            part = read_part(&mut self.file)?;
        }
        upload.complete().await.map(drop).map_err(failed)
    }
}

fn read_part(file: &mut File) -> Result<Bytes, StoreError> {
    let mut part = Vec::new();
    file.take(PART as u64).read_to_end(&mut part).map_err(scratch)?;
    Ok(Bytes::from(part))
}

pub(crate) fn scratch(source: std::io::Error) -> StoreError {
    StoreError::Scratch { path: std::env::temp_dir(), source }
}
