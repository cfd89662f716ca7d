//! What the model must cost at the sizes that were run: `report/static_compute.json`, or a sweep.

use std::path::{Path, PathBuf};

use rooflens_collect::plan::{RunFolders, StaticWork};
use rooflens_compare::headline;
use rooflens_cost::pass::LatentOrder;
use rooflens_cost::setup::VisionSharding;
use rooflens_ingest::formats::workload::WorkloadRecords;
use rooflens_schema::RunDir;

use crate::cost::cost_with;
use crate::cost::question::CostQuestion;
use crate::error::Error;
use crate::model::ModelRecord;
use crate::model::files::DeviceCatalog;
use crate::project::HARDWARE;

/// Part of a device's memory that may be used, as `rooflens cost` has it.
const USABLE: f64 = 0.9;

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
    let devices = match DeviceCatalog::read(&places.project.join(HARDWARE)) {
        Ok(devices) => devices,
        Err(error) => return Ok(Some(error.to_string())),
    };
    // Where the device that was found is not in the catalog, the counts stand without times.
    let hardware = work.hardware.clone().or_else(|| model.device.as_ref().map(|device| device.name.clone()));
    let folder = PathBuf::from(work.model.resolve(places));
    let question = CostQuestion {
        hardware: hardware.into_iter().collect(),
        dtype: model.dtype.iter().cloned().collect(),
        kv_dtype: model.kv_dtype.map(|dtype| dtype.as_str().to_owned()),
        ..question(work, &folder, workload)
    };
    match cost_with(&question, &devices) {
        Ok(answer) => answer.save(run, with_figures).map(|()| None),
        Err(error) => Ok(Some(error.to_string())),
    }
}

/// At the sizes that were run; formats and device are the caller's.
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
        prefix: 0,
        chunk: None,
        context,
        encoder_tokens: None,
        steps: 1,
        draft: 0,
        images: None,
        image_size: None,
        crops: None,
        hardware: Vec::new(),
        tp: vec![work.tensor_parallel],
        pp: vec![1],
        ep: vec![1],
        dp: vec![1],
        node_size: None,
        inter_node: None,
        vision: VisionSharding::Tensor,
        usable: USABLE,
        dtype: Vec::new(),
        kv_dtype: None,
        state_dtype: None,
        assume: Vec::new(),
        set: Vec::new(),
        hold: None,
        by: None,
        routing: "uniform".to_owned(),
        latent: LatentOrder::ByPhase,
        ttft: None,
        tpot: None,
    }
}

/// The mean prompt of the requests that counted, to the next whole token.
fn mean_prompt(workload: &WorkloadRecords) -> Option<u64> {
    let requests = headline::measured_requests(&workload.requests, &workload.tokens);
    let counted: Vec<u64> = requests.iter().map(|request| request.prompt_tokens.unsigned_abs()).collect();
    let count = counted.len() as u64;
    (count > 0).then(|| (counted.iter().sum::<u64>() + count / 2) / count).filter(|mean| *mean > 0)
}
