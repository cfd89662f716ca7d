//! Rules that hold names against words.

use super::patterns::{Found, Patterns, WordId};
use serde::Deserialize;

/// A rule as a catalog file writes it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleText<T> {
    #[serde(alias = "class", alias = "dtype", alias = "mark")]
    pub(super) says: T,
    #[serde(default)]
    pub(super) prefix: Vec<String>,
    #[serde(default)]
    pub(super) any: Vec<String>,
    #[serde(default)]
    pub(super) all: Vec<String>,
    #[serde(default)]
    pub(super) none: Vec<String>,
}

/// A rule: what it says of the names for which its conditions hold.
#[derive(Debug)]
pub(super) struct Rule<T> {
    pub(super) says: T,
    pub(super) conditions: Matcher,
}

/// Conditions, all of which must hold; an empty list is no condition.
#[derive(Debug, Clone, Default)]
pub(super) struct Matcher {
    prefix: Vec<WordId>,
    any: Vec<WordId>,
    all: Vec<WordId>,
    none: Vec<WordId>,
}

impl Matcher {
    pub(super) fn guard(prefix: &[String], any: &[String], patterns: &mut Patterns) -> Self {
        Self { prefix: numbers(prefix, patterns), any: numbers(any, patterns), ..Self::default() }
    }

    pub(super) fn matches(&self, found: &Found) -> bool {
        (self.prefix.is_empty() || self.prefix.iter().any(|&word| found.begins_with(word)))
            && (self.any.is_empty() || self.any.iter().any(|&word| found.contains(word)))
            && self.all.iter().all(|&word| found.contains(word))
            && !self.none.iter().any(|&word| found.contains(word))
    }
}

impl<T> Rule<T> {
    pub(super) fn new(text: RuleText<T>, patterns: &mut Patterns) -> Self {
        let conditions = Matcher {
            prefix: numbers(&text.prefix, patterns),
            any: numbers(&text.any, patterns),
            all: numbers(&text.all, patterns),
            none: numbers(&text.none, patterns),
        };
        Self { says: text.says, conditions }
    }
}

fn numbers(words: &[String], patterns: &mut Patterns) -> Vec<WordId> {
    words.iter().map(|word| patterns.add(word)).collect()
}
