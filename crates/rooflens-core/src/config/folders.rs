//! The folders of jobs, with the files that say how each job was composed.

use std::fs;
use std::path::{Path, PathBuf};

use rooflens_compose::value::{Key, Map, Node, Value};
use rooflens_compose::{Composer, Composition, JobFile, RunOrSweep, yaml};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::origins;
use crate::error::Error;

pub(crate) const OWN_FOLDER: &str = ".rooflens";

/// A job whose folder is made.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Prepared {
    /// Its number in the sweep; null where it is the only one.
    pub(crate) number: Option<usize>,
    /// Its folder.
    pub folder: PathBuf,
    /// Its overrides.
    pub(crate) overrides: Vec<String>,
    /// The files that were written, from its folder.
    pub(crate) files: Vec<PathBuf>,
}

/// A job that is composed and knows its folder, which is not made yet.
pub(crate) struct PlacedJob {
    pub(crate) number: Option<usize>,
    pub(crate) folder: PathBuf,
    pub(crate) composition: Composition,
}

/// Every job of a launch, and of a sweep its own folder and file. Nothing is written.
pub(crate) struct Jobs {
    pub(crate) jobs: Vec<PlacedJob>,
    pub(crate) sweep: Option<(PathBuf, JobFile)>,
}

/// Composes every job, so that a mistake in the last leaves nothing behind.
pub(crate) fn compose(composer: &Composer, launch: RunOrSweep) -> Result<Jobs, Error> {
    match launch {
        RunOrSweep::Run(mut composition) => {
            let folder = composition.begin(false).map_err(Error::compose)?;
            let job = PlacedJob { number: None, folder, composition: *composition };
            Ok(Jobs { jobs: vec![job], sweep: None })
        }
        RunOrSweep::Sweep(multirun) => {
            let mut jobs = Vec::new();
            for job in multirun.batches.iter().flatten() {
                let mut composition = composer.job(&multirun, job).map_err(Error::compose)?;
                let folder = composition.begin(true).map_err(Error::compose)?;
                jobs.push(PlacedJob { number: Some(job.number), folder, composition });
            }
            let sweep = Some((multirun.folder().map_err(Error::compose)?, multirun.hydra_file()));
            Ok(Jobs { jobs, sweep })
        }
    }
}

/// Makes the folder of every job, with the files that say how it was composed.
pub fn prepare(composer: &Composer, launch: RunOrSweep, with_hydra: bool) -> Result<Vec<Prepared>, Error> {
    let Jobs { jobs, sweep } = compose(composer, launch)?;
    let mut prepared = Vec::new();
    for job in &jobs {
        prepared.push((job, files(&job.composition, with_hydra)?));
    }
    if let Some((folder, file)) = sweep.filter(|_| with_hydra) {
        make_sweep(&folder, &file)?;
    }
    let made = prepared.into_iter().map(|(job, files)| {
        write(&job.folder, &files)?;
        let files = files.into_iter().map(|file| file.path).collect();
        let overrides = job.composition.overrides.task.clone();
        Ok(Prepared { number: job.number, folder: job.folder.clone(), overrides, files })
    });
    made.collect()
}

pub(crate) fn make(job: &PlacedJob, with_hydra: bool) -> Result<(), Error> {
    write(&job.folder, &files(&job.composition, with_hydra)?)
}

pub(crate) fn make_sweep(folder: &Path, file: &JobFile) -> Result<(), Error> {
    write(folder, std::slice::from_ref(file))
}

fn files(composition: &Composition, with_hydra: bool) -> Result<Vec<JobFile>, Error> {
    let resolved = composition.resolved().map_err(Error::compose)?;
    let own = |name: &str, text| JobFile { path: Path::new(OWN_FOLDER).join(name), text };
    let overrides = Node::new(Value::List(composition.overrides.task.iter().map(|it| text(it)).collect()));
    let mut files = vec![
        own("config.yaml", yaml::dump(&resolved)),
        own("overrides.yaml", yaml::dump(&overrides)),
        own("rooflens.yaml", yaml::dump(&provenance(composition, &resolved))),
    ];
    if with_hydra {
        files.extend(composition.hydra_files().map_err(Error::compose)?);
    }
    Ok(files)
}

/// Who composed it, what was chosen, and where each value was written.
fn provenance(composition: &Composition, resolved: &Node) -> Node {
    let choices = composition.choices.iter().map(|(group, option)| {
        (group.as_str().into(), option.as_deref().map_or(Node::new(Value::Null), text))
    });
    let leaves = origins::leaves(resolved);
    let places =
        leaves.iter().map(|leaf| (Key::Str(leaf.path.clone()), text(&origins::place(&leaf.node.origin))));
    let map = |entries: Map| Node::new(Value::Map(entries));
    map(Map::from_iter([
        ("version".into(), text(env!("CARGO_PKG_VERSION"))),
        ("choices".into(), map(choices.collect())),
        ("origins".into(), map(places.collect())),
    ]))
}

fn text(text: &str) -> Node {
    Node::new(Value::Str(text.to_owned()))
}

fn write(folder: &Path, files: &[JobFile]) -> Result<(), Error> {
    for file in files {
        let path = folder.join(&file.path);
        let parent = path.parent().unwrap_or(folder);
        let written = fs::create_dir_all(parent).and_then(|()| fs::write(&path, &file.text));
        written.map_err(|source| Error::unwritable(path, source))?;
    }
    Ok(())
}
