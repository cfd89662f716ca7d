//! `rooflens config`: what a run's configuration is, and where each value comes from.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use rooflens_compose::View;

use crate::config::{self, Shown};
use crate::console::Console;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project;

const EXAMPLES: &str = "\
Examples:
  rooflens config show                               the composed config, as YAML
  rooflens config show runtime=vllm seed=3           with choices and values of the command line
  rooflens config show --origins                     each value with the file and line it comes from
  rooflens config show --info defaults-tree          which files, in which order
  rooflens config groups                             what can be chosen

Overrides: key=value, +key=value, ++key=value, ~key, group=option, as in Hydra 1.3";

/// Compose the configuration of a run, as Hydra does
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Print the composed config
    #[command(after_help = SHOW_EXAMPLES)]
    Show(Box<ShowArgs>),
    /// List the groups and their options
    #[command(after_help = GROUPS_EXAMPLES)]
    Groups(Place),
}

const SHOW_EXAMPLES: &str = "\
Examples:
  rooflens config show runtime=vllm seed=3           with choices and values of the command line
  rooflens config show --package runtime --resolve   a part of it, interpolations replaced
  rooflens config show -m runtime.batch_size=1,2,4   every job of a sweep";

const GROUPS_EXAMPLES: &str = "\
Examples:
  rooflens config groups";

/// Where configs stand.
#[derive(clap::Args)]
struct Place {
    /// Folder of the configs; conf of the project around here where it is not said
    #[arg(long, visible_alias = "config-path", value_name = "DIR", help_heading = "Config")]
    config_dir: Option<PathBuf>,
    /// Name of the primary config
    #[arg(long, value_name = "NAME", default_value = "config", help_heading = "Config")]
    config_name: String,
    /// What to print
    #[arg(long, value_enum, default_value = "text", help_heading = "Output")]
    format: Format,
}

#[derive(clap::Args)]
struct ShowArgs {
    #[command(flatten)]
    place: Place,
    /// Which part: the job's config, Hydra's own, or both
    #[arg(long, value_enum, default_value = "job", value_name = "PART", help_heading = "Output")]
    cfg: Cfg,
    /// Replace interpolations by their values
    #[arg(long, help_heading = "Output")]
    resolve: bool,
    /// Only what stands at this path
    #[arg(long, short, value_name = "PATH", help_heading = "Output")]
    package: Option<String>,
    /// Each value on a line, with the file and line it comes from
    #[arg(long, conflicts_with_all = ["package", "info"], help_heading = "Output")]
    origins: bool,
    /// How the config came about, instead of the config
    #[arg(long, value_enum, value_name = "WHAT", help_heading = "Output")]
    info: Option<Info>,
    /// Compose every job of a sweep
    #[arg(long, short, help_heading = "Config")]
    multirun: bool,
    /// Overrides
    #[arg(value_name = "OVERRIDES")]
    overrides: Vec<String>,
}

/// What to print.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Text,
    Json,
}

#[derive(Clone, Copy, ValueEnum)]
enum Cfg {
    Job,
    Hydra,
    All,
}

#[derive(Clone, Copy, ValueEnum)]
enum Info {
    Defaults,
    DefaultsTree,
    Searchpath,
}

/// Runs the command.
pub fn run(args: Args, console: &Console) -> Result<Exit, CliError> {
    let (place, shown) = match args.what {
        What::Groups(place) => (place, Shown::Groups),
        What::Show(args) => {
            let view = match args.cfg {
                Cfg::Job => View::Job,
                Cfg::Hydra => View::Hydra,
                Cfg::All => View::All,
            };
            let shown = match args.info {
                Some(Info::Defaults) => Shown::Defaults,
                Some(Info::DefaultsTree) => Shown::DefaultsTree,
                Some(Info::Searchpath) => Shown::SearchPath,
                None if args.origins => Shown::Origins { view, resolve: args.resolve },
                None => Shown::Config { view, package: args.package, resolve: args.resolve },
            };
            let question = config::Question {
                folder: args.place.config_dir.unwrap_or_else(project::configs),
                name: args.place.config_name,
                overrides: args.overrides,
                multirun: args.multirun,
                shown,
                json: args.place.format == Format::Json,
            };
            return config::answer(&question, console).map(|()| Exit::Fine);
        }
    };
    let question = config::Question {
        folder: place.config_dir.unwrap_or_else(project::configs),
        name: place.config_name,
        overrides: Vec::new(),
        multirun: false,
        shown,
        json: place.format == Format::Json,
    };
    config::answer(&question, console).map(|()| Exit::Fine)
}
