//! `rooflens export`: a trace for the Perfetto UI.

use std::path::PathBuf;

use rooflens_core::exit::Exit;
use rooflens_core::input::open_input;
use rooflens_core::perfetto;
use rooflens_schema::Notes;

use crate::args::model::ModelArgs;
use crate::args::reading::ReadingArgs;
use crate::commands::exit_of;
use crate::console::Console;
use crate::error::CliError;
use crate::progress;

const EXAMPLES: &str = "\
Examples:
  rooflens export trace.json.gz -o seen.json.gz          open it in https://ui.perfetto.dev
  rooflens analyze seen.json.gz                          the same answers as from trace.json.gz
  rooflens export runs/tp8 -o tp8.json.gz                all ranks of a saved run, only for viewing
  rooflens export trace.json --model config.json --hardware h100 -o seen.json.gz";

/// Export a trace for the Perfetto UI, with phases, layers and the time ledger
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Trace, folder with the traces of one job, or a run directory; several traces are the ranks of
    /// one job
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    floor: ModelArgs,
    /// File to write; compressed if its name ends with .gz
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: PathBuf,
}

/// Runs the command.
pub fn run(args: Args, console: &Console) -> Result<Exit, CliError> {
    let observer = progress::observer(console, progress::READING);
    let notes = Notes::default();
    perfetto::check_destination(&args.inputs, &args.output)?;
    let input = open_input(&args.inputs, &args.reading.options(), &notes, &observer)?;
    let stopped = perfetto::export(&input, &notes, &args.floor.request(), &args.output, &observer)?;
    console.warn_of_loss(&notes.rows());
    console.say(&format!("trace: {} (open it in https://ui.perfetto.dev)", args.output.display()));
    Ok(exit_of(stopped))
}
