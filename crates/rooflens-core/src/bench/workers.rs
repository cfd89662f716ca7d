//! Load that other machines send.
use rooflens_load::plan::LoadPlan;
use rooflens_load::record::{LoadOutcome, RecordSink};
use rooflens_load::workload::WorkloadSpec;

use super::document::WorkerFacts;
use super::request::WorkerOptions;
use super::watch::Watching;
use crate::error::{BenchError, Error};

pub struct WorkerRequest {}
pub fn serve(_request: &WorkerRequest) -> Result<(), Error> {
    Ok(())
}

pub fn run(
    _workers: &WorkerOptions,
    _plan: &LoadPlan,
    _spec: &WorkloadSpec,
    _sink: &mut dyn RecordSink,
    _watch: &Watching<'_>,
) -> Result<(LoadOutcome, Vec<WorkerFacts>), Error> {
    Err(BenchError::Load("not there yet".to_owned()).into())
}
