//! Standard error: talk for people, as much as they asked for. And what the terminal can show.

use std::io::{IsTerminal, Write};

use rooflens_report::TerminalOptions;
use rooflens_schema::{Note, Severity};

use crate::error::CliError;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verbosity {
    /// Errors only.
    Quiet,
    /// Progress of slow work, and where files were written.
    Normal,
    Verbose,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What every command needs to know of the user's wishes and terminal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Console {
    pub(crate) verbosity: Verbosity,
    pub(crate) color: Color,
}

/// Columns where nobody tells how many there are.
const WIDTH: usize = 100;

impl Console {
    pub(crate) fn screen(&self, limit: usize) -> TerminalOptions {
        let unicode = unicode(|name| std::env::var(name).ok());
        TerminalOptions { width: width(), color: self.colored(&std::io::stdout()), unicode, limit }
    }

    pub(crate) fn is_read_by_people(&self) -> bool {
        std::io::stdout().is_terminal()
    }

    /// Says a line, unless asked to be quiet.
    pub(crate) fn say(&self, line: &str) {
        if self.verbosity >= Verbosity::Normal {
            talk(line);
        }
    }

    /// Says what became of a gate, also to who asked for quiet.
    pub(crate) fn judged(&self, line: &str) {
        talk(line);
    }

    /// Says a line where much talk was asked for.
    pub(crate) fn detail(&self, line: &str) {
        if self.verbosity >= Verbosity::Verbose {
            talk(line);
        }
    }

    /// Says what is missing from the data: for output that does not show it itself.
    pub(crate) fn warn_of_loss(&self, notes: &[Note]) {
        for note in notes.iter().filter(|note| note.severity == Severity::DataLoss) {
            let of = if note.source.is_empty() { String::new() } else { format!("{}: ", note.source) };
            self.warn(&format!("{of}{} ({})", note.message, note.code));
        }
    }

    /// Tells of the failure that ends the command: the fact, and what helps.
    pub(crate) fn error(&self, error: &CliError) {
        let hint = error.hint().map(|hint| hint.to_string());
        self.failure(&error.to_string(), hint.as_deref());
    }

    pub(crate) fn failure(&self, fact: &str, hint: Option<&str>) {
        talk(&format!("{} {fact}", self.paint("error:", "1;31")));
        if let Some(hint) = hint {
            talk(&format!("{} {hint}", self.paint("hint:", "36")));
        }
    }

    pub(crate) fn warn(&self, fact: &str) {
        self.say(&format!("{} {fact}", self.paint("warning:", "33")));
    }

    /// Whether somebody agrees to changes, as with `yes` they have already. Shows what the question is about, and asks
    /// it; only a clear yes is one.
    pub(crate) fn agrees(
        &self,
        yes: bool,
        changes: usize,
        about: &str,
        question: &str,
    ) -> Result<bool, CliError> {
        if yes {
            return Ok(true);
        }
        if !std::io::stdin().is_terminal() {
            return Err(CliError::needs_yes(changes));
        }
        let mut answer = String::new();
        let mut stderr = std::io::stderr();
        let asked = write!(stderr, "{about}{question} [y/N] ").and_then(|()| stderr.flush());
        Ok(asked.and_then(|()| std::io::stdin().read_line(&mut answer)).is_ok()
            && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
    }

    fn paint(&self, word: &str, style: &str) -> String {
        if self.colored(&std::io::stderr()) {
            format!("\u{1b}[{style}m{word}\u{1b}[0m")
        } else {
            word.to_owned()
        }
    }

    fn colored(&self, stream: &impl IsTerminal) -> bool {
        match self.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => stream.is_terminal() && environment_allows_color(|name| std::env::var(name).ok()),
        }
    }
}

fn environment_allows_color(variable: impl Fn(&str) -> Option<String>) -> bool {
    // <https://no-color.org>: set and not empty, whatever the value.
    let unwanted = variable("NO_COLOR").is_some_and(|value| !value.is_empty());
    !unwanted && variable("TERM").as_deref() != Some("dumb")
}

/// Nothing can be done where standard error is closed.
fn talk(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Columns: of the terminal, else as the environment says.
pub(crate) fn width() -> usize {
    let told = || std::env::var("COLUMNS").ok()?.parse().ok();
    let terminal = terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| width.0.into());
    terminal.or_else(told).filter(|&columns| columns >= 20).unwrap_or(WIDTH)
}

/// Whether the user's language is written in UTF-8; so it is where nothing is said.
fn unicode(variable: impl Fn(&str) -> Option<String>) -> bool {
    let told = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(|name| variable(name).filter(|value| !value.is_empty()));
    told.is_none_or(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> impl Fn(&str) -> Option<String> {
        move |name| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    }

    #[test]
    fn no_color_is_respected() {
        assert!(environment_allows_color(environment(&[("TERM", "xterm")])));
        assert!(environment_allows_color(environment(&[("NO_COLOR", "")])));
        assert!(!environment_allows_color(environment(&[("NO_COLOR", "1")])));
        assert!(!environment_allows_color(environment(&[("TERM", "dumb")])));
    }

    #[test]
    fn the_first_locale_that_is_set_counts() {
        assert!(unicode(environment(&[])));
        assert!(unicode(environment(&[("LANG", "en_US.UTF-8")])));
        assert!(unicode(environment(&[("LC_ALL", ""), ("LANG", "C.utf8")])));
        assert!(!unicode(environment(&[("LC_ALL", "C"), ("LANG", "en_US.UTF-8")])));
    }
}
