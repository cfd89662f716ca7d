//! A project on disk: its skeleton, its linked assets, its pinned reference sources.

pub mod assets;
pub mod externals;
mod git;
pub mod hub_cache;
mod marked_block;
pub mod migrate;
pub mod names;
pub mod revision;
pub mod skeleton;
mod written_path;
