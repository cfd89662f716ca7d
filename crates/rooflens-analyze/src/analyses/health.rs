//! Can this trace be trusted?

use rooflens_schema::RankTables;
use serde::Serialize;

use crate::analyses::{Analysis, Fold};
use crate::finding::{Finding, Findings};

/// Can this trace be trusted? One row a check.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(transparent)]
pub struct Health(pub Vec<Check>);

/// One check.
#[derive(Debug, Clone, Serialize)]
pub struct Check {
    /// Stable word.
    pub name: &'static str,
    /// Whether it is as it should be.
    pub ok: bool,
    /// What was counted.
    pub count: i64,
    /// What it means, in a sentence.
    pub message: String,
}

/// The question of this file.
pub(super) struct HealthAnalysis;

impl Analysis for HealthAnalysis {
    fn name(&self) -> &'static str {
        "health"
    }
    fn question(&self) -> &'static str {
        "Can this trace be trusted?"
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
