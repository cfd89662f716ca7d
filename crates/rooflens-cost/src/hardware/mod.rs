//! What devices can do: dense peaks, memory, caches, power and links, each with its source.
//!
//! The figures stand in `catalog/hardware/*.toml`, one file a device, embedded at compile time and
//! read once; this module only looks them up. A name is found exactly or not at all: the wrong peak
//! is worse than none, so an unknown name is an error that carries the nearest names.

mod catalog;
mod device;
mod file;
mod files;
mod measured;
mod recognise;
#[cfg(test)]
mod tests;

pub use catalog::Catalog;
pub use device::{Confidence, Device, DeviceKind, Provenance, Provenances};
pub use measured::MeasuredHardware;
pub use recognise::Properties;

/// Why a device could not be had.
#[derive(Debug, thiserror::Error)]
pub enum HardwareError {
    /// No device has this name.
    #[error("there is no device `{name}`")]
    Unknown {
        /// What was asked for.
        name: String,
        /// Devices with names like it, the likest first.
        near: Vec<String>,
    },
    /// A file is not TOML, or not a device's.
    #[error("{file} does not describe a device: {source}")]
    Toml {
        /// The file, by name.
        file: String,
        /// What the reader says. Boxed, since it is far larger than the other variants.
        source: Box<toml::de::Error>,
    },
    /// A figure that no device can have, or a name that no one could ask for or that another device has.
    #[error("{file}: {problem}")]
    Unusable {
        /// The file, by name.
        file: String,
        /// What is wrong with it.
        problem: String,
    },
}
