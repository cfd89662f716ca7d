//! What an answer lacks or counts twice, and its reader would not see.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::logical_expr::{JoinType, LogicalPlan};
use rooflens_store::{KERNEL_NAMES, Partition, PartitionFiles};

const KERNEL_DIM: &str = "kernel_dim";

#[derive(Debug, Clone, Default)]
pub(crate) struct QueryNotes {
    found: Arc<Mutex<Found>>,
}

#[derive(Debug, Default)]
struct Found {
    dropped: BTreeSet<String>,
    runs: BTreeMap<String, BTreeSet<String>>,
    joins_kernels: bool,
    /// Files with kernels of runs: with one file, each kernel is there once.
    kernel_files: BTreeSet<String>,
}

impl QueryNotes {
    fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Files of a day are read, of a table with events or of another one.
    pub(crate) fn reads(&self, table: &str, partition: &Partition, files: &PartitionFiles, is_event: bool) {
        let mut found = self.found();
        if is_event && files.events_dropped() {
            found.dropped.insert(partition.day.clone());
        }
        for run in &files.runs {
            let tenants = found.runs.entry(run.run_id.clone()).or_default();
            tenants.insert(partition.tenant.clone());
        }
        if table == KERNEL_DIM {
            let of_table = files.files.iter().filter(|file| file.table == table);
            found.kernel_files.extend(of_table.map(|file| file.relative.clone()));
        }
    }

    pub(crate) fn look_at(&self, plan: &LogicalPlan) {
        let visited = plan.apply_with_subqueries(|node| {
            if let LogicalPlan::Join(join) = node
                && !matches!(join.join_type, JoinType::LeftSemi | JoinType::LeftAnti)
                && (is_kernel_dim(&join.left) || is_kernel_dim(&join.right))
            {
                self.found().joins_kernels = true;
            }
            Ok(TreeNodeRecursion::Continue)
        });
        debug_assert!(visited.is_ok());
    }

    pub(crate) fn words(&self) -> Vec<String> {
        let found = self.found();
        let mut words = Vec::new();
        if let (Some(first), Some(last)) = (found.dropped.first(), found.dropped.last()) {
            let when = match found.dropped.len() {
                1 => format!("of {first}"),
                days => format!("of {days} days from {first} to {last}"),
            };
            words.push(format!(
                "events {when} were dropped by `rooflens store retain`: the answer is without them"
            ));
        }
        let shared = found.runs.values().filter(|tenants| tenants.len() > 1).count();
        if shared > 0 {
            let (runs, them) = if shared == 1 { ("run is", "it") } else { ("runs are", "them") };
            words.push(format!(
                "{shared} {runs} in more than one tenant, and the answer counts {them} once in each: choose one with --tenant"
            ));
        }
        if found.joins_kernels && found.kernel_files.len() > 1 {
            let (names, _) = KERNEL_NAMES;
            words.push(format!(
                "{KERNEL_DIM} can have a kernel more than once, and a join with it then repeats rows: join {names}, which \
                 has each kernel once"
            ));
        }
        words
    }
}

/// Whether a side of a join is `kernel_dim` itself, and not a grouping of it.
fn is_kernel_dim(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::TableScan(scan) => scan.table_name.table() == KERNEL_DIM,
        LogicalPlan::SubqueryAlias(alias) => is_kernel_dim(&alias.input),
        LogicalPlan::Projection(projection) => is_kernel_dim(&projection.input),
        LogicalPlan::Filter(filter) => is_kernel_dim(&filter.input),
        _ => false,
    }
}
