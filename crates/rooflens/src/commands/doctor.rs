//! `rooflens doctor`: what this machine has and lacks.

use serde::Serialize;

use crate::commands::AnswerFormat;
use crate::console::Console;
use crate::document::{SchemaTag, schema};
use crate::environment::{self, Check};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  rooflens doctor
  rooflens doctor --format json      for a bug report";

/// Check what this machine has and lacks; nothing is sent anywhere
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// What to print
    #[arg(long, value_enum, default_value = "text", help_heading = "Output")]
    format: AnswerFormat,
}

#[derive(Serialize)]
struct Diagnosis {
    schema: SchemaTag,
    checks: Vec<Check>,
}

/// Runs the command. What is missing here is optional: the code is always 0.
pub fn run(args: &Args, console: &Console) -> Result<Exit, CliError> {
    let checks = environment::checks(console);
    match args.format {
        AnswerFormat::Text => output::text(&text(&checks))?,
        AnswerFormat::Json => {
            let document = Diagnosis { schema: schema("doctor"), checks };
            output::json(&document, console.is_read_by_people())?;
        }
    }
    Ok(Exit::Fine)
}

fn text(checks: &[Check]) -> String {
    let mut text = String::new();
    for check in checks {
        let state = if check.ok { "ok" } else { "missing" };
        text.push_str(&format!("{state:8}{:18}{}\n", check.name, check.found));
        if let Some(needed) = check.needed.filter(|_| !check.ok) {
            text.push_str(&format!("{:8}{:18}needed: {needed}\n", "", ""));
        }
        if let Some(hint) = check.hint.filter(|_| !check.ok) {
            text.push_str(&format!("{:8}{:18}hint: {hint}\n", "", ""));
        }
    }
    text
}
