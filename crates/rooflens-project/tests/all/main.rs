//! All integration tests of this crate in one binary, since each binary costs a link.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a failed test may panic")]

mod assets_archive;
mod assets_bombs;
mod assets_bootstrap;
mod assets_extract;
mod assets_link;
mod assets_source;
mod assets_subset;
mod assets_support;
mod assets_verify;
mod externals;
mod skeleton_assets;
mod skeleton_conf;
mod skeleton_files;
mod skeleton_write;
