//! What can be wrong with an interpolation text, and where.

use super::span::{Span, pointer, shortened};

/// A text that is no valid interpolation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {fault}\n{excerpt}")]
pub struct GrammarError {
    /// The column it stands in, in characters from 1.
    pub column: usize,
    /// Where it stands.
    pub span: Span,
    /// What is wrong.
    pub fault: GrammarFault,
    /// Two lines: the text around the place, and carets under it.
    pub excerpt: String,
}

/// What is wrong with an interpolation text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GrammarFault {
    /// A character that has no meaning where it stands.
    #[error("unexpected character {character:?}")]
    Character {
        /// The character.
        character: char,
    },
    /// Something else should stand here.
    #[error("expected {expected}, found '{found}'")]
    Unexpected {
        /// What stands here.
        found: String,
        /// What should.
        expected: &'static str,
    },
    /// The text ends too early.
    #[error("unexpected end of text: expected {expected}")]
    Unfinished {
        /// What should follow.
        expected: &'static str,
    },
    /// An element of nothing but spaces.
    #[error("an element of only spaces needs quotes")]
    Blank,
    /// A whole number with more digits than Python reads.
    #[error("the number has more than 4300 digits")]
    LongNumber,
    /// Too many brackets, braces or interpolations inside each other.
    #[error("nested deeper than {limit} levels")]
    TooDeep {
        /// The depth that is still allowed.
        limit: usize,
    },
}

impl GrammarError {
    pub(super) fn new(text: &str, span: Span, fault: GrammarFault) -> Self {
        let fault = match fault {
            GrammarFault::Unexpected { found, expected } => {
                GrammarFault::Unexpected { found: shortened(&found), expected }
            }
            other => other,
        };
        Self { column: span.column(text), span, fault, excerpt: pointer(text, span) }
    }
}
