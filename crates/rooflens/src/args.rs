//! What may be typed, resolved into a command and a console. No clap type goes further than this file
//! and the head of each command.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, ValueEnum};

use crate::commands::Command;
use crate::console::{Color, Console, Verbosity};
use crate::exit::Exit;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  rooflens analyze trace.json.gz              where device time goes, on one screen
  rooflens analyze traces/ -o runs/first      all ranks of a job, saved with an HTML report
  rooflens explain devices.busy_ns            what a number means and how it is computed

Exit codes: rooflens explain exit-codes";

/// Where every microsecond of LLM inference goes.
#[derive(Parser)]
#[command(name = "rooflens", version, after_help = EXAMPLES, max_term_width = 100)]
pub struct Cli {
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
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value = "auto")]
    color: ColorArg,
    /// Only print errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Print how long each step takes
    #[arg(short, long, global = true)]
    verbose: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum ColorArg {
    Auto,
    Always,
    Never,
}

/// Hydra's short names of several letters, which no command-line parser of one letter each can read.
const HYDRA_SHORT: &[(&str, &str)] =
    &[("-cn", "--config-name"), ("-cp", "--config-path"), ("-cd", "--config-dir")];

/// What was typed, with Hydra's short names written out for the commands that compose configs.
fn typed() -> Vec<OsString> {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    let composes = words.iter().skip(1).any(|word| word == "run" || word == "config");
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    for word in words[..end].iter_mut().filter(|_| composes) {
        if let Some((_, long)) = HYDRA_SHORT.iter().find(|(short, _)| *word == *short) {
            *word = OsString::from(long);
        }
    }
    words
}

/// The command to run, or how the program ended already: wrong usage, help, version.
pub fn parse() -> Result<(Command, Console), Exit> {
    let cli = Cli::try_parse_from(typed()).map_err(|error| {
        // A closed pipe is the reader's right.
        let _ = error.print();
        match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Exit::Fine,
            _ => Exit::Usage,
        }
    })?;
    let console = cli.shared.resolve();
    match cli.command {
        Some(command) => Ok((command, console)),
        None => {
            let help = Cli::command().render_help();
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
            color: match self.color {
                ColorArg::Auto => Color::Auto,
                ColorArg::Always => Color::Always,
                ColorArg::Never => Color::Never,
            },
        }
    }
}
