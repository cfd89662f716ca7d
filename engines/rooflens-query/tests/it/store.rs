//! Makes stores, file by file and manifest by manifest.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::file::properties::WriterProperties;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Rows of a page: small, so that small files have several.
const PAGE_ROWS: usize = 1000;

pub struct TestStore {
    folder: TempDir,
}

impl TestStore {
    /// A store without runs.
    pub fn empty() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join("store.json"), r#"{"rooflens_store": 1}"#).expect("writable");
        TestStore { folder }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn run(&self, tenant: &str, day: &str, run: &str, tables: &[(&str, RecordBatch)]) -> Vec<PathBuf> {
        let mut entries: Vec<Value> = Vec::new();
        let mut paths = Vec::new();
        for (table, rows) in tables {
            let known = rooflens_store::tables().iter().find(|known| known.name == *table);
            let area = known.expect("a table of the store").area.as_str();
            let relative = format!("tenant={tenant}/{area}/{table}/day={day}/{run}.parquet");
            let path = self.path().join(&relative);
            write(&path, rows);
            let bytes = fs::metadata(&path).expect("just written").len();
            entries.push(json!({
                "table": table, "path": relative, "bytes": bytes, "rows": rows.num_rows(), "sha256": "",
            }));
            paths.push(path);
        }
        let manifest = json!({
            "rooflens_store": 1,
            "rooflens_version": "0.1.0",
            "run": {"run_id": run, "content": "", "added_unix_ns": 0, "row": {}},
            "files": entries,
        });
        let log = self.path().join(format!("tenant={tenant}/log/day={day}"));
        fs::create_dir_all(&log).expect("writable");
        fs::write(log.join(format!("run-{run}.json")), rooflens_store::sealed(&manifest)).expect("writable");
        paths
    }
}

pub fn write(path: &Path, rows: &RecordBatch) {
    fs::create_dir_all(path.parent().expect("in a folder")).expect("writable");
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(20_000))
        .set_data_page_row_count_limit(PAGE_ROWS)
        .set_write_batch_size(PAGE_ROWS)
        .build();
    let file = File::create(path).expect("writable");
    let mut writer = ArrowWriter::try_new(file, rows.schema(), Some(properties)).expect("types of Parquet");
    writer.write(rows).expect("writable");
    writer.close().expect("writable");
}

pub fn rows(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter(columns).expect("columns of one length")
}

/// Kernels of a run, sorted by kernel, each of them with as many launches.
pub fn kernels(run: &str, kernels: i64, launches: i64) -> RecordBatch {
    use datafusion::arrow::array::{Int32Array, Int64Array, StringArray};
    let ids: Vec<i64> = (0..kernels).flat_map(|kernel| (0..launches).map(move |_| kernel)).collect();
    let count = ids.len();
    let ts: Vec<i64> = (0..count as i64).map(|row| row * 7919 % 1_000_003).collect();
    rows(vec![
        ("run_id", Arc::new(StringArray::from(vec![run; count])) as ArrayRef),
        ("rank", Arc::new(Int32Array::from(vec![0; count]))),
        ("ts_ns", Arc::new(Int64Array::from(ts.clone()))),
        ("dur_ns", Arc::new(Int64Array::from(ts.iter().map(|ts| ts % 1000 + 1).collect::<Vec<_>>()))),
        ("kernel_id", Arc::new(Int64Array::from(ids))),
    ])
}

pub fn run_row(run: &str, hardware: &str) -> RecordBatch {
    use datafusion::arrow::array::StringArray;
    rows(vec![
        ("run_id", Arc::new(StringArray::from(vec![run])) as ArrayRef),
        ("hardware", Arc::new(StringArray::from(vec![hardware]))),
        ("unknown_to_the_schema", Arc::new(StringArray::from(vec!["x"]))),
    ])
}
