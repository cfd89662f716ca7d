//! A table of the store, as DataFusion scans it.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, DataFusionError, Result, Statistics, project_schema};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::object_store::ObjectStoreUrl;
use datafusion::datasource::physical_plan::{
    FileGroup, FileGroupPartitioner, FileScanConfigBuilder, ParquetSource,
};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use object_store::ObjectMeta;
use rooflens_store::{Snapshot, StoreArea, StoreTable};

use crate::notes::QueryNotes;
use crate::reader::{FileReaders, SMALL_BYTES};
use crate::types::TextType;
use crate::{partitions, types};

/// A table: the files that count in one snapshot of the store.
#[derive(Debug)]
pub(crate) struct Table {
    name: String,
    schema: TableSchema,
    objects: ObjectStoreUrl,
    snapshot: Snapshot,
    /// Whether it holds events, which may be gone before the day is.
    is_event: bool,
    notes: QueryNotes,
}

impl Table {
    pub(crate) fn new(
        table: &StoreTable,
        objects: ObjectStoreUrl,
        snapshot: Snapshot,
        texts: TextType,
        notes: QueryNotes,
    ) -> Self {
        let schema = TableSchema::builder(types::read_as(&table.schema(), texts))
            .with_table_partition_cols(partitions::fields())
            .build();
        let is_event = table.area == StoreArea::Events;
        Table { name: table.name.to_owned(), schema, objects, snapshot, is_event, notes }
    }

    async fn files(&self, session: &dyn Session, filters: &[Expr]) -> Result<Vec<PartitionedFile>> {
        let needed = partitions::needed(session, self.snapshot.partitions(), filters)?;
        let read = self.snapshot.files_of(needed.iter()).await;
        let read = read.map_err(|error| DataFusionError::External(Box::new(error)))?;
        let unknown = Statistics::new_unknown(self.schema.file_schema());
        let mut files = Vec::new();
        for (partition, of_partition) in &read {
            self.notes.reads(&self.name, partition, of_partition, self.is_event);
            for file in of_partition.files.iter().filter(|file| file.table == self.name) {
                let statistics = Statistics {
                    num_rows: Precision::Exact(as_usize(file.rows)),
                    total_byte_size: Precision::Inexact(as_usize(file.bytes)),
                    ..unknown.clone()
                };
                let meta = ObjectMeta {
                    location: file.path.clone(),
                    last_modified: Default::default(),
                    size: file.bytes,
                    e_tag: None,
                    version: None,
                };
                let file = PartitionedFile::new_from_meta(meta)
                    .with_partition_values(partitions::values(partition))
                    .with_statistics(Arc::new(statistics));
                files.push(file);
            }
        }
        Ok(files)
    }

    /// What is known of all files together, without opening one: rows, and the range of days and tenants. It answers
    /// `count(*)` and `max(day)`, and tells the planner which side of a join is the smaller.
    fn statistics(&self, files: &[PartitionedFile]) -> Statistics {
        let of_files = || files.iter().filter_map(|file| file.statistics.as_deref());
        let mut all = Statistics::new_unknown(self.schema.file_schema());
        all.num_rows =
            of_files().map(|file| file.num_rows).fold(Precision::Exact(0), |sum, rows| sum.add(&rows));
        all.total_byte_size = of_files()
            .map(|file| file.total_byte_size)
            .fold(Precision::Inexact(0), |sum, bytes| sum.add(&bytes));
        for column in 0..partitions::COLUMNS.len() {
            let values = || files.iter().filter_map(|file| file.partition_values.get(column));
            let smallest = values().min_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
            let largest = values().max_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
            let exact = |value: Option<&_>| value.cloned().map_or(Precision::Absent, Precision::Exact);
            all.column_statistics.push(ColumnStatistics {
                null_count: Precision::Exact(0),
                min_value: exact(smallest),
                max_value: exact(largest),
                ..ColumnStatistics::new_unknown()
            });
        }
        all
    }
}

