//! Bare DataFusion over the files of a store, to compare `rooflens-query` with.
//!
//! `bare STORE SQL-FILE [--pushdown-filters]` registers each table as plain listing tables, one per tenant, and prints
//! how long registering and the query took and how many rows the result has. It lists folders, so it counts files of
//! runs that were removed or compacted away: compare on stores without any.
#![expect(clippy::print_stdout, reason = "prints its measurement")]

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use datafusion::arrow::datatypes::DataType;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl};
use datafusion::prelude::{DataFrame, SessionConfig, SessionContext, lit};
use futures::TryStreamExt;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [store, sql, options @ ..] = arguments.as_slice() else {
        return Err("usage: bare STORE SQL-FILE [--pushdown-filters]".into());
    };
    let mut config = SessionConfig::new();
    config.options_mut().execution.parquet.pushdown_filters =
        options.iter().any(|option| option == "--pushdown-filters");
    let context = SessionContext::new_with_config(config);
    let start = Instant::now();
    for table in rooflens_store::tables() {
        let parts = format!("{}/{}", table.area.as_str(), table.name);
        if let Some(all) = register(&context, Path::new(store), &parts).await? {
            context.register_table(table.name, all.into_view())?;
        }
    }
    let opened = start.elapsed();
    let sql = std::fs::read_to_string(sql)?;
    let start = Instant::now();
    let batches: Vec<_> = context.sql(&sql).await?.execute_stream().await?.try_collect().await?;
    let rows: usize = batches.iter().map(|batch| batch.num_rows()).sum();
    println!("{} ms, {rows} rows, opened in {} ms", start.elapsed().as_millis(), opened.as_millis());
    Ok(())
}

/// The files of a table, of all tenants; `None` where there are none.
async fn register(
    context: &SessionContext,
    store: &Path,
    parts: &str,
) -> Result<Option<DataFrame>, Box<dyn Error>> {
    let mut all: Option<DataFrame> = None;
    for entry in std::fs::read_dir(store)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let folder = entry.path().join(parts);
        let Some(tenant) = name.strip_prefix("tenant=").filter(|_| folder.is_dir()) else { continue };
        let options = ListingOptions::new(Arc::new(ParquetFormat::default()))
            .with_file_extension(".parquet")
            .with_table_partition_cols(vec![("day".to_owned(), DataType::Utf8)]);
        let url = ListingTableUrl::parse(format!("{}/", folder.canonicalize()?.display()))?;
        let config = ListingTableConfig::new(url).with_listing_options(options);
        let config = config.infer_schema(&context.state()).await?;
        let table = ListingTable::try_new(config)?;
        let frame = context.read_table(Arc::new(table))?.with_column("tenant", lit(tenant))?;
        all = Some(match all {
            Some(all) => all.union(frame)?,
            None => frame,
        });
    }
    Ok(all)
}
