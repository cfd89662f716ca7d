//! `rooflens report`: the report of a run, once more.

use std::path::PathBuf;

use rooflens_report::Extras;
use rooflens_schema::{Notes, RunDir};

use crate::commands::exit_of;
use crate::console::Console;
use crate::error::CliError;
use crate::exit::Exit;
use crate::inputs::Input;
use crate::job;
use crate::progress;
use crate::run::RunDocument;
use crate::saved;

const EXAMPLES: &str = "\
Examples:
  rooflens report runs/first                 rewrites runs/first/report/ and findings/
  rooflens report runs/first -o public/      writes the report's files to another folder
  rooflens report runs/first/sweeps/20260102-030405   that of a sweep, with its figures";

/// Write the report of a run directory again
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Run directory, as `run`, `import` or `analyze -o` wrote it; or the folder of a sweep
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Folder for the report's files; the run's own by default
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    output: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: &Args, console: &Console) -> Result<Exit, CliError> {
    if let Some(folder) = &args.output {
        saved::report_destination(folder)?;
    }
    if let Some(page) = crate::run::rewrite_sweep(&args.run, args.output.as_deref())? {
        console.say(&format!("report: {}", page.display()));
        return Ok(Exit::Fine);
    }
    // A run without a trace has no tables; what else is in its report follows from the rest.
    let bare = RunDir::new(&args.run);
    if !RunDir::is_run(&args.run) && args.output.is_none() && crate::run::rewrite_files(&bare)? {
        console.say(&format!("report: {}", bare.report().display()));
        return Ok(Exit::Fine);
    }
    let run = RunDir::open(&args.run).map_err(CliError::UnreadableRun)?;
    let input = Input::Run(run.clone());
    let mut outcome =
        progress::follow(console, None, |watch| job::analyze(&input, &Notes::default(), None, watch))?;
    crate::advise::complete(&input, &crate::floors::Args::default(), &mut outcome.findings)?;
    let folder = match &args.output {
        Some(folder) => folder.clone(),
        None => {
            saved::write_findings(&run, &outcome.findings)?;
            run.report()
        }
    };
    let top = crate::run::settings(&run).and_then(|settings| usize::try_from(settings.output.top).ok());
    let document = crate::run::describe(&run, &mut outcome.findings);
    let more = document.as_ref().map_or_else(Vec::new, RunDocument::parts);
    let page = saved::write_report(&folder, &outcome.findings, Extras { more: &more, top })?;
    if args.output.is_none() {
        crate::run::rewrite(&run, document.as_ref(), &outcome.findings)?;
        crate::run::rewrite_files(&run)?;
    }
    console.say(&format!("report: {}", page.display()));
    Ok(exit_of(outcome.stopped))
}
