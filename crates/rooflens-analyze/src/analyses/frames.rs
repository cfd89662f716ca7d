//! Which Python functions take the host time?

use rooflens_schema::RankTables;
use serde::Serialize;

use crate::analyses::{Analysis, Fold};
use crate::finding::{Finding, Findings};

/// Python functions by self time, most first; at most 100.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(transparent)]
pub struct Frames(pub Vec<FrameStat>);

/// All calls of one function.
#[derive(Debug, Clone, Serialize)]
pub struct FrameStat {
    /// `file.py(line): function`, or the module's name.
    pub name: String,
    /// Calls.
    pub count: usize,
    /// Sum of durations, callees included. Recursive calls count each time.
    pub total_ns: i64,
    /// Sum of durations without Python callees and without operators.
    pub self_ns: i64,
}

/// The question of this file.
pub(super) struct FramesAnalysis;

impl Analysis for FramesAnalysis {
    fn name(&self) -> &'static str {
        "frames"
    }
    fn question(&self) -> &'static str {
        "Which Python functions take the host time?"
    }
    fn explain(&self) -> &'static str {
        ""
    }
    fn needs(&self) -> &'static str {
        "Python frames"
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
