//! `rooflens runs`: the runs of a folder or a store.

use std::path::PathBuf;

use clap::{Subcommand, ValueHint};
use rooflens_core::exit::Exit;
use rooflens_core::run_index::{RunFilter, RunOrder};

use crate::args::OutputFormat;
use crate::args::store::{day, named_store};
use crate::console::Console;
use crate::error::CliError;
use crate::runs::{ListedRuns, RunsChange, RunsPlace, delete, list, tag};

const EXAMPLES: &str = "\
Examples:
  rooflens runs runs/                                      every run below a folder, newest first
  rooflens runs runs/ --where model~qwen --where 'tpot_p50_ns<20ms' --sort tpot_p50_ns
  rooflens runs team-store --where model=Qwen/Qwen3-8B --since 2026-11-10
  rooflens runs s3://bucket/rooflens --format json | jq '.runs[].run_id'
  rooflens runs tag runs/nightly-7 runs/nightly-8 baseline
  rooflens runs runs/ --where tag=baseline
  rooflens runs delete runs/nightly-1                      shows what goes, then asks

Conditions: COLUMN=VALUE, COLUMN!=VALUE, COLUMN~TEXT (contains, in any case), and for numbers <, <=, > and >=, with \
units of time (20ms) or a percent sign. Columns are those of the table `runs` of a store, \
folder, sweep, tag, tenant, day, problem, and metrics (`rooflens list metrics`). Links are not followed.";

/// List the runs of a folder or a store; tag and delete them
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
    /// Folder of run directories, or store: a folder, s3://bucket/prefix, gs://… or az://…; by default what ROOFLENS_STORE names, else the current folder
    #[arg(value_name = "DIR|STORE", value_hint = ValueHint::DirPath)]
    place: Option<String>,
    /// The same, as other commands take a store
    #[arg(long = "store", value_name = "STORE", conflicts_with = "place")]
    named: Option<String>,
    /// Only runs for which this holds, as model=Qwen/Qwen3-8B, model~qwen, tag=baseline or 'tpot_p50_ns<20ms'; may be repeated
    #[arg(long = "where", value_name = "CONDITION")]
    only: Vec<String>,
    /// Only runs from this day on
    #[arg(long, value_name = "DAY", value_parser = day)]
    since: Option<String>,
    /// Only runs up to this day
    #[arg(long, value_name = "DAY", value_parser = day)]
    until: Option<String>,
    /// Sort by a column or metric; runs without a value come last [default: newest first]
    #[arg(long, value_name = "COLUMN[:asc|desc]")]
    sort: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value = "text", help_heading = "Output")]
    format: OutputFormat,
    /// Maximum rows on the screen
    #[arg(long, value_name = "N", default_value_t = 30, help_heading = "Output")]
    limit: usize,
}

#[derive(Subcommand)]
enum Action {
    /// Give runs a tag
    Tag(TagArgs),
    /// Take a tag from runs
    Untag(TagArgs),
    /// Delete runs
    Delete(DeleteArgs),
}

#[derive(clap::Args)]
struct TagArgs {
    /// Runs: their folders, or at least eight characters of their ids
    #[arg(value_name = "RUN", required = true, num_args = 1.., value_hint = ValueHint::DirPath)]
    runs: Vec<String>,
    /// The tag: letters, digits and . _ - : / + @
    #[arg(value_name = "NAME", required = true)]
    name: String,
    #[command(flatten)]
    place: PlaceArgs,
}

#[derive(clap::Args)]
struct DeleteArgs {
    /// Runs: their folders, or at least eight characters of their ids
    #[arg(value_name = "RUN", required = true, num_args = 1.., value_hint = ValueHint::DirPath)]
    runs: Vec<String>,
    /// Only show what would be deleted
    #[arg(long)]
    dry_run: bool,
    /// Delete without asking
    #[arg(long, short, conflicts_with = "dry_run")]
    yes: bool,
    /// Why; it is written to the store's audit folder with your user name
    #[arg(long, value_name = "TEXT", default_value = "", requires = "store")]
    reason: String,
    #[command(flatten)]
    place: PlaceArgs,
}

#[derive(clap::Args)]
struct PlaceArgs {
    /// Folder of runs; nothing outside it is changed
    #[arg(long = "in", value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    folder: PathBuf,
    /// Store that the runs are in; they are named by their ids, and their tag is their label
    #[arg(long, value_name = "STORE", conflicts_with = "folder")]
    store: Option<String>,
    /// Tenant of the runs, where several tenants have them
    #[arg(long, value_name = "NAME", requires = "store")]
    tenant: Option<String>,
    /// Output format
    #[arg(long, value_parser = OutputFormat::text_or_json(), default_value = "text", help_heading = "Output")]
    format: OutputFormat,
}

impl PlaceArgs {
    fn change(self, runs: Vec<String>, reason: String) -> RunsChange {
        let place = match self.store {
            Some(address) => RunsPlace::Store { address, tenant: self.tenant, reason },
            None => RunsPlace::Folder(self.folder),
        };
        RunsChange { runs, place, format: self.format }
    }
}

pub(crate) fn run(args: Args, console: &Console) -> Result<Exit, CliError> {
    match args.action {
        Some(Action::Tag(args)) => {
            tag(&args.place.change(args.runs, String::new()), &args.name, true, console)
        }
        Some(Action::Untag(args)) => {
            tag(&args.place.change(args.runs, String::new()), &args.name, false, console)
        }
        Some(Action::Delete(args)) => {
            delete(&args.place.change(args.runs, args.reason), args.yes, args.dry_run, console)
        }
        None => {
            let place = args.place.or(args.named).or_else(named_store).unwrap_or_else(|| ".".to_owned());
            let filter = RunFilter::parse(&args.only)?;
            let filter = RunFilter { since: args.since, until: args.until, ..filter };
            let order = args.sort.as_deref().map(RunOrder::parse).transpose()?;
            list(&ListedRuns { place, filter, order, limit: args.limit, format: args.format }, console)
        }
    }
}
