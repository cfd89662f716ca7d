//! `rooflens config`: what a run's configuration is, and where each value comes from.

use std::path::PathBuf;

use clap::builder::TypedValueParser;
use clap::{Subcommand, ValueEnum};
use rooflens_compose::CompositionView;
use rooflens_core::exit::Exit;
use rooflens_core::project;

use crate::args::{OutputFormat, one_of};
use crate::config::{self, Shown};
use crate::console::Console;
use crate::error::CliError;

const EXAMPLES: &str = "\
Examples:
  rooflens config show                               the composed config, as YAML
  rooflens config show runtime=vllm seed=3           with choices and values from the command line
  rooflens config show --origins                     each value with the file and line it comes from
  rooflens config show --info defaults-tree          which files, in which order
  rooflens config show -m seed=1,2                   the jobs of a sweep, in order
  rooflens config write -m seed=1,2 --hydra          their folders, for a program that reads configs
  rooflens config groups                             the groups and their options
  rooflens config migrate conf --dry-run             old names in a config tree of llm-perf-opt

Overrides: key=value, +key=value, ++key=value, ~key, group=option, as in Hydra 1.3";

/// Compose the configuration of a run, as Hydra does
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Print the composed config
    #[command(after_help = SHOW_EXAMPLES)]
    Show(Box<ShowArgs>),
    /// Create the folder of every job, with the files that record how it was composed
    #[command(after_help = WRITE_EXAMPLES)]
    Write(WriteArgs),
    /// Rewrite a config tree of llm-perf-opt with the names of Rooflens
    #[command(after_help = MIGRATE_EXAMPLES)]
    Migrate(MigrateArgs),
    /// List the groups and their options
    #[command(after_help = GROUPS_EXAMPLES)]
    Groups(Place),
}

const SHOW_EXAMPLES: &str = "\
Examples:
  rooflens config show runtime=vllm seed=3           with choices and values from the command line
  rooflens config show --package runtime --resolve   a part of it, interpolations replaced
  rooflens config show -m runtime.batch_size=1,2,4   every job of a sweep";

const WRITE_EXAMPLES: &str = "\
Examples:
  rooflens config write seed=3                       the folder of a run, with .rooflens/ in it
  rooflens config write -m seed=1,2 --hydra          those of a sweep, with .hydra/ for programs that want it";

const MIGRATE_EXAMPLES: &str = "\
Examples:
  rooflens config migrate conf --dry-run             which names change, file by file
  rooflens config migrate conf -o conf-new           a new tree; the old one is kept
  rooflens config migrate conf                       in place; the old files are kept beside it";

const GROUPS_EXAMPLES: &str = "\
Examples:
  rooflens config groups";

/// Where configs are.
#[derive(clap::Args)]
struct Place {
    /// Config folder; conf/ of the surrounding project by default
    #[arg(long, visible_alias = "config-path", value_name = "DIR", help_heading = "Config")]
    config_dir: Option<PathBuf>,
    /// Name of the primary config
    #[arg(long, value_name = "NAME", default_value = "config", help_heading = "Config")]
    config_name: String,
    /// Output format
    #[arg(long, value_parser = OutputFormat::text_or_json(), default_value = "text", help_heading = "Output")]
    format: OutputFormat,
}

#[derive(clap::Args)]
struct ShowArgs {
    #[command(flatten)]
    place: Place,
    /// Part to show: the job's config, Hydra's own, or both
    #[arg(long, value_parser = views(), default_value = "job", value_name = "PART", help_heading = "Output")]
    cfg: CompositionView,
    /// Resolve interpolations
    #[arg(long, help_heading = "Output")]
    resolve: bool,
    /// Only the config at this path
    #[arg(long, short, value_name = "PATH", help_heading = "Output")]
    package: Option<String>,
    /// Each value on a line, with the file and line it comes from
    #[arg(long, conflicts_with_all = ["package", "info"], help_heading = "Output")]
    origins: bool,
    /// Show how the config was composed instead
    #[arg(long, value_enum, value_name = "WHAT", num_args = 0..=1, default_missing_value = "all", help_heading = "Output")]
    info: Option<Info>,
    #[command(flatten)]
    jobs: Jobs,
}

#[derive(clap::Args)]
struct WriteArgs {
    #[command(flatten)]
    place: Place,
    /// Also write Hydra's files: `.hydra/` of each job, `multirun.yaml` of a sweep
    #[arg(long, help_heading = "Output")]
    hydra: bool,
    #[command(flatten)]
    jobs: Jobs,
}

#[derive(clap::Args)]
struct MigrateArgs {
    /// Config folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Name of the primary config
    #[arg(long, value_name = "NAME", default_value = "config", help_heading = "Config")]
    config_name: String,
    /// Write the tree to this folder and leave the old one as it is
    #[arg(long, short, value_name = "DIR", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Show what would change without writing anything
    #[arg(long, help_heading = "Output")]
    dry_run: bool,
    /// Output format
    #[arg(long, value_parser = OutputFormat::text_or_json(), default_value = "text", help_heading = "Output")]
    format: OutputFormat,
}

/// What is changed on the command line.
#[derive(clap::Args)]
struct Jobs {
    /// Compose every job of a sweep
    #[arg(long, short, help_heading = "Config")]
    multirun: bool,
    /// Overrides: group=option, key=value, +key=value, ~key
    #[arg(value_name = "OVERRIDES")]
    overrides: Vec<String>,
}

impl Place {
    fn question(self, jobs: Jobs) -> config::ConfigRequest {
        config::ConfigRequest {
            folder: self.config_dir.unwrap_or_else(project::configs),
            name: self.config_name,
            overrides: jobs.overrides,
            multirun: jobs.multirun,
            json: self.format == OutputFormat::Json,
            for_run: false,
        }
    }
}

/// Parts of a composition.
pub(super) fn views() -> impl TypedValueParser<Value = CompositionView> {
    one_of([("job", CompositionView::Job), ("hydra", CompositionView::Hydra), ("all", CompositionView::All)])
}

/// How a config was composed.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Info {
    All,
    Config,
    Defaults,
    DefaultsTree,
    Searchpath,
}

pub(crate) fn run(args: Args, console: &Console) -> Result<Exit, CliError> {
    match args.what {
        What::Show(args) => {
            let shown = match args.origins {
                true => Shown::Origins { view: args.cfg, resolve: args.resolve },
                false => shown(args.cfg, args.package, args.resolve, args.info),
            };
            config::show(&args.place.question(args.jobs), &shown, console)?;
        }
        What::Write(args) => config::write(&args.place.question(args.jobs), args.hydra, console)?,
        What::Migrate(args) => {
            let asked = config::migrate::Migration {
                folder: args.folder,
                name: args.config_name,
                output: args.output,
                dry_run: args.dry_run,
                json: args.format == OutputFormat::Json,
            };
            config::migrate::migrate(&asked)?;
        }
        What::Groups(place) => {
            let none = Jobs { multirun: false, overrides: Vec::new() };
            config::groups(&place.question(none), console)?;
        }
    }
    Ok(Exit::Fine)
}

pub(super) fn shown(
    view: CompositionView,
    package: Option<String>,
    resolve: bool,
    info: Option<Info>,
) -> Shown {
    match info {
        Some(Info::All) => Shown::Everything,
        Some(Info::Defaults) => Shown::Defaults,
        Some(Info::DefaultsTree) => Shown::DefaultsTree,
        Some(Info::Searchpath) => Shown::SearchPath,
        Some(Info::Config) | None => Shown::Config { view, package, resolve },
    }
}