#[async_trait]
impl TableProvider for Table {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.schema.table_schema())
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let decide = |filter: &&Expr| match partitions::decides(filter) {
            true => TableProviderFilterPushDown::Exact,
            false => TableProviderFilterPushDown::Inexact,
        };
        Ok(filters.iter().map(decide).collect())
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let files = self.files(session, filters).await?;
        if files.is_empty() {
            let schema = project_schema(&self.schema(), projection)?;
            return Ok(Arc::new(EmptyExec::new(schema)));
        }
        let statistics = self.statistics(&files);
        let runtime = session.runtime_env();
        let footers = runtime.cache_manager.get_file_metadata_cache();
        let readers = FileReaders::new(runtime.object_store(&self.objects)?, footers);
        let source = ParquetSource::new(self.schema.clone())
            .with_table_parquet_options(session.default_table_options().parquet)
            .with_parquet_file_reader_factory(Arc::new(readers));
        let scan = FileScanConfigBuilder::new(self.objects.clone(), Arc::new(source))
            .with_file_groups(by_size(files, session.config().target_partitions()))
            .with_statistics(statistics)
            .with_projection_indices(projection.cloned())?
            .with_limit(limit)
            .build();
        Ok(DataSourceExec::from_data_source(scan))
    }
}

/// Files in groups of about the same size. Large ones are cut into ranges; small ones are read whole, so that each of
/// them belongs to one group: the largest first, each to the group that has least.
fn by_size(files: Vec<PartitionedFile>, groups: usize) -> Vec<FileGroup> {
    let is_small = |file: &PartitionedFile| file.object_meta.size <= SMALL_BYTES;
    let (mut small, large): (Vec<_>, Vec<_>) = files.into_iter().partition(is_small);
    small.sort_by(|a, b| b.object_meta.size.cmp(&a.object_meta.size).then_with(|| a.path().cmp(b.path())));
    let large = [FileGroup::new(large)];
    let partitioner = FileGroupPartitioner::new().with_target_partitions(groups.max(1));
    let cut = partitioner.with_repartition_file_min_size(0).repartition_file_groups(&large);
    let bytes = |files: &[PartitionedFile]| files.iter().map(PartitionedFile::effective_size).sum();
    let mut loads: Vec<(u64, Vec<PartitionedFile>)> =
        cut.into_iter().flatten().map(FileGroup::into_inner).map(|files| (bytes(&files), files)).collect();
    loads.resize_with(groups.max(1), Default::default);
    for file in small {
        if let Some(least) = loads.iter_mut().min_by_key(|(bytes, _)| *bytes) {
            least.0 += file.object_meta.size;
            least.1.push(file);
        }
    }
    loads.into_iter().filter(|(_, files)| !files.is_empty()).map(|(_, files)| FileGroup::new(files)).collect()
}

fn as_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_files_belong_to_one_group_and_large_ones_are_shared() {
        let small = (0..9).map(|file| PartitionedFile::new(format!("small-{file}"), SMALL_BYTES - file));
        let large = PartitionedFile::new("large", 7 * SMALL_BYTES);
        for groups in [1, 2, 3, 7, 100] {
            let files: Vec<PartitionedFile> = small.clone().chain([large.clone()]).collect();
            let parts: Vec<Vec<PartitionedFile>> =
                by_size(files, groups).into_iter().map(FileGroup::into_inner).collect();
            let of = |name: &str| -> Vec<u64> {
                let parts = parts.iter().flatten().filter(|part| part.path().as_ref() == name);
                parts.map(PartitionedFile::effective_size).collect()
            };
            for file in 0..9 {
                assert_eq!(of(&format!("small-{file}")), [SMALL_BYTES - file], "in {groups} groups");
            }
            assert_eq!(of("large").iter().sum::<u64>(), 7 * SMALL_BYTES);
            assert!(parts.len() <= groups && parts.iter().all(|part| !part.is_empty()));
        }
    }
}
