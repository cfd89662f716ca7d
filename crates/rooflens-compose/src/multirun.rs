//! Sweeps: one command line, many jobs.

use indexmap::IndexMap;

use crate::compose::Composer;
use crate::compose::{ComposeRequest, Mode};
use crate::composition::Composition;
use crate::error::{ComposeError, Fault};
use crate::making::set;
use crate::overrides::Override;
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
    ///
    /// # Errors
    /// Where the sweep's own config cannot be composed, or its values cannot be listed.
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
    ///
    /// # Errors
    /// Where the job's config cannot be composed.
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

/// The overrides of the jobs that one override stands for.
fn listed(line: &Override, master: &Composition) -> Result<Vec<String>, ComposeError> {
    let key = line.key_text();
    if !line.is_sweep() {
        return Ok(vec![format!("{key}={}", line.job_text())]);
    }
    let wrong = |error| ComposeError::at(Fault::Sweep { input: line.text.clone(), error }, &line.origin());
    let options = master.search_path.list(&line.key, GroupContent::Options);
    let texts = line.sweep_texts(&options).map_err(wrong)?.map(|text| format!("{key}={text}"));
    let texts: Vec<String> = texts.take(MAX_JOBS + 1).collect();
    if texts.len() > MAX_JOBS { Err(Fault::TooManyJobs { limit: MAX_JOBS }.into()) } else { Ok(texts) }
}

/// All combinations, the last list changing fastest.
fn combinations(lists: Vec<&[String]>) -> Result<Vec<Vec<String>>, ComposeError> {
    let count = lists.iter().try_fold(1_usize, |count, list| count.checked_mul(list.len()));
    if count.is_none_or(|count| count > MAX_JOBS) {
        return Err(Fault::TooManyJobs { limit: MAX_JOBS }.into());
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
                let key = "hydra.sweeper.max_batch_size".to_owned();
                Err(Fault::FieldKind { key, expected: "at least 1", found: size.to_string() }.into())
            }
        },
        _ => Ok(None),
    }
}
