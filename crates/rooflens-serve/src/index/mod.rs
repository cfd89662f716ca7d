//! The runs that are served: found by looking, never by what somebody asks for. A request names a run by an id of this
//! index, and nothing that it says becomes a path.

mod chosen;
mod folder;
mod stored;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rooflens_core::run_index::{COMPARED, IndexedRun, natural};
use serde_json::{Map, Value as Json};

use crate::settings::DashboardError;

pub(crate) use self::chosen::{ChosenRuns, Facet, RunChoice};
pub(crate) use self::folder::is_contained;

/// Where a run is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RunPlace {
    /// A run directory.
    Folder(PathBuf),
    /// A run of the store, with its row.
    Stored {
        /// Its id.
        run_id: String,
        /// Its row of the table `runs`.
        row: Map<String, Json>,
    },
}

/// A run, as lists show it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ListedRun {
    /// What addresses name it by.
    pub(crate) id: String,
    /// What people call it.
    pub(crate) name: String,
    /// Where it is.
    pub(crate) place: RunPlace,
    /// What it is and was made on, by column: `kind`, `model`, `device`, `engine`, `build`, `label`, `status`.
    pub(crate) words: BTreeMap<&'static str, String>,
    /// Its tags.
    pub(crate) tags: Vec<String>,
    /// What runs must agree in to be compared, by column.
    pub(crate) compared: BTreeMap<&'static str, String>,
    /// When it began, since 1970.
    pub(crate) began_unix_ns: Option<i64>,
    /// Headline metrics by key.
    pub(crate) metrics: BTreeMap<String, f64>,
    /// Whether it is still being made.
    pub(crate) is_live: bool,
    /// Changes when its files do.
    pub(crate) version: String,
    /// All its words in small letters, to search in.
    searched: String,
}

impl ListedRun {
    /// A word of it; empty where the run does not say.
    pub(crate) fn word(&self, column: &str) -> &str {
        self.words.get(column).map_or("", String::as_str)
    }

    /// What it has in a column: one word, several tags, or nothing.
    pub(crate) fn values<'a>(&'a self, column: &str) -> impl Iterator<Item = &'a str> {
        let tags = if column == "label" { self.tags.as_slice() } else { &[] };
        let word = Some(self.word(column)).filter(|word| column != "label" && !word.is_empty());
        tags.iter().map(String::as_str).chain(word)
    }

    /// A key that puts the oldest first; those that began together by build and name, as [`oldest_first`] does.
    ///
    /// [`oldest_first`]: rooflens_core::run_index::oldest_first
    pub(crate) fn age(&self) -> impl Ord + use<> {
        (self.began_unix_ns, natural(self.word("build")), natural(&self.name))
    }

    /// What the index of runs knows of it.
    fn take(&mut self, run: &IndexedRun) {
        self.words = BTreeMap::from([
            ("run", run.text("run_id")),
            ("kind", run.text("kind")),
            ("model", run.text("model")),
            ("device", run.text("hardware")),
            ("engine", run.text("runtime")),
            ("build", run.build()),
            ("label", run.tags.join(", ")),
            ("status", run.text("status")),
            ("tenant", run.text("tenant")),
        ]);
        self.tags = run.tags.clone();
        self.compared = COMPARED.iter().map(|column| (*column, run.text(column))).collect();
        let metrics = run.row.get("metrics").and_then(Json::as_object).into_iter().flatten();
        self.metrics = metrics.filter_map(|(key, value)| Some((key.clone(), value.as_f64()?))).collect();
        self.began_unix_ns = run.start_unix_ns();
    }

    fn completed(mut self) -> Self {
        self.words.retain(|_, word| !word.is_empty());
        let words = self.words.values().map(String::as_str).chain([self.name.as_str(), self.id.as_str()]);
        self.searched = words.collect::<Vec<_>>().join("\n").to_lowercase();
        self
    }
}

/// All runs at one moment.
#[derive(Debug, Default)]
pub(crate) struct RunIndex {
    /// Grows whenever something changed.
    pub(crate) generation: u64,
    /// The runs, newest first.
    pub(crate) runs: Vec<Arc<ListedRun>>,
    /// Whether there are more than are shown.
    pub(crate) is_cut: bool,
    by_id: HashMap<String, usize>,
}

impl RunIndex {
    fn of(generation: u64, mut runs: Vec<Arc<ListedRun>>, is_cut: bool) -> Self {
        runs.sort_by(|a, b| b.began_unix_ns.cmp(&a.began_unix_ns).then_with(|| a.name.cmp(&b.name)));
        let by_id = runs.iter().enumerate().map(|(at, run)| (run.id.clone(), at)).collect();
        RunIndex { generation, runs, is_cut, by_id }
    }

    /// The run of an id.
    pub fn find(&self, id: &str) -> Option<&Arc<ListedRun>> {
        self.by_id.get(id).map(|at| &self.runs[*at])
    }
}

/// Where the runs come from.
#[derive(Debug)]
pub(crate) enum RunSource {
    /// A folder of run directories, as it really is.
    Folder(PathBuf),
    /// A store, by its address.
    Store(String),
}

impl RunSource {
    /// A folder, or the address of a store.
    pub(crate) fn open(text: &str) -> Result<Self, DashboardError> {
        if text.contains("://") {
            return Ok(RunSource::Store(text.to_owned()));
        }
        let unreadable = |source| DashboardError::Folder { path: text.to_owned(), source };
        let folder = Path::new(text).canonicalize().map_err(unreadable)?;
        std::fs::read_dir(&folder).map_err(unreadable)?;
        match folder.join("store.json").is_file() {
            true => Ok(RunSource::Store(text.to_owned())),
            false => Ok(RunSource::Folder(folder)),
        }
    }

    /// The store, where it is one.
    pub(crate) fn store(&self) -> Option<&str> {
        match self {
            RunSource::Store(address) => Some(address),
            RunSource::Folder(_) => None,
        }
    }

    /// What people call it.
    pub(crate) fn title(&self) -> String {
        match self {
            RunSource::Store(address) => address.clone(),
            RunSource::Folder(path) => {
                path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
            }
        }
    }

    /// Looks again; nothing where all is as it was.
    pub(crate) fn refresh(&self, before: &RunIndex) -> Result<Option<RunIndex>, DashboardError> {
        let (runs, is_cut) = match self {
            RunSource::Folder(root) => folder::scan(root, before),
            RunSource::Store(address) => match stored::runs(address, before)? {
                Some(runs) => (runs, false),
                None => return Ok(None),
            },
        };
        let after = RunIndex::of(before.generation + 1, runs, is_cut);
        Ok((after.runs != before.runs || before.generation == 0).then_some(after))
    }
}
