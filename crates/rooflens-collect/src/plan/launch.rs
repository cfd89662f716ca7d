//! The workload of a run, which each stage starts in its own way.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::{Command, Pass, Root, Stage, Step, Word, Work, WrittenFile};
use crate::settings::Settings;

/// The workload of a run.
pub struct Launch<'a> {
    settings: &'a Settings,
    config: &'a Json,
}

/// Environment variables that every workload gets, unless the config says otherwise.
const USUAL_ENV: &[(&str, &str)] = &[
    // Models and datasets are folders; nothing is fetched that nobody asked for.
    ("HF_HUB_OFFLINE", "1"),
    // What was printed before a crash is in the log.
    ("PYTHONUNBUFFERED", "1"),
];

impl<'a> Launch<'a> {
    pub(super) fn new(settings: &'a Settings, config: &'a Json) -> Self {
        Self { settings, config }
    }

    /// The settings of the run.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        self.settings
    }

    /// The step that runs one pass in a process of its own.
    #[must_use]
    pub fn step(&self, stage: Stage, pass: Pass, purpose: &str) -> Step {
        let runtime = &self.settings.runtime;
        let folder = format!("raw/{}", stage.name());
        let specification = format!("{folder}/spec.json");
        let interpreter = runtime.interpreter();
        let mut argv = interpreter.argv;
        argv.extend(["-m", "rooflens.workload"].map(Word::plain));
        argv.push(Word::In(Root::Run, specification.clone()));
        let left = runtime.runtime.leaves(pass);
        let command = Command {
            argv,
            env: self.env(interpreter.env),
            cwd: Word::In(Root::Project, String::new()),
            writes: vec![self.specification(specification, &folder, stage, pass)],
            expects: left.iter().map(|file| format!("{folder}/{file}")).collect(),
            timeout_s: runtime.timeout_s,
            packages: runtime.runtime.packages().iter().map(|&package| package.to_owned()).collect(),
            install: interpreter.install,
        };
        Step {
            name: stage.name().to_owned(),
            stage,
            purpose: purpose.to_owned(),
            work: Work::Process(Box::new(command)),
        }
    }

    fn env(&self, of_interpreter: BTreeMap<String, Word>) -> BTreeMap<String, Word> {
        let own = &self.settings.runtime.env;
        let mut env: BTreeMap<String, Word> =
            USUAL_ENV.iter().map(|(name, value)| ((*name).to_owned(), Word::plain(*value))).collect();
        env.extend(of_interpreter);
        env.extend(own.iter().map(|(name, value)| (name.clone(), Word::plain(value))));
        env.insert("PYTHONPATH".to_owned(), Word::PythonPath(own.get("PYTHONPATH").cloned()));
        env
    }

    fn specification(&self, path: String, folder: &str, stage: Stage, pass: Pass) -> WrittenFile {
        let mut paths = BTreeMap::from([
            ("output".into(), Word::In(Root::Run, folder.to_owned())),
            ("project".into(), Word::In(Root::Project, String::new())),
        ]);
        if self.settings.runtime.runtime.keeps_weights() {
            paths.insert("cache".into(), Word::In(Root::Run, WEIGHTS.to_owned()));
        }
        let content = json!({ "pass": pass.name(), "config": only(self.config, stage) });
        WrittenFile { path, paths, content }
    }
}

/// Where weights are kept between passes, from the run's folder.
pub(crate) const WEIGHTS: &str = "cache";

/// The config for the process of one stage: the other stages are off, so that no profiler is in
/// another's numbers.
fn only(config: &Json, stage: Stage) -> Json {
    let mut config = config.clone();
    for other in Stage::ALL.iter().filter(|other| **other != stage) {
        if let Some(enable) = config.pointer_mut(&format!("/pipeline/{}/enable", other.name())) {
            *enable = Json::Bool(false);
        }
    }
    config
}
