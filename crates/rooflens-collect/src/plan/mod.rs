//! Config → steps. Pure: no clock, no files, no environment, so the same config gives the same bytes.

mod launch;
mod shell;
mod step;
mod word;

use rooflens_compose::value::Node;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use self::launch::{WEIGHTS, WorkloadLaunch};
pub(crate) use self::shell::quoted;
pub use self::step::{PlannedStep, ProcessCommand, RunStage, StaticWork, StepWork, WrittenFile};
pub use self::word::{CommandWord, PlanRoot, RunFolders};
use crate::config_json;
use crate::error::PlanError;
use crate::profilers;
use crate::settings::RunSettings;

pub(crate) const PLAN_VERSION: u32 = 1;

/// What is to be done, in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunPlan {
    /// [`PLAN_VERSION`].
    pub(crate) schema_version: u32,
    /// The steps.
    pub steps: Vec<PlannedStep>,
}

/// The plan of a config that has nothing left to resolve.
pub fn plan(config: &Node) -> Result<RunPlan, PlanError> {
    planned(config).map(|(_, plan)| plan)
}

/// The same, with the settings that it was made of.
pub fn planned(config: &Node) -> Result<(RunSettings, RunPlan), PlanError> {
    let settings = RunSettings::read(config)?;
    let whole = config_json::json(config, "")?;
    let launch = WorkloadLaunch::new(&settings, &whole);
    let mut steps = Vec::new();
    for stage in RunStage::ALL.iter().copied() {
        if settings.pipeline.has(stage) {
            steps.extend(step(stage, &settings, &launch));
        }
    }
    if steps.is_empty() {
        Err(PlanError::new(
            "no stage is on: there is nothing to run",
            "profiling=minimal enables the usual ones",
        ))
    } else {
        Ok((settings, RunPlan { schema_version: PLAN_VERSION, steps }))
    }
}

/// The step of a stage; `None` for the cost of a model that the config does not name.
fn step(stage: RunStage, settings: &RunSettings, launch: &WorkloadLaunch<'_>) -> Option<PlannedStep> {
    Some(match (stage, profilers::find(stage)) {
        (_, Some(profiler)) => profiler.step(launch),
        (RunStage::StaticAnalysis, None) => static_analysis(settings, settings.model_path()?),
        (RunStage::DirectInference, None) => launch.step(stage, "answers, without any profiler"),
        _ => launch.step(RunStage::Measure, "times of every step, without any profiler"),
    })
}

fn static_analysis(settings: &RunSettings, model: &str) -> PlannedStep {
    let sizes = &settings.pipeline.static_analysis;
    let batch = settings.runtime.batch_size;
    PlannedStep {
        name: RunStage::StaticAnalysis.name().to_owned(),
        stage: RunStage::StaticAnalysis,
        purpose: "model cost, computed from the config".to_owned(),
        work: StepWork::Static(StaticWork {
            model: CommandWord::path(PlanRoot::Project, model),
            dtype: settings.model.dtype.clone(),
            kv_dtype: settings.runtime.options.kv_dtype.clone(),
            hardware: settings.hardware.name.clone(),
            tensor_parallel: settings.runtime.options.tensor_parallel,
            batch_sizes: if sizes.batch_sizes.is_empty() { vec![batch] } else { sizes.batch_sizes.clone() },
            contexts: sizes.contexts.clone(),
        }),
    }
}

impl RunPlan {
    /// The bytes of `plan.json`.
    pub fn to_json(&self) -> String {
        // Text keys and plain values: there is nothing that could fail.
        serde_json::to_string_pretty(self).map(|text| text + "\n").unwrap_or_default()
    }

    /// Steps that start a process.
    pub fn commands(&self) -> impl Iterator<Item = (&PlannedStep, &ProcessCommand)> {
        self.steps.iter().filter_map(|step| match &step.work {
            StepWork::Process(command) => Some((step, command.as_ref())),
            StepWork::Static(_) => None,
        })
    }

    /// The static analysis, where it is a step.
    pub fn static_work(&self) -> Option<&StaticWork> {
        self.steps.iter().find_map(|step| match &step.work {
            StepWork::Static(work) => Some(work),
            StepWork::Process(_) => None,
        })
    }
}
