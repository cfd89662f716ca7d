//! Reading a Hugging Face `config.json`: text to values, values to typed keys with good errors.

mod error;
mod json;
mod keys;

pub use error::ConfigError;
pub use json::{parse, set};
pub use keys::Keys;
