//! What the user says by environment variables.

use std::ffi::OsString;
use std::path::PathBuf;

/// The NVML library that the user names instead of the driver's own.
pub fn nvml_library() -> Option<PathBuf> {
    std::env::var_os("ROOFLENS_NVML").filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// Whether lines and bars that appear because time has passed are wanted: not where `ROOFLENS_PROGRESS=never`.
pub fn wants_progress() -> bool {
    std::env::var_os("ROOFLENS_PROGRESS").is_none_or(|value| value != "never")
}

pub(crate) fn nsys() -> Option<OsString> {
    std::env::var_os("ROOFLENS_NSYS").filter(|path| !path.is_empty())
}
