//! From a text to its tokens, by the rules of `PyYAML`'s scanner.
//!
//! They are those of YAML 1.1, with the liberties that `PyYAML` takes: quoted texts and brackets
//! may go on at any indentation, tabs separate nothing, `---` and `...` are looked for everywhere.

mod block;
mod cursor;
mod directive;
mod fold;
mod plain;
mod property;
mod quoted;
mod scanner;
mod simple_keys;
mod token;

pub(super) use cursor::{Mark, is_break, lines, unprintable};
pub(super) use scanner::Scanner;
pub(super) use token::{Directive, TagName, Token, TokenKind};
