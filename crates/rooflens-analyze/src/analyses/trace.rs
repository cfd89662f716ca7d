//! What was read?

use std::collections::BTreeMap;

use rooflens_schema::RankTables;
use serde::Serialize;

use crate::analyses::{Analysis, Fold};
use crate::finding::{Finding, Findings};

/// What was read.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Trace {
    /// File names, without folders; at most ten.
    pub sources: Vec<String>,
    /// Format, as `kineto`.
    pub format: String,
    /// Records in the files, read or not.
    pub events: i64,
    /// Ranks read.
    pub ranks: usize,
    /// Ranks the job claims to have.
    pub world_size: Option<i32>,
    /// Devices with activity.
    pub devices: usize,
    /// From the earliest record to the end of the latest.
    pub span_ns: i64,
    /// Wall clock of the earliest record, since 1970, where known.
    pub start_unix_ns: Option<i64>,
    /// Device names, each once.
    pub hardware: Vec<String>,
    /// Rows by table: operators, runtime calls, device activities, Python frames …
    pub rows: BTreeMap<&'static str, usize>,
    /// Whether times were recorded in whole microseconds.
    pub microsecond_clock: bool,
    /// Versions and switches of the first rank's source, by name.
    pub properties: BTreeMap<String, String>,
}

/// The question of this file.
pub(super) struct TraceAnalysis;

impl Analysis for TraceAnalysis {
    fn name(&self) -> &'static str {
        "trace"
    }
    fn question(&self) -> &'static str {
        "What was read?"
    }
    fn explain(&self) -> &'static str {
        ""
    }
    fn needs(&self) -> &'static str {
        "records"
    }
    fn start(&self) -> Box<dyn Fold> {
        Box::new(State::default())
    }
}

#[derive(Default)]
struct State {}

impl Fold for State {
    fn rank(&mut self, _tables: &RankTables) {}
    fn finish(self: Box<Self>, _earlier: &Findings) -> Option<Box<dyn Finding>> {
        None
    }
}
