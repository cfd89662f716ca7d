//! The workload of a run, which each stage starts in its own way.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::{CommandWord, PlanRoot, PlannedStep, ProcessCommand, RunStage, StepWork, WrittenFile};
use crate::settings::RunSettings;

/// The workload of a run.
pub struct WorkloadLaunch<'a> {
    settings: &'a RunSettings,
    config: &'a Json,
}

/// Environment variables that every workload gets, unless the config says otherwise.
const USUAL_ENV: &[(&str, &str)] = &[
    // Models and datasets are folders; nothing is fetched that nobody asked for.
    ("HF_HUB_OFFLINE", "1"),
    // What was printed before a crash is in the log.
    ("PYTHONUNBUFFERED", "1"),
];

impl<'a> WorkloadLaunch<'a> {
    pub(super) fn new(settings: &'a RunSettings, config: &'a Json) -> Self {
        Self { settings, config }
    }

    pub(crate) fn settings(&self) -> &RunSettings {
        self.settings
    }

    pub(crate) fn step(&self, stage: RunStage, purpose: &str) -> PlannedStep {
        let runtime = &self.settings.runtime;
        let folder = format!("raw/{}", stage.name());
        let specification = format!("{folder}/spec.json");
        let interpreter = runtime.interpreter();
        let mut argv = interpreter.argv;
        argv.extend(["-m", "rooflens.workload"].map(CommandWord::plain));
        argv.push(CommandWord::In(PlanRoot::Run, specification.clone()));
        let left = runtime.runtime.leaves(stage);
        let command = ProcessCommand {
            argv,
            env: self.env(interpreter.env),
            cwd: CommandWord::In(PlanRoot::Project, String::new()),
            writes: vec![self.specification(specification, &folder, stage)],
            expects: left.iter().map(|file| format!("{folder}/{file}")).collect(),
            timeout_s: runtime.timeout_s,
            packages: runtime.runtime.packages.iter().map(|&package| package.to_owned()).collect(),
            install: interpreter.install,
        };
        PlannedStep {
            name: stage.name().to_owned(),
            stage,
            purpose: purpose.to_owned(),
            work: StepWork::Process(Box::new(command)),
        }
    }

    fn env(&self, of_interpreter: BTreeMap<String, CommandWord>) -> BTreeMap<String, CommandWord> {
        let own = &self.settings.runtime.env;
        let mut env: BTreeMap<String, CommandWord> =
            USUAL_ENV.iter().map(|(name, value)| ((*name).to_owned(), CommandWord::plain(*value))).collect();
        env.extend(of_interpreter);
        env.extend(own.iter().map(|(name, value)| (name.clone(), CommandWord::plain(value))));
        env.insert("PYTHONPATH".to_owned(), CommandWord::PythonPath(own.get("PYTHONPATH").cloned()));
        env
    }

    fn specification(&self, path: String, folder: &str, stage: RunStage) -> WrittenFile {
        let mut paths = BTreeMap::from([
            ("output".into(), CommandWord::In(PlanRoot::Run, folder.to_owned())),
            ("project".into(), CommandWord::In(PlanRoot::Project, String::new())),
        ]);
        if self.settings.runtime.runtime.keeps_weights {
            paths.insert("cache".into(), CommandWord::In(PlanRoot::Run, WEIGHTS.to_owned()));
        }
        let content = json!({ "pass": stage.pass(), "config": only(self.config, stage) });
        WrittenFile { path, paths, content }
    }
}

/// Where weights are kept between passes, from the run's folder.
pub(crate) const WEIGHTS: &str = "cache";

/// The config for the process of one stage: the other stages are off, so that no profiler is in
/// another's numbers.
fn only(config: &Json, stage: RunStage) -> Json {
    let mut config = config.clone();
    for other in RunStage::ALL.iter().filter(|other| **other != stage) {
        if let Some(enable) = config.pointer_mut(&format!("/pipeline/{}/enable", other.name())) {
            *enable = Json::Bool(false);
        }
    }
    config
}
