//! What the tests of assets share: a project and a storage in a folder that goes away.

pub mod tar_maker;
pub mod zip_maker;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rooflens_collect::project::ProjectError;
use rooflens_collect::project::assets::{
    AssetOutcome, AssetStatus, AssetStep, AssetVerification, Bootstrap, Project, StepResult, Unwatched,
    apply, plan, status, verify,
};
use rooflens_compose::EnvironmentLookup;
use tempfile::TempDir;

pub const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// A project, a storage beside it, and an environment.
pub struct Workplace {
    pub folder: TempDir,
    pub variables: BTreeMap<String, String>,
}

impl Workplace {
    pub fn new() -> Self {
        let folder = TempDir::new().unwrap();
        fs::create_dir(folder.path().join("project")).unwrap();
        fs::create_dir(folder.path().join("storage")).unwrap();
        let mut place = Self { folder, variables: BTreeMap::new() };
        for root in ["MODELS_ROOT", "DATASETS_ROOT"] {
            place.set(root, &place.storage(""));
        }
        place.set("HF_HOME", &place.storage("hf"));
        place
    }

    pub fn set(&mut self, variable: &str, value: &Path) {
        self.variables.insert(variable.to_owned(), value.to_str().unwrap().to_owned());
    }

    pub fn project(&self, path: &str) -> PathBuf {
        self.folder.path().join("project").join(path)
    }

    pub fn storage(&self, path: &str) -> PathBuf {
        self.folder.path().join("storage").join(path)
    }

    /// Writes a file into the storage.
    pub fn store(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        write(&self.storage(path), content)
    }

    /// A repository in the hub cache as `huggingface_hub` makes it: `main` at [`COMMIT`].
    pub fn cache(&self, repository: &str, files: &[(&str, &str)]) -> PathBuf {
        let folder = self.storage("hf/hub").join(repository);
        write(&folder.join("refs/main"), COMMIT);
        let snapshot = folder.join("snapshots").join(COMMIT);
        fs::create_dir_all(&snapshot).unwrap();
        for (index, (name, content)) in files.iter().enumerate() {
            write(&folder.join(format!("blobs/{index:040x}")), content);
            symlink(format!("../../blobs/{index:040x}"), snapshot.join(name)).unwrap();
        }
        snapshot
    }

    pub fn environment(&self) -> EnvironmentLookup {
        let variables = self.variables.clone();
        Arc::new(move |name| variables.get(name).cloned())
    }

    pub fn open(&self) -> Project {
        Project::open(&self.project("")).unwrap()
    }

    pub fn plan(&self, bootstrap: &str) -> Vec<AssetStep> {
        plan(&self.open(), &read(bootstrap), &self.environment())
    }

    /// The only step.
    pub fn step(&self, bootstrap: &str) -> AssetStep {
        let mut steps = self.plan(bootstrap);
        assert_eq!(steps.len(), 1, "{steps:?}");
        steps.remove(0)
    }

    pub fn apply(&self, steps: &[AssetStep]) -> Vec<AssetOutcome> {
        apply(&self.open(), steps, &mut Unwatched)
    }

    /// Links, and returns the result of each step.
    pub fn link(&self, bootstrap: &str) -> Vec<StepResult> {
        self.apply(&self.plan(bootstrap)).iter().map(|outcome| outcome.result).collect()
    }

    pub fn status(&self, bootstrap: &str) -> Vec<AssetStatus> {
        status(&self.open(), &read(bootstrap), &self.environment())
    }

    pub fn verify(&self, bootstrap: &str) -> Vec<AssetVerification> {
        verify(&self.open(), &read(bootstrap), &mut Unwatched).unwrap()
    }

    /// Every path outside the project, with what it says or holds.
    pub fn outside(&self) -> Vec<String> {
        let project = self.project("");
        everything(self.folder.path())
            .into_iter()
            .filter(|path| !path.starts_with("project/"))
            .chain([project.is_dir().to_string()])
            .collect()
    }
}

/// Reads a text as `bootstrap.yaml`.
pub fn load(text: &str) -> Result<Bootstrap, ProjectError> {
    let folder = TempDir::new().unwrap();
    Bootstrap::load(&write(&folder.path().join("bootstrap.yaml"), text))
}

pub fn read(text: &str) -> Bootstrap {
    load(text).unwrap()
}

pub fn write(path: &Path, content: impl AsRef<[u8]>) -> PathBuf {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
    path.to_owned()
}

/// Every path below a folder, links not followed, with what it says or how long it is.
pub fn everything(folder: &Path) -> Vec<String> {
    fn visit(folder: &Path, prefix: &str, into: &mut Vec<String>) {
        let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()).collect();
        entries.sort_by_key(|entry| entry.file_name());
        for entry in entries {
            let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
            let kind = entry.file_type().unwrap();
            if kind.is_symlink() {
                into.push(format!("{path} -> {}", fs::read_link(entry.path()).unwrap().display()));
            } else if kind.is_dir() {
                into.push(format!("{path}/"));
                visit(&entry.path(), &format!("{path}/"), into);
            } else {
                into.push(format!("{path} {}", fs::metadata(entry.path()).unwrap().len()));
            }
        }
    }
    let mut paths = Vec::new();
    visit(folder, "", &mut paths);
    paths
}
