//! What charts are made of, and how they name it.

use rooflens_analyze::Findings;
use rooflens_analyze::sampled::Sampled;

use crate::bench::LevelRow;
use crate::text;

/// What charts are made of.
#[derive(Clone, Copy)]
pub struct ChartInputs<'a> {
    /// What was found in a trace.
    pub findings: &'a Findings,
    /// What was sampled while a run went on.
    pub sampled: Option<&'a Sampled>,
    /// The levels of a load test.
    pub levels: &'a [LevelRow],
}

/// Characters of a name in a chart.
const LONGEST: usize = 160;

pub(super) fn named(name: &str) -> String {
    text::elide(&text::clean(name), LONGEST)
}

/// Characters of a name that other parts of a page look for.
const FULL: usize = 1_000;

pub(super) fn full_name(name: &str) -> String {
    text::clip(&text::clean(name), FULL)
}

pub(super) fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
