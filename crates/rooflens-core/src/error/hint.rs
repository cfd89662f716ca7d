//! What helps against an error, as data.

use std::fmt;

/// What helps: words, a command to paste, or both. A command line shows both on one line; a library may leave the
/// command out.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Hint {
    /// What to know or to change; empty where the command says it all.
    pub(crate) words: String,
    /// A command of the shell that helps.
    pub command: Option<String>,
}

impl Hint {
    /// Words alone.
    pub fn words(words: impl Into<String>) -> Self {
        Hint { words: words.into(), command: None }
    }

    /// A command alone.
    pub fn command(command: impl Into<String>) -> Self {
        Hint { words: String::new(), command: Some(command.into()) }
    }

    /// The command that installs Rooflens with a feature that this build was made without.
    pub(crate) fn feature(name: &str) -> Self {
        Hint::leading(
            "from a clone of the repository, install Rooflens with this feature:",
            format!("cargo install --locked --path crates/rooflens --features {name}"),
        )
    }

    /// Words that lead to a command; they end with their own punctuation.
    pub fn leading(words: impl Into<String>, command: impl Into<String>) -> Self {
        Hint { words: words.into(), command: Some(command.into()) }
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.command {
            None => f.write_str(&self.words),
            Some(command) if self.words.is_empty() => f.write_str(command),
            Some(command) => write!(f, "{} {command}", self.words),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_command_are_one_line() {
        assert_eq!(Hint::words("add --yes").to_string(), "add --yes");
        assert_eq!(Hint::command("ls -l").to_string(), "ls -l");
        let both = Hint::leading("did you mean a.json?", "rooflens analyze a.json");
        assert_eq!(both.to_string(), "did you mean a.json? rooflens analyze a.json");
    }
}
