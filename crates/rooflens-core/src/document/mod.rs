//! JSON documents: one for programs, the same on standard output and in a run directory.

pub mod assets;
pub mod externals;
mod registry;
pub mod samples;
pub(crate) mod timeline;

use serde::de::{DeserializeOwned, Deserializer, Error as _};
use serde_json::value::RawValue;

pub use self::registry::all;
pub use rooflens_analyze::document::{AnalysisDocument, FindingDocument};
pub use rooflens_schema::{DocumentSchema, SchemaTag};

/// Reads two types from one JSON object, where the fields of one are written among those of the other. Serde
/// reads `flatten` by way of a value that has no 128-bit numbers; this reads the text twice instead.
pub(crate) fn read_both<'de, A: DeserializeOwned, B: DeserializeOwned, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<(A, B), D::Error> {
    let object: Box<RawValue> = serde::Deserialize::deserialize(deserializer)?;
    let first = serde_json::from_str(object.get()).map_err(D::Error::custom)?;
    let second = serde_json::from_str(object.get()).map_err(D::Error::custom)?;
    Ok((first, second))
}

#[derive(serde::Deserialize)]
pub(crate) struct Tagged {
    pub(crate) schema: SchemaTag,
}
