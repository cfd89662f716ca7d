//! The roll-up by hour, device, build and kernel: over all runs, so without their ids.

use std::collections::BTreeMap;

use arrow_array::{Array, RecordBatch};
use foldhash::{HashMap, HashMapExt};
use serde_json::{Map, Value as Json};

use crate::error::StoreError;
use crate::rollup::{CallSums, Columns};
use crate::source::{big, text};

/// What the runs of an hour have in common: hardware, runtime, version, build, model.
type Setting = [String; 5];
const SETTING: [&str; 5] = ["hardware", "runtime", "runtime_version", "runtime_build", "model"];

pub(crate) struct KernelHours {
    settings: HashMap<String, (i64, Setting)>,
    sums: BTreeMap<(i64, i64, Setting, String), CallSums>,
}

impl KernelHours {
    pub(crate) fn new<'r>(rows: impl Iterator<Item = &'r Map<String, Json>>) -> Self {
        let mut settings = HashMap::new();
        for row in rows {
            let word = |name: &str| row.get(name).and_then(Json::as_str).unwrap_or_default().to_owned();
            let start = row.get("start_unix_ns").and_then(Json::as_i64).unwrap_or(0);
            let hour = start.div_euclid(3_600_000_000_000) * 3_600;
            settings.insert(word("run_id"), (hour, SETTING.map(word)));
        }
        KernelHours { settings, sums: BTreeMap::new() }
    }

    /// Adds rows of `kernel_rollup`.
    pub fn add(&mut self, batch: &RecordBatch) {
        let big = |name: &str| big(batch, name);
        let (Some(run), Some(phase), Some(kernel), Some(count), Some(total), Some(min), Some(max)) = (
            text(batch, "run_id"),
            text(batch, "phase"),
            big("kernel_id"),
            big("count"),
            big("total_ns"),
            big("min_ns"),
            big("max_ns"),
        ) else {
            return;
        };
        for row in 0..run.len() {
            let Some((hour, setting)) = self.settings.get(run.value(row)) else { continue };
            let key = (kernel.value(row), *hour, setting.clone(), phase.value(row).to_owned());
            let new = CallSums {
                count: count.value(row),
                total_ns: total.value(row),
                min_ns: min.value(row),
                max_ns: max.value(row),
            };
            self.sums.entry(key).and_modify(|sums| sums.add(new)).or_insert(new);
        }
    }

    pub(crate) fn batch(&self) -> Result<RecordBatch, StoreError> {
        let keys = || self.sums.keys();
        let mut columns = Columns::new("kernel_hours");
        columns.big(keys().map(|key| Some(key.1)));
        for at in 0..SETTING.len() {
            columns.text(keys().map(|key| Some(key.2[at].as_str())));
        }
        columns.text(keys().map(|key| Some(key.3.as_str())));
        columns.big(keys().map(|key| Some(key.0)));
        columns.sums(self.sums.values());
        columns.batch()
    }
}
