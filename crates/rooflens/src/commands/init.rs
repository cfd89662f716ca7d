//! `rooflens init`: a new project.

use std::path::PathBuf;

use rooflens_collect::project::skeleton::{self, Existing, PackageManager, SkeletonOptions};
use rooflens_core::exit::Exit;
use rooflens_core::project::InitDocument;
use rooflens_core::shell::word;

use crate::args::{OutputFormat, one_of};
use crate::console::Console;
use crate::error::CliError;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  rooflens init first && cd first && rooflens run
  rooflens init first --with pixi        with a pixi.toml that has tasks
  rooflens init . --force                adds what is missing to a folder, changes nothing";

/// Create a project: configs, an example model and dataset
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Project folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Manager of its Python packages
    #[arg(long, value_parser = one_of([("pixi", PackageManager::Pixi), ("pyproject", PackageManager::Pyproject)]), value_name = "TOOL")]
    with: Option<PackageManager>,
    /// Use a folder that is not empty; existing files are not changed
    #[arg(long)]
    force: bool,
    /// Output format
    #[arg(long, value_parser = OutputFormat::text_or_json(), default_value = "text", help_heading = "Output")]
    format: OutputFormat,
}

pub(crate) fn run(args: &Args, console: &Console) -> Result<Exit, CliError> {
    let options = SkeletonOptions {
        environment: args.with,
        existing: if args.force { Existing::Complete } else { Existing::Refuse },
    };
    let written = skeleton::write(&args.folder, &options)?;
    let kept = match written.kept.len() {
        0 => String::new(),
        kept => format!(", {kept} left unchanged"),
    };
    let screen = || format!("{}: {} files made{kept}\n", args.folder.display(), written.made.len());
    output::answer(args.format.is_json(), &InitDocument::new(&written), screen)?;
    if !args.format.is_json() {
        console.say(&format!("next: cd {} && rooflens run", word(&args.folder)));
    }
    Ok(Exit::Fine)
}
