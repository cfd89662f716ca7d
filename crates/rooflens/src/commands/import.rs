//! `rooflens import`: traces to tables.

use std::path::PathBuf;

use rooflens_core::error::Error;
use rooflens_core::exit::Exit;
use rooflens_core::input::{Input, ReadOptions, open_input};
use rooflens_core::{job, saved, shell};
use rooflens_schema::Notes;

use crate::commands::exit_of;
use crate::console::Console;
use crate::error::CliError;
use crate::progress;

const EXAMPLES: &str = "\
Examples:
  rooflens import trace.json.gz -o runs/first      tables only, to analyze later
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
    let observer = progress::observer(console, progress::READING);
    let notes = Notes::default();
    let options = ReadOptions { keep_private: args.keep_private, ..ReadOptions::default() };
    let input = open_input(&args.inputs, &options, &notes, &observer)?;
    let run = saved::destination(&args.output)?;
    if let Input::Run(read) = &input
        && saved::same_folder(read.root(), run.root())
    {
        return Err(Error::SameRun { path: args.output }.into());
    }
    let stopped = job::import(&input, &notes, &run, &observer)?;
    console.warn_of_loss(&notes.rows());
    console.say(&format!("tables: {}", run.root().join("tables").display()));
    console.say(&format!("next: rooflens analyze {}", shell::word(run.root())));
    Ok(exit_of(stopped))
}
