//! `rooflens report`: the report of a run, once more.

use std::path::PathBuf;

use rooflens_core::exit::Exit;
use rooflens_core::fleet::checkout;
use rooflens_core::report;

use crate::console::Console;
use crate::error::CliError;
use crate::interrupt::exit_of;
use crate::progress;

const EXAMPLES: &str = "\
Examples:
  rooflens report runs/first                 rewrites runs/first/report/ and findings/
  rooflens report runs/first -o public/      writes the report's files to another folder
  rooflens report 0190f2c4 --store team-store -o public/   of a run in a store
  rooflens report runs/first/sweeps/20260102-030405   the report of a sweep, with its figures";

/// Regenerate the report of a run directory
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Run directory, as `run`, `import` or `analyze -o` wrote it; or the folder of a sweep
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Take the run from this store: its id, or COLUMN=VALUE,… for the newest matching run
    #[arg(long, value_name = "STORE", requires = "output")]
    store: Option<String>,
    /// Folder for the report's files; the run's own by default
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    output: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, console: &Console) -> Result<Exit, CliError> {
    let observer = progress::observer(console, progress::READING);
    let inputs = [args.run.clone()];
    let fetched = args.store.as_ref().map(|store| checkout(store, &inputs, &observer)).transpose()?;
    fetched.iter().flat_map(|fetched| &fetched.notes).for_each(|note| console.warn(note));
    if let Some(id) = fetched.iter().flat_map(|fetched| &fetched.without_kernels).next() {
        let why = format!("the store has no kernels of {id}: its report needs the run directory");
        return Err(rooflens_core::Error::usage(why).into());
    }
    let run = fetched.as_ref().and_then(|fetched| fetched.paths.first()).unwrap_or(&args.run);
    let written = report::rewrite(run, args.output.as_deref(), &observer)?;
    console.say(&format!("report: {}", written.page.display()));
    Ok(exit_of(written.stopped))
}
