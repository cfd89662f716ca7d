//! `metadata.yaml` of a variant with data of its own.

use rooflens_compose::value::{Node, Value};
use rooflens_compose::yaml;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::assets::subset::{Metadata, map, text, whole};

/// Where transformed data come from, and what they were when they were made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VariantMetadata {
    /// The version of this document.
    pub schema: u32,
    /// The dataset.
    pub dataset: String,
    /// The variant's own name.
    pub variant: String,
    /// The folder or variant of the dataset it was made from.
    pub parent: String,
    /// When it was made or recorded, in UTC.
    pub created: String,
    /// How it was made.
    pub transform: VariantOrigin,
    /// How many files it has.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Its data, from its folder; `.` if they are directly in it.
    pub path: String,
    /// The SHA-256 of the list of its files: lines as `sha256sum` writes them, sorted by path.
    pub sha256: String,
}

/// How a variant was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum VariantOrigin {
    /// By a command that was started for it.
    Command {
        /// The program and its arguments.
        argv: Vec<String>,
    },
    /// Elsewhere; described by the user.
    Description {
        /// In their words.
        text: String,
    },
}

impl VariantMetadata {
    /// The name of the file.
    pub const FILE: &'static str = Metadata::FILE;

    /// The text of the file.
    #[must_use]
    pub fn to_yaml(&self) -> String {
        let transform = match &self.transform {
            VariantOrigin::Command { argv } => {
                let argv = argv.iter().map(|word| text(word)).collect();
                map([("kind", text("command")), ("argv", Node::new(Value::List(argv)))])
            }
            VariantOrigin::Description { text: words } => {
                map([("kind", text("description")), ("text", text(words))])
            }
        };
        let files = u64::try_from(self.files).unwrap_or(u64::MAX);
        yaml::dump(&map([
            ("schema", whole(u64::from(self.schema))),
            ("dataset", text(&self.dataset)),
            ("variant", text(&self.variant)),
            ("parent", text(&self.parent)),
            ("created", text(&self.created)),
            ("transform", transform),
            ("size", map([("files", whole(files)), ("bytes", whole(self.bytes))])),
            ("files", map([("path", text(&self.path)), ("sha256", text(&self.sha256))])),
        ]))
    }
}
