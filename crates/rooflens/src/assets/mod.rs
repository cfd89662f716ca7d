//! `rooflens assets`, from what was asked to what is shown.
//!
//! * `link`: plan, ask, do; `steps` puts a plan in words.
//! * `status`, `verify`: what is there, and whether it is whole.
//! * `subset`, `variant`: a variant of a dataset, drawn or transformed.
//! * `readme`: what a dataset holds, in its README.

pub mod link;
pub mod readme;
pub mod status;
mod steps;
pub mod subset;
pub mod variant;
pub mod verify;

use std::path::Path;
use std::sync::Arc;

use rooflens_compose::EnvironmentLookup;
use rooflens_core::project::within;
use rooflens_project::assets::{Bootstrap, Disk, Git, Project, Surroundings};

use crate::error::CliError;

/// Where the assets of a project are named.
const FILE: &str = "bootstrap.yaml";

/// A project, and the assets of it that a command is about.
pub struct Assets {
    project: Project,
    bootstrap: Bootstrap,
    environment: EnvironmentLookup,
}

impl Assets {
    /// The project.
    fn project(&self) -> &Project {
        &self.project
    }

    /// The assets of these names; all where there are none.
    pub fn open(root: &Path, names: &[String]) -> Result<Self, CliError> {
        let file = within(root, FILE);
        if !file.is_file() {
            return Err(CliError::NoBootstrap { root: root.to_owned(), path: file });
        }
        let bootstrap = Bootstrap::load(&file, &Disk).and_then(|all| all.select(names));
        Ok(Self { project: Project::open(root, &Disk)?, bootstrap: bootstrap?, environment: environment() })
    }

    /// The same, where a name may also be that of a dataset's folder that bootstrap.yaml does not have.
    pub fn open_with_datasets(root: &Path, names: &[String]) -> Result<Self, CliError> {
        let mut assets = Self::open(root, &[])?;
        let bootstrap = &assets.bootstrap;
        let is_asset = |name: &String| bootstrap.assets.iter().any(|asset| asset.name == *name);
        let is_folder = |name: &String| within(root, "datasets").join(name).is_dir();
        let chosen: Vec<String> =
            names.iter().filter(|name| is_asset(name) || !is_folder(name)).cloned().collect();
        if chosen.is_empty() && !names.is_empty() {
            assets.bootstrap.assets.clear();
        } else {
            assets.bootstrap = assets.bootstrap.select(&chosen)?;
        }
        Ok(assets)
    }

    fn surroundings(&self) -> Surroundings<'_> {
        Surroundings { files: &Disk, environment: &self.environment, tracking: &Git }
    }
}

/// The variables of this process.
pub fn environment() -> EnvironmentLookup {
    Arc::new(|name| std::env::var(name).ok())
}

/// Names as words of a command line, each with a blank before it.
fn as_words<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(|name| format!(" {}", rooflens_core::shell::word(Path::new(name)))).collect()
}
