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

pub(crate) use self::chosen::{COLUMNS, ChosenRuns, Facet, RunChoice};
pub(crate) use self::folder::is_contained;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RunPlace {
    Folder(PathBuf),
    Stored { run_id: String, row: Map<String, Json> },
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ListedRun {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) place: RunPlace,
    pub(crate) words: BTreeMap<&'static str, String>,
    pub(crate) tags: Vec<String>,
    /// What runs must agree in to be compared, by column.
    pub(crate) compared: BTreeMap<&'static str, String>,
    pub(crate) began_unix_ns: Option<i64>,
    pub(crate) metrics: BTreeMap<String, f64>,
    pub(crate) is_live: bool,
    pub(crate) version: String,
    /// All its words in small letters, to search in.
    searched: String,
}

impl ListedRun {
    /// A run of which nothing else is known.
    fn new(id: String, name: String, place: RunPlace, version: String) -> Self {
        ListedRun {
            id,
            name,
            place,
            version,
            words: BTreeMap::new(),
            tags: Vec::new(),
            compared: BTreeMap::new(),
            began_unix_ns: None,
            metrics: BTreeMap::new(),
            is_live: false,
            searched: String::new(),
        }
    }

    pub(crate) fn word(&self, column: &str) -> &str {
        self.words.get(column).map_or("", String::as_str)
    }

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

#[derive(Debug, Default)]
pub(crate) struct RunIndex {
    /// Grows whenever something changed.
    pub(crate) generation: u64,
    /// The runs, newest first.
    pub(crate) runs: Vec<Arc<ListedRun>>,
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

pub(crate) enum RunSource {
    Folder(PathBuf),
    Store(String),
}

impl RunSource {
    pub(crate) fn open(text: &str) -> Result<Self, DashboardError> {
        if text.contains("://") {
            return Ok(RunSource::Store(text.to_owned()));
        }
        let unreadable = |source: std::io::Error| {
            let hint = "rooflens run and rooflens analyze -o write runs; name the folder that holds them";
            DashboardError::settings(format!("{text} cannot be read: {source}"), hint)
        };
        let folder = Path::new(text).canonicalize().map_err(unreadable)?;
        std::fs::read_dir(&folder).map_err(unreadable)?;
        match folder.join("store.json").is_file() {
            true => Ok(RunSource::Store(text.to_owned())),
            false => Ok(RunSource::Folder(folder)),
        }
    }

    pub(crate) fn store(&self) -> Option<&str> {
        match self {
            RunSource::Store(address) => Some(address),
            RunSource::Folder(_) => None,
        }
    }

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
