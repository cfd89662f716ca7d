//! `rooflens report`: the report of a run, once more.

use std::path::PathBuf;

use rooflens_schema::{Notes, RunDir};

use crate::commands::exit_of;
use crate::console::Console;
use crate::error::CliError;
use crate::exit::Exit;
use crate::inputs::Input;
use crate::job;
use crate::progress;
use crate::saved;

const EXAMPLES: &str = "\
Examples:
  rooflens report runs/first                 writes runs/first/report/ and findings/ anew
  rooflens report runs/first -o public/      writes the report's files to another folder";

/// Write the report of a run directory again
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Run directory, as `import` or `analyze -o` wrote it
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Folder for the report's files, in place of the run's own
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    output: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: &Args, console: &Console) -> Result<Exit, CliError> {
    let run = RunDir::open(&args.run).map_err(CliError::UnreadableRun)?;
    if let Some(folder) = &args.output {
        saved::report_destination(folder)?;
    }
    let input = Input::Run(run.clone());
    let mut outcome =
        progress::follow(console, None, |watch| job::analyze(&input, &Notes::default(), None, watch))?;
    let folder = match &args.output {
        Some(folder) => folder.clone(),
        None => {
            saved::write_findings(&run, &outcome.findings)?;
            run.report()
        }
    };
    let document = crate::run::describe(&run, &mut outcome.findings);
    let page = saved::write_report(&folder, &outcome.findings)?;
    if args.output.is_none() {
        crate::run::rewrite(&run, document.as_ref(), &outcome.findings)?;
    }
    console.say(&format!("report: {}", page.display()));
    Ok(exit_of(outcome.stopped))
}
