//! `rooflens export`: a trace for the Perfetto UI, a store for other engines.

use std::path::PathBuf;

use rooflens_core::exit::Exit;
use rooflens_core::fleet::{self, ExportTarget};
use rooflens_core::input::open_input;
use rooflens_core::{perfetto, saved};
use rooflens_schema::Notes;

use crate::args::{ModelArgs, ReadingArgs};
use crate::console::Console;
use crate::error::CliError;
use crate::interrupt::exit_of;
use crate::{output, progress};

const EXAMPLES: &str = "\
Examples:
  rooflens export trace.json.gz -o seen.json.gz          open it in https://ui.perfetto.dev
  rooflens analyze seen.json.gz                          the same answers as from trace.json.gz
  rooflens export runs/tp8 -o tp8.json.gz                all ranks of a saved run, only for viewing
  rooflens export trace.json --model config.json --hardware h100 -o seen.json.gz
  rooflens export duckdb --views --store team-store | duckdb fleet.db
  rooflens export clickhouse --store s3://bucket/rooflens > load.sql";

/// Export a trace for the Perfetto UI, or a store for DuckDB, ClickHouse, Spark, Trino or Iceberg
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Trace, folder with the traces of one job, or a run directory; several traces are the ranks of
    /// one job. With --store the engine: duckdb, clickhouse, spark, trino or iceberg
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    floor: ModelArgs,
    /// Write statements for an engine that load the tables of this store into tables of its own
    #[arg(long, value_name = "STORE")]
    store: Option<String>,
    /// Make views over the files of the store instead of loading them
    #[arg(long, requires = "store")]
    views: bool,
    /// File to write; a trace is compressed if its name ends with .gz. Standard output by default with --store
    #[arg(short, long, value_name = "FILE", required_unless_present = "store", help_heading = "Output")]
    output: Option<PathBuf>,
}

pub(crate) fn run(args: Args, console: &Console) -> Result<Exit, CliError> {
    if let Some(store) = &args.store {
        return statements(store, &args.inputs, args.views, args.output);
    }
    let Some(output) = args.output else { return Ok(Exit::Usage) };
    let observer = progress::observer(console, progress::READING);
    let notes = Notes::default();
    perfetto::check_destination(&args.inputs, &output)?;
    let input = open_input(&args.inputs, &args.reading.options(), &notes, &observer)?;
    let stopped = perfetto::export(&input, &notes, &args.floor.request(), &output, &observer)?;
    console.warn_of_loss(&notes.rows());
    console.say(&format!("trace: {} (open it in https://ui.perfetto.dev)", output.display()));
    Ok(exit_of(stopped))
}

fn statements(store: &str, inputs: &[PathBuf], views: bool, to: Option<PathBuf>) -> Result<Exit, CliError> {
    let name = inputs.first().map(|input| input.display().to_string()).unwrap_or_default();
    let target = ExportTarget::parse(&name, views)?;
    let text = fleet::statements(store, target)?;
    match to {
        Some(path) => saved::write(path, text.as_bytes())?,
        None => output::text(&text)?,
    }
    Ok(Exit::Fine)
}
