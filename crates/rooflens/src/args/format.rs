//! Output formats, for all commands.

use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};

/// What is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    Text,
    Json,
    Csv,
    Md,
}

impl OutputFormat {
    /// Of a command with short answers: for people or for programs.
    pub(crate) fn text_or_json() -> impl TypedValueParser<Value = OutputFormat> {
        only(&["text", "json"])
    }

    /// Of a command whose answer is no table.
    pub(crate) fn without_csv() -> impl TypedValueParser<Value = OutputFormat> {
        only(&["text", "json", "md"])
    }
}

fn only(names: &'static [&'static str]) -> impl TypedValueParser<Value = OutputFormat> {
    PossibleValuesParser::new(names).try_map(|name| OutputFormat::from_str(&name, false))
}
