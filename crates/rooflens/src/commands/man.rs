//! `rooflens man`: the manual.

use std::path::PathBuf;

use rooflens_core::error::Error;
use rooflens_core::exit::Exit;

use crate::console::Console;
use crate::error::CliError;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  rooflens man | man -l -                          reads it
  rooflens man ~/.local/share/man/man1             installs a page for each command";

/// Print the manual page, or write a page for each command
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Folder for the pages; created if missing
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, whole: fn() -> clap::Command, console: &Console) -> Result<Exit, CliError> {
    match &args.folder {
        None => output::with(|out| {
            let mut page = Vec::new();
            clap_mangen::Man::new(whole()).render(&mut page)?;
            out.write_all(&page)
        })?,
        Some(folder) => {
            std::fs::create_dir_all(folder)
                .and_then(|()| clap_mangen::generate_to(whole(), folder))
                .map_err(|source| Error::unwritable(folder, source))?;
            console.say(&format!("manual: {}", folder.display()));
        }
    }
    Ok(Exit::Fine)
}
