//! `rooflens init`: a new project.

use std::path::PathBuf;

use clap::ValueEnum;
use rooflens_collect::project::skeleton::{self, Existing, PackageManager, SkeletonOptions};
use rooflens_core::exit::Exit;
use rooflens_core::project::InitDocument;
use rooflens_core::shell::word;

use crate::args::format::OutputFormat;
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
    #[arg(long, value_enum, value_name = "TOOL")]
    with: Option<With>,
    /// Use a folder that is not empty; existing files are not changed
    #[arg(long)]
    force: bool,
    /// Output format
    #[arg(long, value_parser = OutputFormat::text_or_json(), default_value = "text", help_heading = "Output")]
    format: OutputFormat,
}

#[derive(Clone, Copy, ValueEnum)]
enum With {
    Pixi,
    Pyproject,
}

/// Runs the command.
pub(crate) fn run(args: &Args, console: &Console) -> Result<Exit, CliError> {
    let options = SkeletonOptions {
        environment: args.with.map(|with| match with {
            With::Pixi => PackageManager::Pixi,
            With::Pyproject => PackageManager::Pyproject,
        }),
        existing: if args.force { Existing::Complete } else { Existing::Refuse },
    };
    let written = skeleton::write(&args.folder, &options)?;
    match args.format {
        OutputFormat::Json => {
            output::json(&InitDocument::new(&written), console.is_read_by_people())?;
        }
        OutputFormat::Text | OutputFormat::Csv | OutputFormat::Md => {
            let mut text = format!("{}: {} files made", args.folder.display(), written.made.len());
            if !written.kept.is_empty() {
                text.push_str(&format!(", {} left unchanged", written.kept.len()));
            }
            output::text(&format!("{text}\n"))?;
            console.say(&format!("next: cd {} && rooflens run", word(&args.folder)));
        }
    }
    Ok(Exit::Fine)
}
