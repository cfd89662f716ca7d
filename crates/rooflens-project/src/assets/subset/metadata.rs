//! `metadata.yaml`: where a variant of a dataset comes from.

use std::borrow::Cow;

use rooflens_compose::value::{Int, Key, Map, Node, Value};
use rooflens_compose::yaml;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a variant comes from. With the parent's files at hand, it can be made again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Metadata {
    /// The version of this document.
    pub schema: u32,
    /// The dataset.
    pub dataset: String,
    /// The variant's own name.
    pub variant: String,
    /// The folder or variant of the dataset it was made from.
    pub parent: String,
    /// The folder of the dataset that the paths in the file list start from.
    pub root: String,
    /// When it was made, in UTC.
    pub created: String,
    /// How it was made.
    pub transform: Transform,
    /// How large it is.
    pub size: VariantSize,
    /// What the generator began with; none where nothing was shuffled.
    pub seed: Option<u64>,
    /// The files.
    pub files: FileList,
}

/// How a variant was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Transform {
    /// Always `sample`.
    pub kind: Cow<'static, str>,
    /// The steps by which files were drawn, by their name.
    pub generator: Cow<'static, str>,
    /// How often the parent is gone through.
    pub epochs: u64,
    /// How many files each time.
    pub samples_per_epoch: u64,
    /// Whether in random order.
    pub shuffle: bool,
    /// How many files there were to draw from.
    pub parent_files: usize,
    /// The SHA-256 of the list of those.
    pub parent_sha256: String,
}

/// How large a variant is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VariantSize {
    /// Different files.
    pub files: usize,
    /// Lines of the file list.
    pub samples: usize,
    /// Bytes of the different files.
    pub bytes: u64,
}

/// The list of a variant's files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileList {
    /// Its name in the variant's folder.
    pub path: Cow<'static, str>,
    /// Its SHA-256.
    pub sha256: String,
}

impl Metadata {
    /// The name of the file.
    pub const FILE: &'static str = "metadata.yaml";

    /// The text of the file.
    #[must_use]
    pub fn to_yaml(&self) -> String {
        let transform = &self.transform;
        let node = map([
            ("schema", whole(u64::from(self.schema))),
            ("dataset", text(&self.dataset)),
            ("variant", text(&self.variant)),
            ("parent", text(&self.parent)),
            ("root", text(&self.root)),
            ("created", text(&self.created)),
            (
                "transform",
                map([
                    ("kind", text(&transform.kind)),
                    ("generator", text(&transform.generator)),
                    ("epochs", whole(transform.epochs)),
                    ("samples_per_epoch", whole(transform.samples_per_epoch)),
                    ("shuffle", Node::new(Value::Bool(transform.shuffle))),
                    ("parent_files", count(transform.parent_files)),
                    ("parent_sha256", text(&transform.parent_sha256)),
                ]),
            ),
            (
                "size",
                map([
                    ("files", count(self.size.files)),
                    ("samples", count(self.size.samples)),
                    ("bytes", whole(self.size.bytes)),
                ]),
            ),
            ("seed", self.seed.map_or(Node::new(Value::Null), whole)),
            ("files", map([("path", text(&self.files.path)), ("sha256", text(&self.files.sha256))])),
        ]);
        yaml::dump(&node)
    }
}

pub(in crate::assets) fn map<const N: usize>(pairs: [(&str, Node); N]) -> Node {
    let map: Map = pairs.into_iter().map(|(key, node)| (Key::from(key), node)).collect();
    Node::new(Value::Map(map))
}

pub(in crate::assets) fn text(text: &str) -> Node {
    Node::new(Value::Str(text.to_owned()))
}

pub(in crate::assets) fn whole(number: u64) -> Node {
    let int = i64::try_from(number).map_or_else(|_| Int::Big(number.to_string()), Int::Small);
    Node::new(Value::Int(int))
}

fn count(number: usize) -> Node {
    whole(u64::try_from(number).unwrap_or(u64::MAX))
}
