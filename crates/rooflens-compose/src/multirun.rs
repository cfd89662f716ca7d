//! Sweeps: one command line, many jobs.

use std::path::PathBuf;

use indexmap::IndexMap;

use crate::compose::Composer;
use crate::composition::{Composition, CompositionView, JobFile, absolute};
use crate::error::ComposeError;
use crate::making::set;
use crate::overrides::Override;
use crate::request::{ComposeRequest, Mode};
use crate::sources::GroupContent;
use crate::value::{Int, Node, Value, python_str};

const MAX_JOBS: usize = 100_000;

/// A job of a sweep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Its number, from 0: `hydra.job.num`.
    pub number: usize,
    /// Its overrides, written again from the values that were read.
    pub overrides: Vec<String>,
}

/// The plan of a sweep.
#[derive(Debug, Clone)]
pub struct Multirun {
    /// The config of the sweep itself: `multirun.yaml`.
    pub master: Composition,
    /// The jobs. All jobs of a batch are composed before the first of them runs.
    pub batches: Vec<Vec<Job>>,
    request: ComposeRequest,
}

impl Composer {
    /// Plans a sweep: every combination of the values of its overrides, the last one changing
    /// fastest. `hydra.sweeper.params` come before the command line, which may change them.
    pub fn multirun(&self, request: &ComposeRequest) -> Result<Multirun, ComposeError> {
        let request = ComposeRequest { mode: Mode::Multirun, ..request.clone() };
        let master = self.compose(&request)?;
        let params = master.value_at("hydra.sweeper.params")?;
        let mut lines: Vec<String> = Vec::new();
        if let Some(map) = params.as_ref().and_then(Node::as_map) {
            let text = |value: &Value| python_str(value);
            lines
                .extend(map.iter().map(|(key, it)| format!("{}={}", text(&key.to_value()), text(&it.value))));
        }
        lines.extend(master.overrides.task.iter().cloned());
        let mut choices: IndexMap<String, Vec<String>> = IndexMap::new();
        for line in &lines {
            let parsed: Override = line.parse()?;
            let values = listed(&parsed, &master)?;
            choices.insert(parsed.key_text(), values);
        }
        let jobs = combinations(choices.values().map(Vec::as_slice).collect())?;
        let batch = batch_size(&master)?.unwrap_or(jobs.len()).max(1);
        let numbered: Vec<Job> =
            jobs.into_iter().enumerate().map(|(number, overrides)| Job { number, overrides }).collect();
        let mut batches: Vec<Vec<Job>> = numbered.chunks(batch).map(<[Job]>::to_vec).collect();
        if batches.is_empty() {
            batches.push(Vec::new());
        }
        Ok(Multirun { master, batches, request })
    }

    /// Composes a job of a sweep. Its `now` is that of the sweep.
    pub fn job(&self, multirun: &Multirun, job: &Job) -> Result<Composition, ComposeError> {
        let overrides = multirun.master.overrides.hydra.iter().chain(&job.overrides).cloned();
        let request =
            ComposeRequest { overrides: overrides.collect(), mode: Mode::Run, ..multirun.request.clone() };
        let mut composed = self.compose_with(&request, multirun.master.settings.clone())?;
        let number = i64::try_from(job.number).unwrap_or(i64::MAX);
        set(&mut composed.hydra, &["job", "id"], Value::Str(number.to_string()));
        set(&mut composed.hydra, &["job", "num"], Value::Int(Int::Small(number)));
        Ok(composed)
    }
}

impl Multirun {
    /// The folder of the sweep: `hydra.sweep.dir`.
    pub fn folder(&self) -> Result<PathBuf, ComposeError> {
        let folder = self.master.folder_at("hydra.sweep.dir")?;
        Ok(absolute(&self.master.settings.host.working_folder, &folder))
    }

    /// The file that Hydra leaves in the folder of a sweep.
    pub fn hydra_file(&self) -> JobFile {
        JobFile {
            path: "multirun.yaml".into(),
            text: crate::yaml::dump(&self.master.view(CompositionView::All)),
        }
    }
}

