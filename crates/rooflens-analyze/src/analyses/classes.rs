//! Which kinds of kernels take the time?

use rooflens_schema::RankTables;
use serde::Serialize;

use crate::analyses::{Analysis, Fold};
use crate::finding::{Finding, Findings};

/// Device time by class and by library, most time first.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Classes {
    /// By class: gemm, attention, communication …
    pub by_class: Vec<ClassStat>,
    /// By library: cublas, triton, nccl …
    pub by_library: Vec<ClassStat>,
    /// Share of device time whose class is not known, 0 to 1.
    pub unclassified_share: f64,
}

/// The activities of one class or library.
#[derive(Debug, Clone, Serialize)]
pub struct ClassStat {
    /// Class or library.
    pub name: String,
    /// Distinct kernel names.
    pub names: usize,
    /// Activities.
    pub count: usize,
    /// Sum of durations.
    pub total_ns: i64,
    /// Share of all activities' durations, 0 to 1.
    pub share: f64,
}

/// The question of this file.
pub(super) struct ClassesAnalysis;

impl Analysis for ClassesAnalysis {
    fn name(&self) -> &'static str {
        "classes"
    }
    fn question(&self) -> &'static str {
        "Which kinds of kernels take the time?"
    }
    fn explain(&self) -> &'static str {
        ""
    }
    fn needs(&self) -> &'static str {
        "device activity"
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
