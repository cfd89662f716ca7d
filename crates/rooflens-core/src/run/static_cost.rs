//! What the model must cost at the configured batch sizes and the measured prompt lengths: `report/static_compute.json`, or a sweep.

use std::path::Path;

use rooflens_analyze::compare::headline;
use rooflens_collect::plan::{RunFolders, StaticWork};
use rooflens_ingest::formats::workload::WorkloadRecords;
use rooflens_schema::RunDir;

use super::{files, workload};
use crate::cost::cost_of;
use crate::cost::question::CostQuestion;
use crate::error::Error;
use crate::model::ModelRecord;
use crate::saved;

/// The files of `report/` that it is in.
pub(crate) const FILES: [&str; 2] = ["static_compute.json", "cost_sweep.json"];

/// Writes what the model must cost. Answers why not, where it cannot be computed: a run is worth
/// something without it.
pub fn write(
    work: &StaticWork,
    model: &ModelRecord,
    places: &RunFolders,
    workload: &WorkloadRecords,
    run: &RunDir,
    with_figures: bool,
) -> Result<Option<String>, Error> {
    // Where the device that was found is not in the catalog, the counts stand without times.
    let unknown = model.no_device.as_ref().filter(|_| work.hardware.is_some());
    if let Some(reason) = unknown {
        return Ok(Some(reason.clone()));
    }
    let blueprint = match model.blueprint() {
        Ok(blueprint) => blueprint,
        Err(reason) => return Ok(Some(reason)),
    };
    let question = CostQuestion {
        hardware: model.device.iter().map(|device| device.name.clone()).collect(),
        dtype: model.dtype.iter().cloned().collect(),
        kv_dtype: model.kv_dtype.map(|dtype| dtype.as_str().to_owned()),
        ..question(work, Path::new(&work.model.resolve(places)), workload)
    };
    match cost_of(&question, blueprint, model.device.as_ref()) {
        Ok(answer) => answer.save(run, with_figures).map(|()| None),
        Err(error) => Ok(Some(error.to_string())),
    }
}

/// Writes it again, for another model or device than the run was made with. Answers why not, where it cannot be
/// computed: then there is none any more.
pub(crate) fn renew(run: &RunDir, model: &ModelRecord) -> Result<Option<String>, Error> {
    for name in FILES {
        saved::remove(&run.report().join(name))?;
    }
    let planned = files::config(run).and_then(|config| rooflens_collect::planned(&config).ok());
    let Some((settings, plan)) = planned else { return Ok(Some("the run has no config".to_owned())) };
    let Some(work) = plan.static_work() else {
        return Ok(Some("the stage static_analysis is off".to_owned()));
    };
    let places = super::model::folders_of(run);
    // A device that was named since is no fault of the config.
    let work = StaticWork { hardware: None, ..work.clone() };
    write(&work, model, &places, &workload::measured(run), run, settings.output.plots)
}

/// At these batch sizes; formats and device are the caller's.
fn question(work: &StaticWork, model: &Path, workload: &WorkloadRecords) -> CostQuestion {
    let prompt = mean_prompt(workload);
    let (prefill, context) = match work.contexts.as_slice() {
        [] => (prompt.map(|tokens| vec![tokens]), prompt.map(|tokens| vec![tokens])),
        contexts => (None, Some(contexts.to_vec())),
    };
    CostQuestion {
        configs: vec![model.to_owned()],
        batch: work.batch_sizes.clone(),
        prefill,
        context,
        tp: vec![work.tensor_parallel],
        ..CostQuestion::default()
    }
}

/// The mean prompt of the requests that counted, to the next whole token.
fn mean_prompt(workload: &WorkloadRecords) -> Option<u64> {
    let requests = headline::measured_requests(&workload.requests, &workload.tokens);
    let counted: Vec<u64> = requests.iter().map(|request| request.prompt_tokens.unsigned_abs()).collect();
    let count = counted.len() as u64;
    (count > 0).then(|| (counted.iter().sum::<u64>() + count / 2) / count).filter(|mean| *mean > 0)
}
