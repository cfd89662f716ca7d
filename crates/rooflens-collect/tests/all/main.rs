//! All integration tests of this crate in one binary, since each binary costs a link.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a failed test may panic")]

mod archives;
mod assets;
mod assets_support;
mod beat;
mod execute;
mod exports;
mod externals;
mod mock_nvml;
mod nvml;
mod plans;
mod servers;
mod skeleton_files;
