//! The model of a run: decided once, by what was planned and by what the workload says it ran.

use std::path::PathBuf;

use rooflens_collect::plan::{RunFolders, RunPlan, RunStage, StaticWork};
use rooflens_collect::{RunSettings, package};
use rooflens_cost::precision::Dtype;
use rooflens_ingest::formats::workload::WorkloadRecords;
use rooflens_schema::RunDir;

use super::{files, peaks, workload};
use crate::model::ModelRecord;
use crate::model::files::{DeviceCatalog, blueprint};
use crate::project::{self, HARDWARE};

/// Decides it; otherwise why nothing can be said of it.
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
    let config = files::config(run).ok_or("the run has no config")?;
    let (settings, plan) = rooflens_collect::planned(&config).map_err(|error| error.to_string())?;
    decide(&plan, &settings, &folders_of(run), &workload::measured(run))
}

/// Where the files of a run that was made before are.
pub(crate) fn folders_of(run: &RunDir) -> RunFolders {
    RunFolders {
        run: run.root().to_owned(),
        project: project::around(run.root()).unwrap_or_else(|| run.root().to_owned()),
        package: package::folder(&package::cache_folder()),
    }
}

/// Why the plan has no static analysis.
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
    let measured = || named.and_then(peaks::of_this_machine);
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

/// What torch calls a format, as the cost model names it.
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
