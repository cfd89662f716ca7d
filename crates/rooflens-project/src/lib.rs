//! A project on disk: its skeleton, its linked assets, its pinned reference sources.

pub mod assets;
pub mod externals;
pub mod skeleton;
