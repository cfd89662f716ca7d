//! What devices can do: dense peaks, memory, caches, power and links, each with its source.
//!
//! The figures stand in `catalog/hardware/*.toml`, one file a device, embedded at compile time and
//! read once; this module only looks them up. A name is found exactly or not at all: the wrong peak
//! is worse than none, so an unknown name is an error that carries the nearest names.

mod catalog;
mod device;
mod error;
mod file;
mod files;
mod measured;
mod peaks;
mod recognise;
#[cfg(test)]
mod tests;

pub use catalog::Catalog;
pub use device::{Confidence, Device, DeviceKind, Provenance, Provenances};
pub use error::HardwareError;
pub use measured::MeasuredHardware;
pub use recognise::Properties;
