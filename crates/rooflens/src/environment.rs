//! What the user says by environment variables.

use std::path::PathBuf;

/// The NVML library that the user names instead of the driver's own.
pub fn nvml_library() -> Option<PathBuf> {
    std::env::var_os("ROOFLENS_NVML").filter(|path| !path.is_empty()).map(PathBuf::from)
}