/// What a command line asks to run.
#[derive(Debug, Clone)]
pub enum RunOrSweep {
    /// One job.
    Run(Box<Composition>),
    /// The jobs of a sweep.
    Sweep(Box<Multirun>),
}

impl Composer {
    /// Composes what is to be run. `hydra.mode` decides between a job and a sweep where the config
    /// or an override sets it; else [`ComposeRequest::mode`] does, and is then noted as an override.
    pub fn launch(&self, request: &ComposeRequest) -> Result<RunOrSweep, ComposeError> {
        let mut request = request.clone();
        let asked = request.mode;
        let set = self.configured_mode(&request);
        if set.is_none() || (asked, set) == (Mode::Multirun, Some(Mode::Run)) {
            request.overrides.push(format!("hydra.mode={}", name(asked)));
        }
        match (set, asked) {
            (Some(Mode::Multirun), _) | (_, Mode::Multirun) => {
                self.multirun(&request).map(Box::new).map(RunOrSweep::Sweep)
            }
            _ => self.compose(&request).map(Box::new).map(RunOrSweep::Run),
        }
    }

    /// `hydra.mode`. What cannot be composed yet says nothing of it.
    fn configured_mode(&self, request: &ComposeRequest) -> Option<Mode> {
        let plan = self.compose(&ComposeRequest { mode: Mode::Multirun, ..request.clone() }).ok()?;
        match plan.value_at("hydra.mode").ok()??.value {
            Value::Str(mode) if mode == name(Mode::Multirun) => Some(Mode::Multirun),
            Value::Str(_) => Some(Mode::Run),
            _ => None,
        }
    }
}

fn name(mode: Mode) -> &'static str {
    match mode {
        Mode::Run => "RUN",
        Mode::Multirun => "MULTIRUN",
    }
}

fn listed(line: &Override, master: &Composition) -> Result<Vec<String>, ComposeError> {
    let key = line.key_text();
    if !line.is_sweep() {
        return Ok(vec![format!("{key}={}", line.job_text())]);
    }
    let wrong = |error: String| ComposeError::at(format!("'{}': {error}", line.text), &line.origin());
    let options = master.search_path.list(&line.key, GroupContent::Options);
    let texts = line.sweep_texts(&options).map_err(wrong)?.map(|text| format!("{key}={text}"));
    let texts: Vec<String> = texts.take(MAX_JOBS + 1).collect();
    if texts.len() > MAX_JOBS { Err(too_many_jobs()) } else { Ok(texts) }
}

fn too_many_jobs() -> ComposeError {
    ComposeError::new(format!("the sweep has more than {MAX_JOBS} jobs"))
        .with_hint("try fewer values, or several sweeps")
}

fn combinations(lists: Vec<&[String]>) -> Result<Vec<Vec<String>>, ComposeError> {
    let count = lists.iter().try_fold(1_usize, |count, list| count.checked_mul(list.len()));
    if count.is_none_or(|count| count > MAX_JOBS) {
        return Err(too_many_jobs());
    }
    let mut jobs: Vec<Vec<String>> = vec![Vec::new()];
    for list in lists {
        let longer = jobs
            .iter()
            .flat_map(|job| list.iter().map(move |value| job.iter().chain([value]).cloned().collect()));
        jobs = longer.collect();
    }
    Ok(jobs)
}

fn batch_size(master: &Composition) -> Result<Option<usize>, ComposeError> {
    match master.value_at("hydra.sweeper.max_batch_size")?.map(|node| node.value) {
        Some(Value::Int(Int::Small(size))) => match usize::try_from(size) {
            Ok(size) if size > 0 => Ok(Some(size)),
            _ => {
                let key = "hydra.sweeper.max_batch_size";
                Err(ComposeError::of_key(key, "at least 1", &size.to_string()))
            }
        },
        _ => Ok(None),
    }
}
