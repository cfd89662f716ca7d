//! The model of a run: decided once, by what was planned and by what the workload says it ran.

use std::path::{Path, PathBuf};

use rooflens_analyze::compare::headline;
use rooflens_collect::execute::Executor;
use rooflens_collect::plan::{RunFolders, RunPlan, RunStage, StaticWork};
use rooflens_collect::{RunSettings, package};
use rooflens_cost::hardware::Device;
use rooflens_cost::precision::Dtype;
use rooflens_ingest::formats::workload::WorkloadRecords;
use rooflens_schema::RunDir;

use super::launch::PlannedJob;
use super::{config, workload};
use crate::cost::cost_of;
use crate::cost::question::CostQuestion;
use crate::disk;
use crate::error::Error;
use crate::hardware::{Measuring, file_name};
use crate::model::ModelRecord;
use crate::model::files::{DeviceCatalog, blueprint};
use crate::observer::SharedObserver;
use crate::project::{self, HARDWARE};

pub(crate) fn decide(
    plan: &RunPlan,
    settings: &RunSettings,
    places: &RunFolders,
    workload: &WorkloadRecords,
) -> Result<ModelRecord, String> {
    let work = plan.static_work().ok_or_else(|| no_static_work(settings))?;
    record(work, places, workload)
}

/// Decides it again for a run whose model could not be decided when it was made.
pub(crate) fn decide_again(run: &RunDir) -> Result<ModelRecord, String> {
    let config = config::config(run).ok_or("the run has no config")?;
    let (settings, plan) = rooflens_collect::planned(&config).map_err(|error| error.to_string())?;
    decide(&plan, &settings, &folders_of(run), &workload::measured(run))
}

pub(crate) fn folders_of(run: &RunDir) -> RunFolders {
    RunFolders {
        run: run.root().to_owned(),
        project: project::around(run.root()).unwrap_or_else(|| run.root().to_owned()),
        package: package::folder(&package::cache_folder()),
    }
}

fn no_static_work(settings: &RunSettings) -> String {
    if settings.pipeline.has(RunStage::StaticAnalysis) && settings.model_path().is_none() {
        "the model that the program runs is not known: set runtime.model=FOLDER".to_owned()
    } else {
        "the stage static_analysis is off".to_owned()
    }
}

fn record(work: &StaticWork, places: &RunFolders, workload: &WorkloadRecords) -> Result<ModelRecord, String> {
    let folder = PathBuf::from(work.model.resolve(places));
    if !folder.join("config.json").is_file() {
        return Err(format!("there is no {}", folder.join("config.json").display()));
    }
    let blueprint = blueprint(&folder).map_err(|error| error.to_string())?;
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let record = ModelRecord {
        kv_dtype: work.kv_dtype.as_deref().map(kv_format).transpose()?,
        tensor_parallel: work.tensor_parallel,
        ..ModelRecord::new(name, &blueprint)
    };
    let devices = DeviceCatalog::read(&places.project.join(HARDWARE)).map_err(|error| error.to_string())?;
    let named = work.hardware.as_deref().or_else(|| workload.text("model", "device_name"));
    let measured = || named.and_then(of_this_machine);
    let device = named.and_then(|name| devices.find(name).ok()).cloned().or_else(measured);
    let no_device = match named {
        _ if device.is_some() => None,
        Some(name) => Some(format!(
            "no peaks of {name:?} are known: `rooflens hardware measure` measures them on this machine"
        )),
        None => {
            Some("no peaks of this machine are known: `rooflens hardware measure` measures them".to_owned())
        }
    };
    let dtype = match &work.dtype {
        Some(format) => Some(format.clone()),
        None => ran_in(&record, workload)?,
    };
    Ok(ModelRecord { dtype, is_device_named: device.is_some(), device, no_device, ..record })
}

/// The format that the workload ran in, where the config names another or none. What is quantised stays so.
fn ran_in(record: &ModelRecord, workload: &WorkloadRecords) -> Result<Option<String>, String> {
    let (model, _) = record.model()?;
    let told = workload.text("model", "dtype").and_then(format_of_torch);
    let other = told.filter(|format| *format != model.dtype.as_str() && model.quantisation.is_none());
    Ok(other.map(str::to_owned))
}

pub(crate) fn format_of_torch(name: &str) -> Option<&'static str> {
    match name {
        "float32" => Some("fp32"),
        "bfloat16" => Some("bf16"),
        "float16" => Some("fp16"),
        _ => None,
    }
}

/// The format of the KV cache, as engines or the cost model name it.
fn kv_format(name: &str) -> Result<Dtype, String> {
    let own = match name {
        "fp8_e4m3" | "fp8_e5m2" | "fp8_inc" => "fp8",
        "nvfp4" => "fp4",
        name => format_of_torch(name).unwrap_or(name),
    };
    let found = Dtype::ALL.iter().copied().find(|dtype| dtype.as_str() == own);
    found.ok_or_else(|| format!("the size of a KV cache in {name} is not known"))
}

