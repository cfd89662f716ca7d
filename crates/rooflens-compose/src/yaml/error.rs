//! What can be wrong with a YAML text, and where.

use std::sync::Arc;

use super::scan::lines;
use super::syntax::{SyntaxProblem, TAG_HINT};

/// A text that could not be read as a config.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {problem}")]
pub struct YamlError {
    /// The name the text was given.
    pub file: Arc<str>,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// The line the problem stands in, cut where it is long.
    pub excerpt: String,
    /// What is wrong.
    pub problem: YamlProblem,
}

/// What is wrong with a YAML text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum YamlProblem {
    /// The text is not YAML.
    #[error("not valid YAML: {0}")]
    Syntax(SyntaxProblem),
    /// A character that YAML does not allow.
    #[error("character U+{code:04X} is not allowed in YAML")]
    Character {
        /// The character's code.
        code: u32,
    },
    /// A second document.
    #[error("a second document begins here; a config is one document")]
    SecondDocument,
    /// A number, truth value or binary data where a config should be.
    #[error("the document is {kind}, not a mapping or a list")]
    RootScalar {
        /// What stands there, with its article.
        kind: &'static str,
    },
    /// A key written twice.
    #[error("the key '{key}' is written twice in one mapping")]
    DuplicateKey {
        /// The key.
        key: String,
    },
    /// A key that is null.
    #[error("null cannot be a key")]
    NullKey,
    /// A key that is a list or a mapping.
    #[error("a {kind} cannot be a key")]
    CollectionKey {
        /// What is at the path.
        kind: &'static str,
    },
    /// An anchor that is defined twice.
    #[error("the anchor '&{name}' is defined twice")]
    DuplicateAnchor {
        /// Its name.
        name: String,
    },
    /// An alias that no anchor stands before.
    #[error("no anchor '&{name}' is defined before this alias")]
    UnknownAlias {
        /// Its name.
        name: String,
    },
    /// An alias inside the node it stands for.
    #[error("an alias refers to the node that contains it")]
    RecursiveAlias,
    /// A tag without a meaning here.
    #[error("the tag '{tag}' has no meaning in a config")]
    UnknownTag {
        /// The tag, as it resolves.
        tag: String,
    },
    /// A tag on a node of another shape.
    #[error("the tag '{tag}' does not fit a {found}")]
    TagShape {
        /// The tag, as it resolves.
        tag: String,
        /// What is at the path.
        found: &'static str,
    },
    /// A scalar that its tag does not fit.
    #[error("'{text}' is not {expected}")]
    MalformedScalar {
        /// The scalar, cut where it is long.
        text: String,
        /// What it should be, with its article.
        expected: &'static str,
    },
    /// A whole number longer than Python would print.
    #[error("a whole number of more than {limit} digits")]
    LongNumber {
        /// The most digits.
        limit: usize,
    },
    /// A `<<` of something that cannot be merged.
    #[error("'<<' merges mappings, not a {found}")]
    MergeSource {
        /// What is at the path.
        found: &'static str,
    },
    /// Nesting beyond the limit.
    #[error("nested deeper than {limit} levels")]
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// More nodes than the limit.
    #[error("more than {limit} nodes once aliases are copied")]
    TooManyNodes {
        /// The limit.
        limit: usize,
    },
    /// More aliased text than the limit.
    #[error("aliases copy more than {limit} bytes of text")]
    TooMuchText {
        /// The limit.
        limit: usize,
    },
}

/// The most characters of a text that an error repeats.
const EXCERPT_CHARS: usize = 160;

impl YamlError {
    pub(super) fn new(problem: YamlProblem, file: &Arc<str>, text: &str, line: u32, column: u32) -> Self {
        let index = usize::try_from(line).unwrap_or(usize::MAX).saturating_sub(1);
        let excerpt = excerpt(lines(text).nth(index).unwrap_or(""));
        Self { file: Arc::clone(file), line, column, excerpt, problem }
    }

    /// What to do about it, where that is known.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match &self.problem {
            YamlProblem::Syntax(problem) => problem.hint(),
            YamlProblem::UnknownTag { tag } if tag.ends_with([',', ']']) => Some(TAG_HINT),
            _ => None,
        }
    }
}

/// The beginning of a text, with an ellipsis where it was cut.
pub(super) fn excerpt(text: &str) -> String {
    match text.char_indices().nth(EXCERPT_CHARS) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_owned(),
    }
}
