//! The DataFusion session of one query.

use std::path::PathBuf;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::config::{ConfigNonZeroUsize, ConfigOptions, SpillCompression};
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};

use crate::pool::SpillPool;
use crate::types::TextType;

/// Rows of a batch by the memory that there is below: a merge holds a batch of each spilled file, and must fit. Above all
/// of these it is 8192.
const BATCH_ROWS: [(u64, usize); 2] = [(128 << 20, 1024), (2 << 30, 2048)];

/// Below it, what operators are charged with has to be what they hold: a sort that is charged with all pages of which it
/// holds a row fails although there is room.
const VIEWS_FROM_BYTES: u64 = 4 << 30;

#[derive(Debug, Clone)]
pub(crate) struct Limits {
    pub(crate) threads: usize,
    /// Memory that operators may hold before they spill.
    pub(crate) memory_bytes: u64,
    /// Where they spill to.
    pub(crate) spill_folder: PathBuf,
}

impl Limits {
    pub(crate) fn texts(&self) -> TextType {
        if self.memory_bytes < VIEWS_FROM_BYTES { TextType::Plain } else { TextType::Views }
    }
}

/// A session within these limits, without tables.
pub(crate) fn within(limits: &Limits) -> Result<SessionContext> {
    let memory = usize::try_from(limits.memory_bytes).unwrap_or(usize::MAX);
    let disk = DiskManagerBuilder::default()
        .with_mode(DiskManagerMode::Directories(vec![limits.spill_folder.clone()]));
    let runtime = RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(SpillPool::new(memory)))
        .with_disk_manager_builder(disk)
        .build_arc()?;
    let config = SessionConfig::from(options(limits)?);
    Ok(SessionContext::new_with_config_rt(config, runtime))
}

fn options(limits: &Limits) -> Result<ConfigOptions> {
    let mut options = ConfigOptions::new();
    // Literals and functions follow the columns.
    options.sql_parser.map_string_types_to_utf8view = limits.texts() == TextType::Views;
    // A scan is shared out where its files are known: DataFusion would also cut those that are read whole.
    options.optimizer.repartition_file_scans = false;
    let execution = &mut options.execution;
    execution.target_partitions = limits.threads.max(1);
    execution.spill_compression = SpillCompression::Lz4Frame;
    // Each sort sets this much aside for its merge, ten megabytes by default: more than a small limit allows.
    let share = limits.memory_bytes / (8 * limits.threads.max(1) as u64);
    let reserved = usize::try_from(share).unwrap_or(usize::MAX);
    execution.sort_spill_reservation_bytes = execution.sort_spill_reservation_bytes.min(reserved);
    if let Some((_, rows)) = BATCH_ROWS.iter().find(|(bytes, _)| limits.memory_bytes < *bytes) {
        execution.batch_size = ConfigNonZeroUsize::try_new(*rows)?;
    }
    Ok(options)
}
