//! Why latency is what it is.
use rooflens_compare::headline::MeasuredRequest;

use super::document::{BenchDocument, Why};
use super::level::LevelRun;

pub fn why(_document: &BenchDocument, _run: &LevelRun, _requests: &[MeasuredRequest<'_>]) -> Option<Why> {
    None
}
