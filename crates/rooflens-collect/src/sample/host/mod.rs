//! The machine itself: processors, memory, disks, networks, and the watched processes.
//!
//! Linux tells all of it in `/proc`. The parsers are pure and run everywhere; elsewhere the state says that
//! nothing is told.

mod parse;
#[cfg(target_os = "linux")]
mod proc_file;
#[cfg(target_os = "linux")]
mod tree;

#[cfg(target_os = "linux")]
mod linux;

use crate::sample::source::{Missing, Source};
use crate::sample::watched::Watched;

/// Bytes that may still be written to where a folder stands; nothing where the system does not report it.
pub fn free_bytes(folder: &std::path::Path) -> Option<u64> {
    let told = rustix::fs::statvfs(folder).ok()?;
    told.f_bavail.checked_mul(told.f_frsize)
}

#[cfg(target_os = "linux")]
pub(crate) fn open(watched: &Watched) -> Result<Box<dyn Source>, Missing> {
    Ok(Box::new(linux::HostSource::open(watched)?))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn open(_: &Watched) -> Result<Box<dyn Source>, Missing> {
    let fact = format!("samples of the host are not available on {}", std::env::consts::OS);
    let hint = "run on Linux; devices are sampled anyway";
    Err(Missing { lack: crate::sample::source::Lack::System, fact, hint })
}
