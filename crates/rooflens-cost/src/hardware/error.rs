//! What can go wrong with the hardware catalog.

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
    /// A figure that no device can have.
    #[error("{file}: {key} is {value}, but must be positive and finite; omit it if it is not known")]
    Figure {
        /// The file, by name.
        file: String,
        /// Where in the file the figure stands.
        key: String,
        /// The figure.
        value: f64,
    },
    /// A name that nobody could ask for.
    #[error("{file}: `{name}` is not a name: it has neither letter nor digit")]
    Nameless {
        /// The file, by name.
        file: String,
        /// The name.
        name: String,
    },
    /// Two of the files given claim one name.
    #[error("{file}: `{name}` already names {device}")]
    Taken {
        /// The file, by name.
        file: String,
        /// The name.
        name: String,
        /// The device that has it.
        device: String,
    },
}
