//! Reading a Hugging Face `config.json`: text to values, values to typed keys with good errors.

mod json;
mod keys;

pub use json::{parse, set};
pub use keys::Keys;

/// A config that cannot be turned into a model. The message states the fact; nothing is guessed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The text is not JSON.
    #[error("not JSON: {0}")]
    NotJson(String),
    /// JSON, but no object.
    #[error("a config is an object, this is {0}")]
    NotAnObject(&'static str),
    /// No family knows the architecture.
    #[error("no model family has architecture {architecture}, model_type {model_type}{}", its_keys(.found))]
    UnknownArchitecture {
        /// `architectures`, as far as given.
        architecture: String,
        /// `model_type`, as far as given.
        model_type: String,
        /// Keys that tell what it is.
        found: Vec<String>,
    },
    /// A key that must be there is not.
    #[error("{0} is missing")]
    Missing(String),
    /// A key has a value of the wrong kind or out of range.
    #[error("{key} is {found}; expected {wanted}")]
    Wrong {
        /// The key.
        key: String,
        /// Its value, shortened.
        found: String,
        /// What it should be.
        wanted: &'static str,
    },
    /// Keys contradict each other.
    #[error("{left} and {right} are inconsistent: {reason}")]
    Contradiction {
        /// One key.
        left: String,
        /// The other.
        right: String,
        /// Why.
        reason: String,
    },
    /// Two names of one number, with different values.
    #[error("{key} and {alias} are two names of one number, and are {value} and {other}")]
    TwoNames {
        /// The family's own name.
        key: String,
        /// Its value.
        value: u64,
        /// The other name.
        alias: String,
        /// Its value.
        other: u64,
    },
    /// Keys that change the architecture, and that the family does not know.
    #[error("{family} does not support {}: the cost would not be that of this config", .keys.join(", "))]
    Unread {
        /// The family.
        family: &'static str,
        /// The keys, each with its value.
        keys: Vec<String>,
    },
    /// A key that was set, and that nothing reads.
    #[error("{family} does not use {key}")]
    Unused {
        /// The family.
        family: &'static str,
        /// The key.
        key: String,
        /// Keys that are read, nearest first.
        near: Vec<String>,
    },
    /// A path of keys that leads nowhere.
    #[error("{0} is not a path of keys")]
    BadPath(String),
}

fn its_keys(found: &[String]) -> String {
    if found.is_empty() { String::new() } else { format!("; the config has {}", found.join(", ")) }
}
