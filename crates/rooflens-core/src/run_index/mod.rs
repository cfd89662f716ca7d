//! Run directories below a folder: found, listed, tagged and deleted, without analysing any of them.
//!
//! A run costs two small files to list: its row of the table `runs`, and the numbers at the top of its report. Links are
//! never followed, so that nothing outside the folder is read, listed or deleted.

mod deletion;
mod filter;
mod folders;
mod numbers;
mod scan;
mod tags;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

pub use self::deletion::{DeletedRun, PlannedDeletion, RunsDeletedDocument, plan_deletion};
pub(crate) use self::filter::no_such_value;
pub use self::filter::{COMPARED, RunColumn, RunCondition, RunFilter, RunOrder, mixed_columns};
pub use self::folders::{FolderScan, RunFolder, RunFolderKind, folders_below};
pub(crate) use self::numbers::KeptNumbers;
pub use self::scan::{id_at, indexed, is_run, listed, natural, oldest_first, scan};
pub(crate) use self::tags::not_a_tag;
pub use self::tags::{TagsDocument, is_tag, tag, untag};

/// A run of a folder or of a store, as lists of runs show it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IndexedRun {
    /// Its id; null where the run is too damaged to tell.
    pub run_id: Option<String>,
    /// Its folder, from the one that was scanned, with `/` between the parts; `.` where it is that folder itself. Null for a
    /// run of a store.
    #[serde(default)]
    pub folder: Option<String>,
    /// Folder of the sweep or load test that it is part of, likewise; null where it is part of none.
    #[serde(default)]
    pub(crate) sweep: Option<String>,
    /// Whose run; null for a run of a folder.
    pub tenant: Option<String>,
    /// The day that it is filed under, or on which it began; null where the run does not say.
    pub day: Option<String>,
    /// When it was added to the store, since 1970; null for a run of a folder.
    pub(crate) added_unix_ns: Option<i64>,
    /// Tags: of a run of a store, its label.
    #[serde(default)]
    pub tags: Vec<String>,
    /// What is wrong with its files; null where nothing is.
    #[serde(default)]
    pub problem: Option<String>,
    /// Its row of the table `runs`, and its metrics under `metrics`.
    pub row: Map<String, Json>,
}

impl IndexedRun {
    /// A metric, by its key; nothing where it was not measured.
    pub fn metric(&self, key: &str) -> Option<f64> {
        self.row.get("metrics")?.get(key)?.as_f64().filter(|value| value.is_finite())
    }

    /// When it began, since 1970.
    pub fn start_unix_ns(&self) -> Option<i64> {
        self.row.get("start_unix_ns")?.as_i64()
    }

    /// The build that it ran, else the version; empty where it does not say.
    pub fn build(&self) -> String {
        let build = self.text("runtime_build");
        if build.is_empty() { self.text("runtime_version") } else { build }
    }

    /// A column as text; empty where it is null. Columns are those of `runs`, and `run_id`, `folder`, `sweep`, `tenant`,
    /// `day` and `problem`.
    pub fn text(&self, column: &str) -> String {
        let own = |word: &Option<String>| word.clone().unwrap_or_default();
        match column {
            "run_id" => own(&self.run_id),
            "folder" => own(&self.folder),
            "sweep" => own(&self.sweep),
            "tenant" => own(&self.tenant),
            "day" => own(&self.day),
            "problem" => own(&self.problem),
            _ => match self.row.get(column) {
                Some(Json::String(word)) => word.clone(),
                Some(Json::Null) | None => String::new(),
                Some(other) => other.to_string(),
            },
        }
    }
}
