//! What every JSON document begins with, and the JSON Schema of a document's type.

use std::borrow::Cow;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::SCHEMA_VERSION;

/// What a JSON document is, and its schema version: the first entry of every document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SchemaTag {
    /// The kind of document, as `rooflens.analysis`.
    pub name: String,
    /// Version of the schema that it follows, as `1.0`.
    pub version: Cow<'static, str>,
}

impl SchemaTag {
    /// The tag of a document that this version writes, as `analysis`.
    pub fn new(what: &str) -> Self {
        SchemaTag { name: format!("rooflens.{what}"), version: SCHEMA_VERSION.into() }
    }

    /// Whether this version can read the document: minor versions only add fields.
    pub fn is_readable(&self) -> bool {
        fn major(version: &str) -> &str {
            version.split_once('.').map_or(version, |(major, _)| major)
        }
        major(&self.version) == major(SCHEMA_VERSION)
    }
}

/// A JSON document and its schema. Each crate lists the documents whose types it defines.
#[derive(Clone, Copy)]
pub struct DocumentSchema {
    /// Name of the document, which `rooflens schema` takes.
    pub name: &'static str,
    /// Where the document is printed or saved.
    pub found: &'static str,
    schema: fn() -> Schema,
    rewrite: fn(&str) -> Result<String, serde_json::Error>,
}

impl DocumentSchema {
    /// The document whose type is `T`.
    pub const fn of<T: JsonSchema + Serialize + DeserializeOwned>(
        name: &'static str,
        found: &'static str,
    ) -> Self {
        Self::read_by::<T>(name, found, rewrite::<T>)
    }

    /// The document whose type is `T` and which is read by way of another: `rewrite` reads and writes it.
    pub const fn read_by<T: JsonSchema>(
        name: &'static str,
        found: &'static str,
        rewrite: fn(&str) -> Result<String, serde_json::Error>,
    ) -> Self {
        DocumentSchema { name, found, schema: || generator().into_root_schema_for::<T>(), rewrite }
    }

    /// Reads a document into its type and writes that again: the same bytes, for a document of this version.
    pub fn rewrite(&self, json: &str) -> Result<String, serde_json::Error> {
        (self.rewrite)(json)
    }

    /// The JSON Schema (draft 2020-12) of the document as this version writes it.
    pub fn schema(&self) -> Schema {
        let mut schema = (self.schema)();
        schema.insert("title".to_owned(), format!("{}: {}", self.name, self.found).into());
        schema
    }
}

/// Reads a document and writes it again, on as many lines as it had.
pub fn rewrite<T: Serialize + DeserializeOwned>(json: &str) -> Result<String, serde_json::Error> {
    let document: T = serde_json::from_str(json)?;
    match json.trim_end().contains('\n') {
        true => serde_json::to_string_pretty(&document),
        false => serde_json::to_string(&document),
    }
}

/// Describes documents as they are written: a field that is always written is required.
fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12().for_serialize().into_generator()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_another_major_version_is_unreadable() {
        let tag = SchemaTag::new("analysis");
        assert_eq!(tag.name, "rooflens.analysis");
        assert!(tag.is_readable());
        assert!(SchemaTag { version: "1.7".into(), ..tag.clone() }.is_readable());
        assert!(!SchemaTag { version: "2.0".into(), ..tag }.is_readable());
    }
}
