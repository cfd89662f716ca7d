//! What makes a text no YAML.

use std::fmt;

use super::scan::{Mark, is_break};

/// A problem of the text and where it stands.
#[derive(Debug)]
pub(super) struct SyntaxError {
    pub(super) problem: SyntaxProblem,
    pub(super) mark: Mark,
}

/// What makes a text no YAML.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[rustfmt::skip] // One problem, two lines.
#[allow(missing_docs, reason = "the fields are what the messages say they are")]
pub enum SyntaxProblem {
    /// A tab outside quotes, block texts and comments.
    #[error("a tab is only allowed in quotes, block scalars and comments")]
    StrayTab,
    /// A character that is kept for other uses.
    #[error("'{char}' cannot begin a value")]
    CannotBegin { char: char },
    /// A line where only a key can stand, and none does.
    #[error("expected a key, but it has no ':'")]
    KeyWithoutColon,
    /// A `- ` where no list can begin.
    #[error("a list cannot begin here")]
    MisplacedItem,
    /// A `? ` where no mapping can begin.
    #[error("a key cannot begin here")]
    MisplacedKey,
    /// A `: ` that no key stands before.
    #[error("no key is allowed before this ':'")]
    MisplacedValue,
    /// A character other than the ones that can follow.
    #[error("{within}: expected {expected}, found {}", shown(*found))]
    Expected { within: Within, expected: &'static str, found: Option<char> },
    /// Quotes that are not closed.
    #[error("the quote {quote} that opens here is never closed")]
    UnclosedQuote { quote: char },
    /// A separator of documents in quotes.
    #[error("the quotes that open in line {line} are not closed before this end of the document")]
    SeparatorInQuotes { line: usize },
    /// An escape without a meaning.
    #[error("'\\{char}' is not a valid escape")]
    UnknownEscape { char: char },
    /// An escape with a code that is no character.
    #[error("the escape's code {code:X} is not a character")]
    EscapeCode { code: u32 },
    /// Escapes in a tag that are not UTF-8.
    #[error("the '%' escapes of a tag are not UTF-8")]
    TagBytes,
    /// A version other than 1.
    #[error("YAML of a version other than 1")]
    Version,
    /// A second `%YAML`.
    #[error("a second %YAML line")]
    RepeatedVersion,
    /// A second `%TAG` of a handle.
    #[error("a second %TAG line for '{handle}'")]
    RepeatedTagHandle { handle: String },
    /// A tag with a handle that no `%TAG` defines.
    #[error("no %TAG line defines the '{handle}' of this tag")]
    UnknownTagHandle { handle: String },
    /// `%` lines without a document.
    #[error("after '%' lines comes '---', not {found}")]
    DirectiveAlone { found: &'static str },
    /// A document that ends before it begins.
    #[error("the text begins with the end of a document, '...'")]
    EndFirst,
    /// Something after the document's one value.
    #[error("the document's value has ended, but here is {found}")]
    AfterValue { found: &'static str },
    /// Something that is no value.
    #[error("expected a value, found {found}")]
    NoValue { found: &'static str },
    /// Something else where an item of a list should be.
    #[error("in the list of line {line}: expected '-', found {found}")]
    ListItem { line: usize, found: &'static str },
    /// Something else where a key should be.
    #[error("in the mapping of line {line}: expected a key, found {found}")]
    MappingKey { line: usize, found: &'static str },
    /// Something else between the items of a list in brackets.
    #[error("in the '[' of line {line}: expected ',' or ']', found {found}")]
    BracketItem { line: usize, found: &'static str },
    /// Something else between the pairs of a mapping in braces.
    #[error("in the '{{' of line {line}: expected ',' or '}}', found {found}")]
    BracePair { line: usize, found: &'static str },
    /// A bracket or brace that is not closed.
    #[error("the '{bracket}' that opens here is never closed")]
    Unclosed { bracket: char },
}

/// What to do about a tag that goes on too long.
pub(super) const TAG_HINT: &str = "a space ends a tag, in brackets too";

impl SyntaxProblem {
    pub(super) fn at(self, mark: Mark) -> SyntaxError {
        SyntaxError { problem: self, mark }
    }

    /// What to do about it, where that is known.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            SyntaxProblem::StrayTab => Some("use spaces"),
            SyntaxProblem::CannotBegin { .. } => Some("put the value in quotes"),
            SyntaxProblem::KeyWithoutColon => Some(
                "a string continued from the line before must be indented further; a key and its ': ' must \
                 be on one line",
            ),
            SyntaxProblem::MisplacedItem => Some("put the '- ' on a line of its own, or the value in quotes"),
            SyntaxProblem::MisplacedKey => Some("put the '? ' on a line of its own, or the value in quotes"),
            SyntaxProblem::MisplacedValue => {
                Some("quote a string that contains ': ', and put a mapping on its own lines")
            }
            SyntaxProblem::Expected { within: Within::Tag, expected: "a space", .. } => Some(TAG_HINT),
            SyntaxProblem::Expected { within: Within::Alias, .. } => {
                Some("quote a string that begins with '*'")
            }
            SyntaxProblem::Expected { within: Within::Anchor, .. } => {
                Some("quote a string that begins with '&'")
            }
            SyntaxProblem::UnknownEscape { .. } => {
                Some("write '\\\\' for a backslash, or use single quotes, which have no escapes")
            }
            SyntaxProblem::EscapeCode { code: 0xd800..=0xdfff } => {
                Some("write a character beyond U+FFFF as one \\U and eight digits")
            }
            SyntaxProblem::AfterValue { found: "a string" }
            | SyntaxProblem::ListItem { found: "a string", .. }
            | SyntaxProblem::MappingKey { found: "a string", .. } => {
                Some("quotes and brackets must enclose the whole value: quote all of it")
            }
            SyntaxProblem::ListItem { .. } => Some(
                "all items of a list must have their '-' in the same \
                                                    column",
            ),
            SyntaxProblem::MappingKey { .. } => Some("all keys of a mapping must begin in the same column"),
            _ => None,
        }
    }
}

/// The smaller things a text is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Within {
    /// A line that begins with `%`.
    Directive,
    /// A `!` and what follows.
    Tag,
    /// An `&` and its name.
    Anchor,
    /// A `*` and its name.
    Alias,
    /// The line a block text begins with.
    BlockHeader,
    /// A backslash in double quotes and what follows.
    Escape,
}

impl fmt::Display for Within {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Within::Directive => "a '%' line",
            Within::Tag => "a tag",
            Within::Anchor => "an anchor",
            Within::Alias => "an alias",
            Within::BlockHeader => "the first line of a block scalar",
            Within::Escape => "an escape",
        })
    }
}

fn shown(found: Option<char>) -> String {
    match found {
        None => "the end of the text".to_owned(),
        Some(' ') => "a space".to_owned(),
        Some('\t') => "a tab".to_owned(),
        Some(char) if is_break(char) => "the end of the line".to_owned(),
        Some(char) => format!("'{char}'"),
    }
}
