//! What can be wrong with an override, and where.

use super::call::{CallFault, Function};
use crate::interpolation::Span;
use crate::interpolation::span::{pointer, shortened};

/// A text that is no override.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("override '{}', column {column}: {fault}\n{excerpt}", shortened(text))]
pub struct OverrideError {
    /// The override.
    pub text: String,
    /// The column of the fault, in characters from 1.
    pub column: usize,
    /// Where the fault is.
    pub span: Span,
    /// What is wrong.
    pub fault: OverrideFault,
    /// Two lines: the text around the fault, and carets under it.
    pub excerpt: String,
}

/// What is wrong with an override.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OverrideFault {
    /// A character that cannot stand in a key.
    #[error("the character {character:?} is not allowed in a key")]
    KeyCharacter {
        /// The character.
        character: char,
    },
    /// A character that cannot stand in a value without quotes.
    #[error("the character {character:?} is not allowed in an unquoted value")]
    ValueCharacter {
        /// The character.
        character: char,
    },
    /// A quote without its closing one.
    #[error("the quote {quote} is never closed")]
    UnclosedQuote {
        /// The quote.
        quote: char,
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
    #[error("unexpected end of the override: expected {expected}")]
    Unfinished {
        /// What should follow.
        expected: &'static str,
    },
    /// A whole number with more digits than Python reads.
    #[error("the number has more than 4300 digits")]
    LongNumber,
    /// Too many brackets, braces or calls inside each other.
    #[error("nested deeper than {limit} levels")]
    TooDeep {
        /// The depth that is still allowed.
        limit: usize,
    },
    /// There is no such function.
    #[error("there is no function '{name}'; there are {}", function_names())]
    UnknownFunction {
        /// The name.
        name: String,
    },
    /// A function cannot do what it was asked.
    #[error("{}: {fault}", function.name())]
    Call {
        /// The function.
        function: Function,
        /// Why not.
        fault: CallFault,
    },
}

fn function_names() -> String {
    let names: Vec<&str> = Function::ALL.iter().map(|function| function.name()).collect();
    names.join(", ")
}

impl OverrideError {
    pub(super) fn new(text: &str, span: Span, fault: OverrideFault) -> Self {
        let fault = match fault {
            OverrideFault::Unexpected { found, expected } => {
                OverrideFault::Unexpected { found: shortened(&found), expected }
            }
            OverrideFault::UnknownFunction { name } => {
                OverrideFault::UnknownFunction { name: shortened(&name) }
            }
            other => other,
        };
        let column = span.column(text);
        Self { text: text.to_owned(), column, span, fault, excerpt: pointer(text, span) }
    }

    /// What to write instead, where that is known.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match &self.fault {
            OverrideFault::ValueCharacter { .. } => Some("put the value in quotes: key='…'"),
            OverrideFault::Unexpected { found, .. } if found.trim() == "=" => {
                Some("escape it (\\=) or put the value in quotes: key='…'")
            }
            OverrideFault::KeyCharacter { character: '[' } => {
                Some("an item of a list is addressed with a dot: key.0=…")
            }
            OverrideFault::Unfinished { expected: "'='" } => Some("write key=value"),
            _ => None,
        }
    }
}

/// An element that no config can hold, or that has no text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ValueError {
    /// `{null: 1}`.
    #[error("null cannot be a key")]
    NullKey,
    /// A sweep inside a list, a mapping or another sweep.
    #[error("{kind} is not allowed inside another value")]
    NestedSweep {
        /// The sweep.
        kind: &'static str,
    },
    /// The value as a whole is a sweep.
    #[error("the value is {kind}, which has several values")]
    IsSweep {
        /// The sweep.
        kind: &'static str,
    },
}

/// A sweep whose values cannot be listed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SweepError {
    /// One value, or none: there is nothing to sweep over.
    #[error("the override is not a sweep")]
    NotASweep,
    /// An interval has no next number.
    #[error("the numbers of an interval cannot be listed; range(start,stop,step) has steps")]
    Interval,
    /// A range whose step is zero.
    #[error("the step of a range cannot be zero")]
    ZeroStep,
    /// A range with a bound or a step that is not a number.
    #[error("a bound or step of the range is not a number (nan)")]
    NotANumber,
    /// A range that never comes to its stop.
    #[error("the range never ends")]
    Endless,
    /// A shuffled range so long that it cannot be held.
    #[error("a range of more than {limit} numbers cannot be shuffled")]
    TooLong {
        /// The most numbers.
        limit: usize,
    },
    /// A glob pattern that is no text.
    #[error("a glob pattern must be an unquoted string, not {found}")]
    Pattern {
        /// What it is.
        found: &'static str,
    },
    /// A value that cannot stand by itself.
    #[error(transparent)]
    Value(#[from] ValueError),
}
