//! Output formats, for all commands.

use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};

/// What is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Text,
    Json,
    Csv,
    Md,
}

impl Format {
    /// Of a command with short answers: for people or for programs.
    pub fn text_or_json() -> impl TypedValueParser<Value = Format> {
        only(&["text", "json"])
    }

    /// Of a command whose answer is no table.
    pub fn without_csv() -> impl TypedValueParser<Value = Format> {
        only(&["text", "json", "md"])
    }
}

fn only(names: &'static [&'static str]) -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(names).try_map(|name| Format::from_str(&name, false))
}
