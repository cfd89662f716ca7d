//! `rooflens import`: traces to tables.

use std::path::PathBuf;

use rooflens_schema::Notes;

use crate::commands::exit_of;
use crate::console::Console;
use crate::error::CliError;
use crate::exit::Exit;
use crate::inputs::{self, Input};
use crate::job;
use crate::progress;
use crate::saved;
use crate::shell;

const EXAMPLES: &str = "\
Examples:
  rooflens import trace.json.gz -o runs/first      tables only, to analyse later
  rooflens analyze runs/first                      the same answer as from the trace, at once
  duckdb -c \"from 'runs/first/tables/kernels.parquet' limit 5\"";

/// Convert traces to Parquet tables, with derived columns
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Trace, folder with the traces of one job, or `-`; several traces are the ranks of one job
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<PathBuf>,
    /// Keep paths, addresses and environment values found in names of the trace
    #[arg(long)]
    keep_private: bool,
    /// Run directory to write
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    output: PathBuf,
}

/// Runs the command.
pub fn run(args: Args, console: &Console) -> Result<Exit, CliError> {
    let notes = Notes::default();
    let input = inputs::resolve(&args.inputs, &notes)?.keeping_private(args.keep_private);
    let run = saved::destination(&args.output)?;
    if let Input::Run(read) = &input
        && saved::same_folder(read.root(), run.root())
    {
        return Err(CliError::SameRun { path: args.output });
    }
    let stopped =
        progress::follow(console, input.stored_bytes(), |watch| job::import(&input, &notes, &run, watch))?;
    console.warn_of_loss(&notes.rows());
    console.say(&format!("tables: {}", run.root().join("tables").display()));
    console.say(&format!("next: rooflens analyze {}", shell::word(run.root())));
    Ok(exit_of(stopped))
}
