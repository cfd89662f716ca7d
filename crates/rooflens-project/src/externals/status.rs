//! How each source stands against the lock.

use std::fs;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::identifiers::{ObjectId, Revision, SourceName};
use super::lock::LockedSource;
use super::observed::{Observed, Stands};
use super::project::Externals;
use super::url::SourceUrl;
use super::{ExternalsError, SCHEMA_VERSION, SourceKind, read_only};

/// Status of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// As the lock says.
    InSync,
    /// Not there.
    Missing,
    /// A change of it was interrupted.
    Unfinished,
    /// Something else is in its place.
    InTheWay,
    /// Files were changed.
    Edited,
    /// At another commit.
    OtherCommit,
    /// At the commit, with other paths checked out.
    OtherPaths,
    /// There, but the project's repository does not know it as a submodule.
    Detached,
}

impl Condition {
    /// What it is, for messages: "third_party/github/x is …".
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Condition::InSync => "in sync",
            Condition::Missing => "missing",
            Condition::Unfinished => "unfinished: a sync was interrupted",
            Condition::InTheWay => "something else",
            Condition::Edited => "edited",
            Condition::OtherCommit => "at another commit",
            Condition::OtherPaths => "checked out with other paths",
            Condition::Detached => "not known to git as a submodule",
        }
    }

    /// Judges the facts. Pure.
    pub(super) fn of(source: &LockedSource, observed: &Observed) -> Self {
        match observed.stands {
            Stands::Other(_) => Condition::InTheWay,
            _ if observed.unfinished => Condition::Unfinished,
            Stands::Absent | Stands::Empty => Condition::Missing,
            Stands::Folder if observed.foreign.is_some() => Condition::InTheWay,
            // A linked checkout is its owner's: edits are told, and are no reason to replace it.
            Stands::Folder if !observed.edits.is_empty() && source.pin.kind != SourceKind::Link => {
                Condition::Edited
            }
            Stands::Folder if observed.detached => Condition::Detached,
            Stands::Folder if observed.agrees => Condition::InSync,
            Stands::Folder if observed.commit.as_ref() == Some(&source.pin.commit) => Condition::OtherPaths,
            Stands::Folder => Condition::OtherCommit,
        }
    }
}

/// Every source, and what stands there without being one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StatusReport {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Whether every source is as the lock says.
    pub in_sync: bool,
    /// The sources, by name.
    pub sources: Vec<SourceStatus>,
    /// Folders beside them that the lock does not know.
    pub unlisted: Vec<String>,
}

/// Status of one source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SourceStatus {
    /// Its name.
    pub name: SourceName,
    /// How it is kept.
    pub kind: SourceKind,
    /// Its folder, from the project's root.
    pub place: String,
    /// Where it comes from.
    pub url: SourceUrl,
    /// What was asked for.
    pub revision: Revision,
    /// The pinned commit.
    pub commit: ObjectId,
    /// The commit it is at; null if it is missing or not known.
    pub found_commit: Option<ObjectId>,
    /// The verdict.
    pub condition: Condition,
    /// The files that were changed, within the source; `.` if only the source as a whole is known to differ.
    pub edits: Vec<String>,
    /// Its licence files.
    pub licences: Vec<LicenceStatus>,
    /// Whether no file can be written by accident; null if it is missing or a link.
    pub read_only: Option<bool>,
}

/// A licence file that the lock names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LicenceStatus {
    /// Its path within the source.
    pub path: String,
    /// Whether it exists.
    pub present: bool,
}

impl Externals {
    /// Compares every source with the lock. Reads only, and only this machine.
    ///
    /// # Errors
    /// When the lock cannot be read, or a source cannot be looked at.
    pub fn status(&self) -> Result<StatusReport, ExternalsError> {
        self.refuse_links()?;
        let lock = self.lock()?;
        let sources: Vec<SourceStatus> =
            lock.sources.values().map(|source| self.source_status(source)).collect::<Result<_, _>>()?;
        let in_sync = sources.iter().all(|source| source.condition == Condition::InSync);
        let mut unlisted = Vec::new();
        for shelf in ["third_party/github", "third_party/hf"] {
            unlisted.extend(self.folders_of(shelf)?.into_iter().filter(|place| lock.owner(place).is_none()));
        }
        Ok(StatusReport { schema_version: SCHEMA_VERSION, in_sync, sources, unlisted })
    }

    fn source_status(&self, source: &LockedSource) -> Result<SourceStatus, ExternalsError> {
        let pin = &source.pin;
        let place = pin.place();
        let observed = pin.kind.keeper().observe(self, source)?;
        let present = |path: &String| self.path(&format!("{place}/{path}")).symlink_metadata().is_ok();
        let licence = |path: &String| LicenceStatus { path: path.clone(), present: present(path) };
        let is_there =
            observed.stands == Stands::Folder && observed.foreign.is_none() && pin.kind != SourceKind::Link;
        let read_only = if is_there { Some(read_only::is_marked(&self.path(&place))?) } else { None };
        Ok(SourceStatus {
            name: pin.name.clone(),
            kind: pin.kind,
            url: pin.url.clone(),
            revision: pin.revision.clone(),
            commit: pin.commit.clone(),
            condition: Condition::of(source, &observed),
            licences: source.licences.iter().map(licence).collect(),
            read_only,
            found_commit: observed.commit,
            edits: observed.edits,
            place,
        })
    }

    fn folders_of(&self, shelf: &str) -> Result<Vec<String>, ExternalsError> {
        let folder = self.path(shelf);
        if self.stands(shelf)? == Stands::Absent {
            return Ok(Vec::new());
        }
        let mut places = Vec::new();
        for entry in fs::read_dir(&folder).map_err(ExternalsError::io(&folder))? {
            let entry = entry.map_err(ExternalsError::io(&folder))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            // Hidden ones are ours, plain files are a README or the like.
            let is_folder = entry.file_type().is_ok_and(|kind| !kind.is_file());
            if is_folder && !name.starts_with('.') {
                places.push(format!("{shelf}/{name}"));
            }
        }
        places.sort();
        Ok(places)
    }
}
