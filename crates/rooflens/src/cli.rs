//! The command line as a whole: what may be typed, resolved into a command and a console.

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser};
use rooflens_core::exit::Exit;

use crate::args::one_of;
use crate::commands::Command;
use crate::console::{self, Color, Console, Verbosity};
use crate::output;

const EXAMPLES: &str = "\
Examples:
  rooflens analyze trace.json.gz              where device time goes, on one screen
  rooflens analyze traces/ -o runs/first      all ranks of a job, saved with an HTML report
  rooflens explain devices.busy_ns            what a number means and how it is computed

Exit codes: rooflens explain exit-codes";

/// Help is no wider than this.
const MAX_WIDTH: usize = 100;

/// Where every microsecond of LLM inference goes.
#[derive(Parser)]
#[command(name = "rooflens", version, after_help = EXAMPLES, max_term_width = MAX_WIDTH)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    shared: Shared,
}

/// Flags of every command.
#[derive(clap::Args)]
#[command(next_help_heading = "Logging")]
struct Shared {
    /// When to use colours; NO_COLOR is respected
    #[arg(long, global = true, value_parser = colors(), value_name = "WHEN", default_value = "auto")]
    color: Color,
    /// Print no progress, notes or hints: only the result, and errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Print how long each step takes
    #[arg(short, long, global = true)]
    verbose: bool,
}

fn colors() -> impl clap::builder::TypedValueParser<Value = Color> {
    one_of([("auto", Color::Auto), ("always", Color::Always), ("never", Color::Never)])
}

/// Flags that other programs have for what a command does here: the command, the flag, ours, and whether to say so.
const OTHER_FLAGS: &[(&str, &str, &str, bool)] = &[
    // Hydra's own short names, of several letters.
    ("run", "-cn", "--config-name", false),
    ("run", "-cp", "--config-path", false),
    ("run", "-cd", "--config-dir", false),
    ("config", "-cn", "--config-name", false),
    ("config", "-cp", "--config-path", false),
    ("config", "-cd", "--config-dir", false),
    // Those of llm-perf-opt's scripts.
    ("kernels top", "--topk", "--k", true),
    ("kernels profile", "--config", "--from", true),
    ("kernels profile", "--output-dir", "--output", true),
    ("kernels analyze", "--output-dir", "--output", true),
];

/// What was typed, in our own flags, and what to say about those of others.
fn typed() -> (Vec<OsString>, Vec<String>) {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    let mut notes = Vec::new();
    let plain = words.iter().skip(1).map(|word| word.to_string_lossy()).filter(|word| !word.starts_with('-'));
    let named: Vec<String> = plain.take(2).map(|word| word.into_owned()).collect();
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let is_of = |of: &str| named.join(" ") == of || named.first().is_some_and(|command| command == of);
    let known = OTHER_FLAGS.iter().filter(|(of, ..)| is_of(of));
    for (_, theirs, ours, said) in known {
        for word in &mut words[..end] {
            let text = word.to_string_lossy().into_owned();
            let rest = text.strip_prefix(theirs).filter(|rest| rest.is_empty() || rest.starts_with('='));
            if let Some(rest) = rest {
                *word = OsString::from(format!("{ours}{rest}"));
                notes.extend(said.then(|| format!("note: {theirs} is called {ours} in Rooflens")));
            }
        }
    }
    (words, notes)
}

/// Every command, for its manual and its completions.
pub(crate) fn whole() -> clap::Command {
    Cli::command()
}

/// The command to run, or how the program ended already: wrong usage, help, version.
pub(crate) fn parse() -> Result<(Command, Console), Exit> {
    let (words, notes) = typed();
    let width = console::width().min(MAX_WIDTH);
    let command = grouped(Cli::command(), width);
    let parsed = command.try_get_matches_from(words).and_then(|found| Cli::from_arg_matches(&found));
    let cli = parsed.map_err(|error| {
        // A closed pipe is the reader's right.
        let _ = error.print();
        match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Exit::Fine,
            _ => Exit::Usage,
        }
    })?;
    let console = cli.shared.resolve();
    notes.iter().for_each(|note| console.say(note));
    match cli.command {
        Some(command) => Ok((command, console)),
        None => {
            let help = grouped(Cli::command(), width).render_help();
            let text = if console.screen(0).color { help.ansi().to_string() } else { help.to_string() };
            output::text(&text).map_err(|error| error.exit())?;
            Err(Exit::Fine)
        }
    }
}

impl Shared {
    fn resolve(&self) -> Console {
        Console {
            verbosity: match (self.quiet, self.verbose) {
                (true, _) => Verbosity::Quiet,
                (false, true) => Verbosity::Verbose,
                (false, false) => Verbosity::Normal,
            },
            color: self.color,
        }
    }
}

/// Each group and its commands, in the order of the help.
const GROUPS: &[(&str, &[&str])] = &[
    ("Analyze traces and runs", &["analyze", "top", "advise", "report", "plot", "import", "export"]),
    ("Run and profile", &["run", "bench", "kernels", "monitor", "hardware", "bench-worker"]),
    ("Compare", &["compare", "trend"]),
    ("Many runs", &["store", "runs", "serve", "query"]),
    ("Model cost", &["cost"]),
    ("Projects and configs", &["init", "config", "assets", "externals"]),
    ("Agents and scripts", &["mcp", "schema"]),
    ("Help and setup", &["list", "explain", "doctor", "self-test", "completions", "man"]),
];

fn grouped(command: clap::Command, width: usize) -> clap::Command {
    let header = command.get_styles().get_header();
    let widest = command.get_subcommands().map(|found| found.get_name().len()).max().unwrap_or(0);
    let mut text = format!("{header}Commands:{header:#}\n");
    for (heading, names) in GROUPS {
        let abouts: Vec<(String, String)> = names
            .iter()
            .filter_map(|name| command.find_subcommand(name))
            .map(|found| (format!("  {:widest$}", found.get_name()), about(found)))
            .collect();
        let rows: Vec<(&str, &str)> =
            abouts.iter().map(|(name, about)| (name.as_str(), about.as_str())).collect();
        text.push_str(&format!(" {heading}\n{}", output::columns(&rows, width)));
    }
    text.push('\n');
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}{header}Options:{header:#}\n{{options}}{{after-help}}",
        text.replace(['{', '}'], "")
    );
    command.help_template(StyledStr::from(template))
}

fn about(command: &clap::Command) -> String {
    command.get_about().map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let mut named: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let command = Cli::command();
        let mut known: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        named.sort_unstable();
        known.sort_unstable();
        assert_eq!(named, known);
    }
}
