//! The tags a config may hold.

use std::fmt;

/// The prefix that `!!` stands for.
const PREFIX: &str = "tag:yaml.org,2002:";

/// What a node claims, or was found, to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Tag {
    Null,
    Bool,
    Int,
    Float,
    Str,
    Binary,
    Seq,
    Map,
    Omap,
    Pairs,
    /// The `<<` key.
    Merge,
    /// The `=` key, of old YAML: a mapping with it may stand for a scalar.
    Value,
    /// Any other; sets and timestamps too, which `PyYAML` reads and `OmegaConf` refuses.
    Other(String),
}

/// Names after the prefix, in the order of [`Tag`].
const NAMED: &[(&str, Tag)] = &[
    ("null", Tag::Null),
    ("bool", Tag::Bool),
    ("int", Tag::Int),
    ("float", Tag::Float),
    ("str", Tag::Str),
    ("binary", Tag::Binary),
    ("seq", Tag::Seq),
    ("map", Tag::Map),
    ("omap", Tag::Omap),
    ("pairs", Tag::Pairs),
    ("merge", Tag::Merge),
    ("value", Tag::Value),
];

impl Tag {
    /// The tag of a resolved name.
    pub(super) fn of_name(name: String) -> Self {
        let known = name
            .strip_prefix(PREFIX)
            .and_then(|suffix| NAMED.iter().find(|(known, _)| *known == suffix).map(|(_, tag)| tag.clone()));
        known.unwrap_or(Tag::Other(name))
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Tag::Other(name) = self {
            return match name.strip_prefix(PREFIX) {
                Some(suffix) => write!(f, "!!{suffix}"),
                None => f.write_str(name),
            };
        }
        let name = NAMED.iter().find(|(_, tag)| tag == self).map_or("", |(name, _)| name);
        write!(f, "!!{name}")
    }
}
