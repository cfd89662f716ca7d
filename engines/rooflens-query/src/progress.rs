//! How far a plan is, from the metrics that its operators keep.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::MetricValue;
use rooflens_engine_protocol::{Event, emit};
use serde::Serialize;
use tokio::sync::oneshot;

/// Five reports a second are the most that is allowed.
const INTERVAL: Duration = Duration::from_millis(200);
/// Looking at the metrics of many thousand files takes time; it may take this share of it.
const SHARE: u32 = 50;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Scanned {
    pub(crate) rows: u64,
    /// Bytes that they read.
    pub(crate) bytes: u64,
    pub(crate) files: u64,
    pub(crate) of_files: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Spilled {
    pub(crate) bytes: u64,
    pub(crate) files: u64,
}

/// Reports progress of the plan that is announced, for as long as it is polled.
pub(crate) async fn report(plan: oneshot::Receiver<Arc<dyn ExecutionPlan>>) {
    let Ok(plan) = plan.await else { return std::future::pending().await };
    let mut last = Scanned::default();
    let mut pause = INTERVAL;
    loop {
        tokio::time::sleep(pause).await;
        let start = Instant::now();
        let now = scanned(plan.as_ref());
        if now != last {
            emit(&Event::Progress(now));
            last = now;
        }
        pause = INTERVAL.max(start.elapsed() * SHARE);
    }
}

pub(crate) fn scanned(plan: &dyn ExecutionPlan) -> Scanned {
    let mut all = Scanned::default();
    visit(plan, &mut |plan| {
        let Some(scan) = scan(plan) else { return };
        all.of_files += names(scan).len() as u64;
        let metrics = plan.metrics().unwrap_or_default();
        all.rows += metrics.output_rows().unwrap_or(0) as u64;
        let mut opened = BTreeSet::new();
        for metric in metrics.iter() {
            let MetricValue::Count { name, count } = metric.value() else { continue };
            if name == "bytes_scanned" {
                all.bytes += count.value() as u64;
                opened.extend(metric.labels().iter().map(|label| label.value().to_owned()));
            }
        }
        all.files += opened.len() as u64;
    });
    all
}

pub(crate) fn spilled(plan: &dyn ExecutionPlan) -> Spilled {
    let mut all = Spilled::default();
    visit(plan, &mut |plan| {
        let metrics = plan.metrics().unwrap_or_default();
        all.bytes += metrics.spilled_bytes().unwrap_or(0) as u64;
        all.files += metrics.spill_count().unwrap_or(0) as u64;
    });
    all
}

pub(crate) fn opened(plan: &dyn ExecutionPlan) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    visit(plan, &mut |plan| {
        let metrics = plan.metrics().filter(|_| scan(plan).is_some()).unwrap_or_default();
        for label in
            metrics.iter().flat_map(|metric| metric.labels()).filter(|label| label.name() == "filename")
        {
            if files.last().is_none_or(|last| last != label.value()) {
                files.push(label.value().to_owned());
            }
        }
    });
    let mut seen = BTreeSet::new();
    files.into_iter().rev().filter(|file| seen.insert(file.clone())).collect()
}

fn visit(plan: &dyn ExecutionPlan, look: &mut dyn FnMut(&dyn ExecutionPlan)) {
    look(plan);
    for child in plan.children() {
        visit(child.as_ref(), look);
    }
}

fn scan(plan: &dyn ExecutionPlan) -> Option<&FileScanConfig> {
    plan.downcast_ref::<DataSourceExec>()?.data_source().downcast_ref::<FileScanConfig>()
}

/// A large file may be in several groups, a range in each.
fn names(scan: &FileScanConfig) -> BTreeSet<&str> {
    let files = scan.file_groups.iter().flat_map(|group| group.iter());
    files.map(|file| file.path().as_ref()).collect()
}
