//! What has a name and a meaning.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A named entry.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct GlossaryEntry {
    /// Its name.
    pub name: String,
    /// What it is, in a line.
    pub about: String,
    /// Unit of its values; empty for what has none.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub unit: Cow<'static, str>,
    /// How it is made, line by line; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// What it consists of: fields or columns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<GlossaryEntry>,
}

/// A thing without unit, detail or parts.
pub(super) fn plain(name: impl Into<String>, about: impl Into<String>) -> GlossaryEntry {
    GlossaryEntry { name: name.into(), about: about.into(), ..GlossaryEntry::default() }
}
