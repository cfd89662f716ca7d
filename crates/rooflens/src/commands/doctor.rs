//! `rooflens doctor`: what this machine has and lacks.

use rooflens_core::doctor::{self, CheckStatus, Diagnosis, DoctorCheck, Machine};
use rooflens_core::exit::Exit;
use rooflens_core::text::printable;

use crate::args::OutputFormat;
use crate::console::Console;
use crate::error::CliError;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  rooflens doctor
  rooflens doctor --deep --python .venv/bin/python   also whether torch can use a device
  rooflens doctor --format json                      for a bug report";

/// Check what this machine has and what is missing; nothing is sent anywhere
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Python interpreter to check; that of the project's config by default
    #[arg(long, value_name = "PYTHON")]
    python: Option<String>,
    /// Also run checks that take seconds: whether torch can use a device
    #[arg(long)]
    deep: bool,
    /// Output format
    #[arg(long, value_parser = OutputFormat::text_or_json(), default_value = "text", help_heading = "Output")]
    format: OutputFormat,
}

/// Runs the command. What is missing here is optional: the code is always 0.
pub(crate) fn run(args: &Args, console: &Console) -> Result<Exit, CliError> {
    let checks = doctor::checks(&Machine::here(
        console.screen(0),
        console.is_read_by_people(),
        args.python.as_deref(),
        args.deep,
    ));
    let screen = text(&checks);
    output::answer(args.format.is_json(), &Diagnosis::new(checks), || screen)?;
    Ok(Exit::Fine)
}

pub(crate) fn text(checks: &[DoctorCheck]) -> String {
    let mut text = String::new();
    for check in checks {
        text.push_str(&format!("{:8}{:18}{}\n", check.status.word(), check.name, printable(&check.found)));
        let is_wrong = matches!(check.status, CheckStatus::Missing | CheckStatus::Warning);
        let below = |word: &str, told: &str| format!("{:26}{word}: {}\n", "", printable(told));
        if let Some(needed) = check.needed.as_deref().filter(|_| is_wrong) {
            text.push_str(&below("needed", needed));
        }
        if let Some(hint) = &check.hint {
            text.push_str(&below("hint", hint));
        }
    }
    text
}
