//! The files of a new project.
//!
//! They stand as real files in this crate's folder `skeleton/`, so that they can be read, run and
//! composed where they are. [`files()`] says which a project gets, [`write()`] puts them there.
//!
//! ```
//! use rooflens_collect::project::skeleton::{self, PackageManager, SkeletonOptions};
//!
//! let options = SkeletonOptions { environment: Some(PackageManager::Pixi), ..SkeletonOptions::default() };
//! let place = tempfile::tempdir()?;
//! let written = skeleton::write(&place.path().join("project"), &options)?;
//! assert!(written.made.contains(&"conf/config.yaml"));
//! assert!(written.made.contains(&"pixi.toml"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod files;
mod write;

pub use files::{SkeletonFile, files};
pub use write::{Written, write};

/// What keeps a project's Python packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PackageManager {
    /// `pixi.toml`, with tasks.
    Pixi,
    /// `pyproject.toml`, for uv and pip, with the same tasks for pixi.
    Pyproject,
}

/// What to do with a folder that has something in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Existing {
    /// Leave it alone.
    #[default]
    Refuse,
    /// Keep every file as it is and add those that are missing.
    Complete,
}

/// How a new project shall be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SkeletonOptions {
    /// What keeps its Python packages; none leaves that to the user.
    pub environment: Option<PackageManager>,
    /// What to do with a folder that has something in it. Nothing is ever overwritten.
    pub existing: Existing,
}
