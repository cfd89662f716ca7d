//! A project on disk: its skeleton, its linked assets, its pinned reference sources.

pub mod assets;
pub mod externals;
mod git;
pub mod hub_cache;
pub mod migrate;
pub mod names;
mod marked_block;
mod near;
pub mod revision;
pub mod skeleton;
mod written_path;

pub use near::near;
