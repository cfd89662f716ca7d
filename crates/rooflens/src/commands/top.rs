//! `rooflens top`: look through an answer with keys.

use std::io::IsTerminal;
use std::path::PathBuf;

use clap::ValueHint;
use rooflens_core::exit::Exit;
use rooflens_core::overview::overview;

use crate::args::model::ModelArgs;
use crate::console::Console;
use crate::error::CliError;
use crate::progress;
use crate::top::{TopLook, look_through};

const EXAMPLES: &str = "\
Examples:
  rooflens top runs/first                     ledger, kernels, steps and layers of a run
  rooflens top trace.json.gz
  rooflens top traces/                        all ranks of a job

Keys: 1 to 4 or Tab for a pane, Enter to open a row (a phase, its classes, their kernels), Esc to go back, s to sort, \
/ to filter, ? for all keys, q to quit. `rooflens kernels top` prints the kernels as a table.";

/// Look through ledger, kernels, steps and layers in the terminal
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Run directory, or traces of one job
    #[arg(value_name = "INPUT", required = true, value_hint = ValueHint::AnyPath)]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    floor: ModelArgs,
}

/// Runs the command.
pub(crate) fn run(args: Args, console: &Console) -> Result<Exit, CliError> {
    // Before anything is read: a trace may take minutes.
    if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        return Err(CliError::NoTerminal);
    }
    let observer = progress::observer(console, progress::READING);
    let found = overview(&args.inputs, &args.floor.request(), &observer)?;
    let screen = console.screen(0);
    look_through(&found, TopLook { color: screen.color, unicode: screen.unicode }, &observer)?;
    Ok(Exit::Fine)
}
