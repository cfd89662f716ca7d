//! How files of a store are read: small ones whole, with one request.
//!
//! A file takes three or four requests otherwise: its last eight bytes, its footer, the index of its pages where there
//! is a condition, and its pages. In a store that is not compacted most files are small.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use bytes::Bytes;
use datafusion::common::Result;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::ParquetFileReaderFactory;
use datafusion::datasource::physical_plan::parquet::CachedParquetFileReaderFactory;
use datafusion::execution::cache::cache_manager::FileMetadataCache;
use datafusion::parquet::arrow::arrow_reader::ArrowReaderOptions;
use datafusion::parquet::arrow::async_reader::AsyncFileReader;
use datafusion::parquet::errors::{ParquetError, Result as ParquetResult};
use datafusion::parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};
use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder};
use futures::FutureExt;
use futures::future::BoxFuture;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use tokio::sync::OnceCell;

/// Files up to this size are read whole.
pub(crate) const SMALL_BYTES: u64 = 512 << 10;
/// So much is read from the end of larger ones first: of files of 10 MB, footer and index of pages are 70 kB.
const FOOTER_BYTES: usize = 128 << 10;

/// What is in a file, from the first time that somebody reads it.
type Content = OnceCell<Bytes>;

#[derive(Debug)]
pub(crate) struct FileReaders {
    objects: Arc<dyn ObjectStore>,
    large: CachedParquetFileReaderFactory,
    /// Small files that are being read: a scan makes a second reader of a file while it has the first.
    small: Mutex<HashMap<Path, Weak<Content>>>,
}

impl FileReaders {
    pub(crate) fn new(objects: Arc<dyn ObjectStore>, footers: Arc<FileMetadataCache>) -> Self {
        let large = CachedParquetFileReaderFactory::new(Arc::clone(&objects), footers);
        FileReaders { objects, large, small: Mutex::default() }
    }

    fn content(&self, location: &Path) -> Arc<Content> {
        let mut small = self.small.lock().unwrap_or_else(PoisonError::into_inner);
        let known = small.entry(location.clone()).or_default();
        known.upgrade().unwrap_or_else(|| {
            let content = Arc::default();
            *known = Arc::downgrade(&content);
            content
        })
    }
}

impl ParquetFileReaderFactory for FileReaders {
    fn create_reader(
        &self,
        partition_index: usize,
        file: PartitionedFile,
        _metadata_size_hint: Option<usize>,
        metrics: &ExecutionPlanMetricsSet,
    ) -> Result<Box<dyn AsyncFileReader + Send>> {
        let location = &file.object_meta.location;
        if file.object_meta.size > SMALL_BYTES {
            return self.large.create_reader(partition_index, file, Some(FOOTER_BYTES), metrics);
        }
        let scanned = MetricBuilder::new(metrics)
            .with_new_label("filename", location.to_string())
            .counter("bytes_scanned", partition_index);
        Ok(Box::new(SmallFile {
            objects: Arc::clone(&self.objects),
            location: location.clone(),
            bytes: file.object_meta.size,
            content: self.content(location),
            scanned,
        }))
    }
}

struct SmallFile {
    objects: Arc<dyn ObjectStore>,
    location: Path,
    bytes: u64,
    content: Arc<Content>,
    scanned: Count,
}

impl SmallFile {
    async fn content(&self) -> ParquetResult<&Bytes> {
        self.content.get_or_try_init(|| self.fetch()).await
    }

    async fn fetch(&self) -> ParquetResult<Bytes> {
        let fetched = async { self.objects.get(&self.location).await?.bytes().await };
        let content = fetched.await.map_err(|error| ParquetError::External(Box::new(error)))?;
        if content.len() as u64 != self.bytes {
            let why = format!("it has {} bytes, and {} were written", content.len(), self.bytes);
            return Err(self.damaged(&why));
        }
        self.scanned.add(content.len());
        Ok(content)
    }

    /// An error in the words of DataFusion's own reader, which name the file.
    fn damaged(&self, why: &str) -> ParquetError {
        ParquetError::General(format!("Failed to fetch metadata for file {}: {why}", self.location))
    }

    async fn slice(&self, range: Range<u64>) -> ParquetResult<Bytes> {
        let content = self.content().await?;
        let part = usize::try_from(range.start).ok().zip(usize::try_from(range.end).ok());
        match part.filter(|(start, end)| start <= end && *end <= content.len()) {
            Some((start, end)) => Ok(content.slice(start..end)),
            None => Err(ParquetError::EOF(format!("bytes {range:?} of {}", content.len()))),
        }
    }
}

impl AsyncFileReader for SmallFile {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, ParquetResult<Bytes>> {
        self.slice(range).boxed()
    }

    fn get_metadata<'a>(
        &'a mut self,
        options: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, ParquetResult<Arc<ParquetMetaData>>> {
        let policy = options.map_or(PageIndexPolicy::Skip, ArrowReaderOptions::column_index_policy);
        async move {
            let content = self.content().await?;
            let read = ParquetMetaDataReader::new().with_page_index_policy(policy).parse_and_finish(content);
            read.map(Arc::new).map_err(|error| self.damaged(&error.to_string()))
        }
        .boxed()
    }
}
