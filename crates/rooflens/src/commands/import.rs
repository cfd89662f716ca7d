//! `rooflens import`: traces to tables.

use std::path::{Path, PathBuf};

use rooflens_core::bench::{import_results, is_result};
use rooflens_core::error::{Error, Hint};
use rooflens_core::exit::Exit;
use rooflens_core::input::{Input, ReadOptions, open_input};
use rooflens_core::text::counted;
use rooflens_core::{job, saved, shell};
use rooflens_schema::Notes;

use crate::args::store::StoreArgs;
use crate::console::Console;
use crate::error::CliError;
use crate::interrupt::exit_of;
use crate::progress;

const EXAMPLES: &str = "\
Examples:
  rooflens import trace.json.gz -o runs/first      tables only, to analyze later
  rooflens analyze runs/first                      the same answer as from the trace, at once
  rooflens import vllm-bench.json -o runs/old      a result of `vllm bench serve --save-detailed`
  duckdb -c \"from 'runs/first/tables/kernels.parquet' limit 5\"";

/// Convert traces, or results of other serving benchmarks, to Parquet tables
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Trace, folder with the traces of one job, or `-`; several traces are the ranks of one job. Or a result file of
    /// `vllm bench serve`, SGLang, AIPerf or guidellm
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<PathBuf>,
    /// Keep paths, addresses and environment values found in names of the trace
    #[arg(long)]
    keep_private: bool,
    /// Run directory to write
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    output: PathBuf,
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: Args, console: &Console) -> Result<Exit, CliError> {
    if let [only] = args.inputs.as_slice()
        && is_result(only)
    {
        return import_bench(only, &args.output, args.store, console);
    }
    let observer = progress::observer(console, progress::READING);
    let notes = Notes::default();
    let options = ReadOptions { keep_private: args.keep_private, ..ReadOptions::default() };
    let input = open_input(&args.inputs, &options, &notes, &observer)?;
    let run = saved::destination(&args.output)?;
    if let Input::Run(read) = &input
        && saved::same_folder(read.root(), run.root())
    {
        let path = args.output;
        let hint =
            Hint::leading("to write its report again:", format!("rooflens report {}", shell::word(&path)));
        let message = format!("{} is the input run: it already has its tables", path.display());
        return Err(Error::usage(message).hinted(hint).into());
    }
    let stopped = job::import(&input, &notes, &run, &observer)?;
    console.warn_of_loss(&notes.rows());
    console.say(&format!("tables: {}", run.root().join("tables").display()));
    console.say(&format!("next: rooflens analyze {}", shell::word(run.root())));
    args.store.add(vec![args.output], &observer, console)?;
    Ok(exit_of(stopped))
}

fn import_bench(path: &Path, folder: &Path, store: StoreArgs, console: &Console) -> Result<Exit, CliError> {
    let mut runs = Vec::new();
    for (run, document) in import_results(path, folder)? {
        let requests = counted(document.requests, "request");
        console.say(&format!("{}: {requests} of {}", run.display(), document.client));
        for caveat in &document.caveats {
            console.warn(&caveat.message);
        }
        console.say(&format!("next: rooflens compare OTHER {}", shell::word(&run)));
        runs.push(run);
    }
    store.add(runs, &progress::observer(console, progress::READING), console)?;
    Ok(Exit::Fine)
}
