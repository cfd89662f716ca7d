//! Which file is damaged.
//!
//! An error in the pages of a Parquet file does not name it. So after such an error the files that the query had
//! opened are read once more, the last one first, until one fails.

use std::sync::Arc;
use std::time::{Duration, Instant};

use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use datafusion::physical_plan::ExecutionPlan;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use rooflens_engine_protocol::{Fault, Kind};

use crate::fault::{self, within_store, without_prefix};
use crate::progress;

/// How long to look: the answer is worth a moment, not minutes.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) async fn find(plan: &dyn ExecutionPlan, objects: &Arc<dyn ObjectStore>) -> Option<Fault> {
    let start = Instant::now();
    for file in progress::opened(plan) {
        if start.elapsed() > PATIENCE {
            return None;
        }
        if let Err(fault) = read(objects, &file).await {
            return Some(fault);
        }
    }
    None
}

/// Decodes all of a file. It is fetched as a whole: one at a time, and only after a failure.
async fn read(objects: &Arc<dyn ObjectStore>, file: &str) -> Result<(), Fault> {
    let damaged = |why: &str| {
        let message = format!("the Parquet file {} of the store is damaged: {why}", within_store(file));
        Fault::new(Kind::Store, message).hint("restore the file, or remove its run and add it again")
    };
    let path = Path::parse(file).map_err(|error| damaged(&error.to_string()))?;
    let fetched = async { objects.get(&path).await?.bytes().await };
    let bytes = fetched.await.map_err(|error| fault::of_object_store(file, &error))?;
    let decode = move || {
        let batches = ParquetRecordBatchReaderBuilder::try_new(bytes).and_then(|builder| builder.build());
        let mut batches = batches.map_err(|error| error.to_string())?;
        batches.try_for_each(|batch| batch.map(drop)).map_err(|error| error.to_string())
    };
    match tokio::task::spawn_blocking(decode).await {
        Ok(decoded) => decoded.map_err(|why| damaged(without_prefix(&why))),
        Err(_) => Err(damaged("its pages make no sense")),
    }
}
