//! What the user says by environment variables.

use std::ffi::OsString;
use std::path::PathBuf;

/// The NVML library that the user names instead of the driver's own.
pub fn nvml_library() -> Option<PathBuf> {
    std::env::var_os("ROOFLENS_NVML").filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// The nsys that the user names instead of the one on the path.
pub fn nsys() -> Option<OsString> {
    std::env::var_os("ROOFLENS_NSYS").filter(|path| !path.is_empty())
}
