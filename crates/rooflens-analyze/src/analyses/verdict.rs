//! What is the answer in a sentence?

use rooflens_schema::RankTables;
use serde::Serialize;

use crate::analyses::{Analysis, Fold};
use crate::finding::{Finding, Findings};

/// The answer in a sentence, and what stands behind it.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Verdict {
    /// The sentence the report begins with.
    pub sentence: String,
    /// The shares it rests on, largest first, as `("launch_bound", 0.61)`: of the devices' span.
    pub shares: Vec<(String, f64)>,
    /// What to look at next, at most three sentences.
    pub next: Vec<String>,
}

/// The question of this file.
pub(super) struct VerdictAnalysis;

impl Analysis for VerdictAnalysis {
    fn name(&self) -> &'static str {
        "verdict"
    }
    fn question(&self) -> &'static str {
        "What is the answer in a sentence?"
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
