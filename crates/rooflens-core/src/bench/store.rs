//! Where a load test is kept: a run directory, or nowhere.

use std::path::{Path, PathBuf};

use rooflens_report::bench::{curve, html};
use rooflens_schema::parquet_io::edit_run_row;
use rooflens_schema::{RunDir, RunId};
use serde_json::{Map, Value as Json};

use super::describe::Described;
use super::document::BenchDocument;
use super::level::LevelRun;
use super::levels::BenchLevel;
use super::watch::PROGRESS_FILE;
use crate::disk;
use crate::error::{BenchError, Error};

const KIND: &str = "bench";

pub(crate) struct BenchFolder {
    root: PathBuf,
    is_single: bool,
    temporary: Option<tempfile::TempDir>,
}

impl BenchFolder {
    pub(crate) fn open(path: Option<&Path>, is_single: bool) -> Result<Self, Error> {
        let Some(path) = path else {
            let folder = tempfile::Builder::new().prefix("rooflens-bench-").tempdir();
            let folder = folder.map_err(|source| Error::unwritable(std::env::temp_dir(), source))?;
            return Ok(BenchFolder { root: folder.path().to_owned(), is_single, temporary: Some(folder) });
        };
        if is_load_test(path) {
            let fact =
                format!("{} holds a load test already: give another folder, or remove it", path.display());
            return Err(BenchError::Target(fact).into());
        }
        let run = disk::destination(path)?;
        disk::make(run.root())?;
        Ok(BenchFolder { root: path.to_owned(), is_single, temporary: None })
    }

    pub(crate) fn server_folder(&self, number: usize) -> PathBuf {
        self.root.join("raw").join(format!("server-{number}"))
    }

    pub(crate) fn level_folder(&self, number: usize, level: &BenchLevel) -> RunDir {
        match self.is_single {
            true => RunDir::new(&self.root),
            false => RunDir::new(self.root.join("levels").join(level.folder_name(number))),
        }
    }

    pub(crate) fn relative(&self, folder: &Path) -> Option<String> {
        let kept = self.temporary.is_none().then(|| folder.strip_prefix(&self.root).ok())??;
        Some(kept.to_string_lossy().into_owned()).filter(|path| !path.is_empty())
    }

    pub(crate) fn save_level(&self, run: &LevelRun, described: &Described) -> Result<(), Error> {
        if self.temporary.is_some() {
            return Ok(());
        }
        let edited = edit_run_row(&run.folder, KIND, |row| {
            let document = &described.document;
            row.run_id = RunId::new();
            row.kind = KIND.to_owned();
            row.status.clone_from(&document.status);
            row.base_unix_ns = Some(run.outcome.base_unix_ns).into();
            row.start_unix_ns = Some(run.outcome.base_unix_ns).into();
            row.span_ns = run.outcome.span_ns;
            row.events = run.requests.len() as i64;
            row.model = Some(document.server.model.clone());
            row.runtime.clone_from(&document.server.kind);
            row.runtime_version.clone_from(&document.server.version);
            row.rooflens_version = Some(env!("CARGO_PKG_VERSION").to_owned());
            row.workload = Some(document.workload.clone());
            let number = |value: f64| serde_json::Number::from_f64(value).map(Json::Number);
            let metrics: Map<String, Json> = document
                .headline
                .iter()
                .filter_map(|(key, value)| Some((key.clone(), number((*value)?)?)))
                .collect();
            row.metrics = (!metrics.is_empty()).then(|| Json::Object(metrics).to_string());
        });
        edited.map_err(Error::unwritable_tables)?;
        write(&run.folder, described)?;
        disk::remove(&run.folder.root().join(PROGRESS_FILE))
    }

    /// Writes what is about all levels, and answers where the page is.
    pub fn save(&self, described: &Described) -> Result<Option<PathBuf>, Error> {
        if self.temporary.is_some() {
            return Ok(None);
        }
        let folder = RunDir::new(&self.root);
        if self.is_single {
            return Ok(Some(folder.report().join("index.html")));
        }
        write(&folder, described).map(Some)
    }
}

fn is_load_test(path: &Path) -> bool {
    let metrics = disk::read_json(&RunDir::new(path).report().join(disk::METRICS));
    metrics["schema"]["name"] == "rooflens.bench"
}

fn write(run: &RunDir, described: &Described) -> Result<PathBuf, Error> {
    let mut document: BenchDocument = described.document.clone();
    document.run = run.root().file_name().unwrap_or_default().to_string_lossy().into_owned();
    let folder = run.report();
    disk::make(&folder)?;
    disk::write_json(folder.join(disk::METRICS), &document)?;
    if let Some(drawing) = curve(&described.facts.levels) {
        disk::make(&folder.join("figures"))?;
        disk::write(folder.join(&drawing.path), drawing.svg.as_bytes())?;
    }
    let page = folder.join("index.html");
    let title = format!("{} · {}", document.server.model, document.load.offered);
    disk::write(page.clone(), html(&title, &described.facts).as_bytes())?;
    Ok(page)
}