const SECONDS: u64 = 10;

fn of_this_machine(name: &str) -> Option<Device> {
    let devices =
        DeviceCatalog::of_files(vec![peaks_file(name)].into_iter().filter(|file| file.is_file()).collect())
            .ok()?;
    devices.find(name).ok().cloned()
}

/// Measures the device that the workload ran on, where its peaks are wanted and not known. Which one that is, the
/// workload told. What fails here is said and no more: the run is there.
pub(crate) fn measure_unknown(
    job: &PlannedJob,
    workload: &WorkloadRecords,
    executor: &dyn Executor,
    observer: &SharedObserver,
) -> Result<(), Error> {
    let hardware = &job.settings.hardware;
    let is_wanted = hardware.measure && hardware.name.is_none() && job.plan.static_work().is_some();
    let Some(name) = workload.text("model", "device_name").filter(|_| is_wanted && !observer.is_stopped())
    else {
        return Ok(());
    };
    let is_known = DeviceCatalog::read(&job.places.project.join(HARDWARE))
        .is_ok_and(|devices| devices.find(name).is_ok());
    if is_known || of_this_machine(name).is_some() {
        return Ok(());
    }
    observer.info(&format!(
        "the peak rates of {name} are not known: measuring them, which takes about {SECONDS} seconds, once on this \
         machine"
    ));
    let how = Measuring {
        interpreter: job.settings.runtime.interpreter(),
        device: &hardware.device,
        seconds: SECONDS,
        project: job.places.project.clone(),
    };
    match how.measure(executor, observer) {
        // Under the name that the workload has for it, so that it is found by that.
        Ok(Some(peaks)) => {
            let path = peaks_file(name);
            if let Some(folder) = path.parent() {
                disk::make(folder)?;
            }
            disk::write(path, peaks.measured(Some(name), SECONDS).to_toml().as_bytes())
        }
        Ok(None) => Ok(()),
        Err(error) => {
            observer.warn(&format!("the peak rates of {name} could not be measured: {error}"));
            Ok(())
        }
    }
}

const FOLDER: &str = "measured-peaks";

/// Where the peaks of a device are kept. With fewer threads it reaches less, so that is another file.
fn peaks_file(device: &str) -> PathBuf {
    let told = std::env::var("OMP_NUM_THREADS").ok().and_then(|text| text.parse::<usize>().ok());
    let threads = told.or_else(|| std::thread::available_parallelism().ok().map(usize::from)).unwrap_or(1);
    let name = format!("{}-{threads}-threads.toml", file_name(device));
    package::cache_folder().join(FOLDER).join(name)
}

/// The files of `report/` that say what the model must cost.
pub(crate) const COST_FILES: [&str; 2] = ["static_compute.json", "cost_sweep.json"];

/// Writes what the model must cost. Answers why not, where it cannot be computed: a run is worth
/// something without it.
pub(crate) fn write_cost(
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
pub(crate) fn renew_cost(run: &RunDir, model: &ModelRecord) -> Result<Option<String>, Error> {
    for name in COST_FILES {
        disk::remove(&run.report().join(name))?;
    }
    let planned = config::config(run).and_then(|config| rooflens_collect::planned(&config).ok());
    let Some((settings, plan)) = planned else { return Ok(Some("the run has no config".to_owned())) };
    let Some(work) = plan.static_work() else {
        return Ok(Some("the stage static_analysis is off".to_owned()));
    };
    let places = folders_of(run);
    // A device that was named since is no fault of the config.
    let work = StaticWork { hardware: None, ..work.clone() };
    write_cost(&work, model, &places, &workload::measured(run), run, settings.output.plots)
}

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

fn mean_prompt(workload: &WorkloadRecords) -> Option<u64> {
    let requests = headline::measured_requests(&workload.requests, &workload.tokens);
    let counted: Vec<u64> = requests.iter().map(|request| request.prompt_tokens.unsigned_abs()).collect();
    let count = counted.len() as u64;
    (count > 0).then(|| (counted.iter().sum::<u64>() + count / 2) / count).filter(|mean| *mean > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_of_the_cache_are_those_of_engines() {
        for (name, expected) in [
            ("fp8", Dtype::Fp8),
            ("fp8_e4m3", Dtype::Fp8),
            ("fp8_e5m2", Dtype::Fp8),
            ("bfloat16", Dtype::Bf16),
            ("fp16", Dtype::Fp16),
        ] {
            assert_eq!(kv_format(name), Ok(expected), "{name}");
        }
        let reason = kv_format("fp8_ds_mla").unwrap_err();
        assert!(reason.contains("fp8_ds_mla is not known"), "{reason}");
    }
}
