//! The project whose reference sources are kept.

use std::fs;
use std::path::{Path, PathBuf};

use super::ExternalsError;
use super::kinds::SourceKind;
use super::lock::Lock;
use super::observed::Stands;
use super::repository::Repository;
use super::source_files::HubLimits;
use crate::git::Git;

/// A project's reference sources, and where hub snapshots are copied from.
#[derive(Debug, Clone)]
pub struct Externals {
    pub(super) root: PathBuf,
    pub(super) hub_caches: Vec<PathBuf>,
    pub(super) hub_limits: HubLimits,
    pub(super) repository: Option<Repository>,
}

impl Externals {
    /// Opens a project.
    ///
    /// # Errors
    /// When the folder does not exist, or git cannot be asked about it.
    pub fn open(root: &Path) -> Result<Self, ExternalsError> {
        let root = fs::canonicalize(root).map_err(ExternalsError::io(root))?;
        let repository = Repository::find(&root)?;
        Ok(Self { root, hub_caches: Vec::new(), hub_limits: HubLimits::default(), repository })
    }

    /// Says which Hugging Face caches to look in, in order: folders that hold `models--*`.
    #[must_use]
    pub fn with_hub_caches(mut self, folders: Vec<PathBuf>) -> Self {
        self.hub_caches = folders;
        self
    }

    /// Sets how much a hub snapshot may weigh.
    #[must_use]
    pub fn with_hub_limits(mut self, limits: HubLimits) -> Self {
        self.hub_limits = limits;
        self
    }

    /// Whether the project is in a git repository.
    #[must_use]
    pub fn is_in_repository(&self) -> bool {
        self.repository.is_some()
    }

    /// The lock as it stands in the work tree.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn lock(&self) -> Result<Lock, ExternalsError> {
        Lock::read(&self.root)
    }

    /// A path of the project.
    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Git in a source's folder, which never takes the project's repository for the source's.
    pub(super) fn git_in(&self, place: &str) -> Git {
        Git::at(&self.path(place)).own_repository()
    }

    /// The repository, for a kind that lives in it.
    pub(super) fn repository_for(&self, kind: SourceKind) -> Result<&Repository, ExternalsError> {
        self.repository
            .as_ref()
            .ok_or_else(|| ExternalsError::NotARepository { kind, root: self.root.clone() })
    }

    /// What stands at a path, links not followed.
    pub(super) fn stands(&self, path: &str) -> Result<Stands, ExternalsError> {
        let path = self.path(path);
        let metadata = match fs::symlink_metadata(&path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Stands::Absent),
            Err(error) => return Err(ExternalsError::io(&path)(error)),
        };
        if metadata.is_symlink() {
            return Ok(Stands::Other("a symbolic link"));
        }
        if !metadata.is_dir() {
            return Ok(Stands::Other("a file"));
        }
        let mut entries = fs::read_dir(&path).map_err(ExternalsError::io(&path))?;
        Ok(if entries.next().is_none() { Stands::Empty } else { Stands::Folder })
    }

    /// Refuses to go on where a folder of ours is a link: a stranger's project could otherwise have
    /// us write outside of it.
    pub(super) fn refuse_links(&self) -> Result<(), ExternalsError> {
        let git_modules =
            self.repository.as_ref().map(|repository| format!("{}/.gitmodules", repository.top()));
        let shelves = SourceKind::ALL.iter().map(|kind| kind.shelf().to_owned());
        for path in ["third_party".to_owned()].into_iter().chain(shelves).chain(git_modules) {
            if self.stands(&path)? == Stands::Other("a symbolic link") {
                return Err(ExternalsError::LinkedFolder { path });
            }
        }
        Ok(())
    }
}
