//! The files an asset must have.

use glob::MatchOptions;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::project::plain_path;
use super::walk::Listing;

/// A glob over the paths of an asset's files.
#[derive(Debug)]
pub(super) struct Pattern(glob::Pattern);

impl Pattern {
    pub(super) fn new(text: &str) -> Result<Self, &'static str> {
        plain_path(text)?;
        glob::Pattern::new(text).map(Self).map_err(|error| error.msg)
    }

    pub(super) fn matches(&self, path: &str) -> bool {
        let options = MatchOptions {
            case_sensitive: true,
            // `*` stays within a folder; `**` is for several.
            require_literal_separator: true,
            require_literal_leading_dot: false,
        };
        self.0.matches_with(path, options)
    }
}

/// Whether files that must be there are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Required {
    /// The glob.
    pub pattern: String,
    /// How many files match.
    pub matches: usize,
    /// Those of them that are empty.
    pub empty: Vec<String>,
}

impl Required {
    /// Whether a file matches and none that does is empty.
    #[must_use]
    pub fn is_met(&self) -> bool {
        self.matches > 0 && self.empty.is_empty()
    }
}

/// Looks for the files of each glob.
pub(super) fn check(patterns: &[String], listing: &Listing) -> Vec<Required> {
    patterns
        .iter()
        .map(|text| {
            let mut required = Required { pattern: text.clone(), matches: 0, empty: Vec::new() };
            // Patterns were checked when they were read.
            let Ok(pattern) = Pattern::new(text) else { return required };
            for file in listing.files.iter().filter(|file| pattern.matches(&file.path)) {
                required.matches += 1;
                if file.bytes == 0 {
                    required.empty.push(file.path.clone());
                }
            }
            required
        })
        .collect()
}
