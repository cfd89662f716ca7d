//! What the workload of a step recorded: its requests, tokens, steps and what it says of itself.

use rooflens_collect::RunStage;
use rooflens_ingest::formats::workload::{WorkloadRecords, read_folder};
use rooflens_schema::tables::{StepRow, Steps};
use rooflens_schema::{Notes, RunDir};

/// Reads what a step of a run left, on the workload's own clock. Lines that cannot be read are counted in it; the
/// run's notes name them already.
pub fn of_stage(run: &RunDir, stage: RunStage) -> WorkloadRecords {
    read_folder(&run.raw(stage.name()), stage.name(), &Notes::default())
}

/// What the pass without profilers left.
pub fn measured(run: &RunDir) -> WorkloadRecords {
    of_stage(run, RunStage::Measure)
}

/// The forward passes of the rounds of a kind.
pub fn steps_of(steps: &Steps, kind: &str) -> Vec<StepRow> {
    let rows = (0..steps.len()).filter(|row| steps.round_kind[*row].as_deref() == Some(kind));
    rows.filter_map(|row| steps.row(row)).collect()
}
