//! `rooflens store`: many runs in one place.

use std::path::PathBuf;

use clap::{Subcommand, ValueHint};
use rooflens_core::exit::Exit;
use rooflens_core::fleet::{self, RetainRequest, StoreChangedDocument};
use rooflens_core::observer::Stop;
use rooflens_core::text::counted;

use crate::args::OutputFormat;
use crate::args::store::{FilingArgs, address, day, pair, say};
use crate::console::Console;
use crate::error::CliError;
use crate::{output, progress};

const EXAMPLES: &str = "\
Examples:
  rooflens store add runs/tp8 --store team-store           a folder; it is made if it is not there
  rooflens store add runs/* --store s3://bucket/rooflens --set runtime_version=0.12.0
  rooflens store set 01a1eb96 label=release-3 --store team-store
  rooflens store verify --store team-store                 every byte against its checksum
  rooflens store compact --store team-store                few files per day, sorted by kernel
  rooflens store retain --store team-store --events 30 --rollups 400
  rooflens query top-kernels --store team-store            ask it

A store is a folder or a bucket of Parquet files. Many may add runs at the same time; a run is visible once it is \
whole. Kernels, phases, requests, steps and counters are stored, with sums by kernel; texts that may name people, \
files, machines or prompts are not. Credentials come from where the provider's own tools take them, as AWS_PROFILE.";

/// Keep many runs in a folder or a bucket, to query them together
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Add runs to a store
    Add(AddArgs),
    /// Check every file of a store against its checksum
    Verify(WholeArgs),
    /// Remove runs from a store
    Rm(RemoveArgs),
    /// Correct what a store knows of a run, such as its label or the runtime's version
    Set(SetArgs),
    /// Join the small files of each day into few, sorted by kernel
    Compact(CompactArgs),
    /// Drop events or all data of old days
    Retain(RetainArgs),
    /// Delete files that are no longer used
    Vacuum(VacuumArgs),
}

#[derive(clap::Args)]
struct AddArgs {
    /// Run directories
    #[arg(value_name = "RUN", required = true, value_hint = ValueHint::DirPath)]
    runs: Vec<PathBuf>,
    #[command(flatten)]
    filing: FilingArgs,
    /// Day for runs that do not say when they began, as 2026-11-17
    #[arg(long, value_name = "DAY", value_parser = day, help_heading = "Store")]
    day: Option<String>,
    #[command(flatten)]
    whole: WholeArgs,
}

#[derive(clap::Args)]
struct WholeArgs {
    /// Store: a folder, s3://bucket/prefix, gs://… or az://…; by default what ROOFLENS_STORE names
    #[arg(long, value_name = "STORE")]
    store: Option<String>,
    /// Output format
    #[arg(long, value_parser = OutputFormat::text_or_json(), default_value = "text", help_heading = "Output")]
    format: OutputFormat,
}

#[derive(clap::Args)]
struct RemoveArgs {
    /// Ids of runs, or at least their first eight characters
    #[arg(value_name = "RUN_ID", required = true)]
    runs: Vec<String>,
    /// Tenant of the runs, where several tenants have them
    #[arg(long, value_name = "NAME")]
    tenant: Option<String>,
    /// Why; it is written to the store's audit folder with your user name
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
    #[command(flatten)]
    whole: WholeArgs,
}

#[derive(clap::Args)]
struct SetArgs {
    /// Id of the run, or its first characters
    #[arg(value_name = "RUN_ID")]
    run: String,
    /// What to set, such as label=release-3 or runtime_version=0.12.0; nothing after the = clears it
    #[arg(value_name = "COLUMN=VALUE", required = true, value_parser = pair)]
    values: Vec<(String, String)>,
    /// Tenant of the run, where several tenants have it
    #[arg(long, value_name = "NAME")]
    tenant: Option<String>,
    /// Why; it is written to the store's audit folder with your user name
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
    #[command(flatten)]
    whole: WholeArgs,
}

#[derive(clap::Args)]
struct CompactArgs {
    /// Only days up to this one, as 2026-11-17
    #[arg(long, value_name = "DAY", value_parser = day)]
    until: Option<String>,
    #[command(flatten)]
    whole: WholeArgs,
}

#[derive(clap::Args)]
#[group(id = "kept", required = true, multiple = true, args = ["events", "rollups"])]
struct RetainArgs {
    /// Days for which events are kept: kernels, phases, requests, steps, counters
    #[arg(long, value_name = "DAYS")]
    events: Option<i64>,
    /// Days for which sums are kept; older days are dropped as a whole
    #[arg(long, value_name = "DAYS")]
    rollups: Option<i64>,
    /// Only say what would be dropped
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    whole: WholeArgs,
}

#[derive(clap::Args)]
struct VacuumArgs {
    /// Only files older than this many minutes, so that queries and writers in progress keep theirs
    #[arg(long, value_name = "MINUTES", default_value_t = 60)]
    older_than: i64,
    #[command(flatten)]
    whole: WholeArgs,
}

pub(crate) fn run(args: Args, console: &Console) -> Result<Exit, CliError> {
    let observer = progress::observer(console, "ending what is begun");
    match args.action {
        Action::Add(args) => {
            let store = address(args.whole.store)?;
            let added = fleet::add(&args.filing.request(args.runs, store, args.day), &observer)?;
            match args.whole.format {
                OutputFormat::Json => output::json(&added)?,
                _ => say(&added, console),
            }
            if !added.failed.is_empty() {
                return Ok(Exit::Data);
            }
        }
        Action::Verify(args) => {
            let found = fleet::verify(&address(args.store)?, &observer)?;
            if args.format == OutputFormat::Json {
                output::json(&found)?;
            } else {
                for file in &found.damaged {
                    console.judged(&format!("damaged: {}: {}", file.path, file.why));
                }
                if !found.damaged.is_empty() {
                    console.say(
                        "restore these files from a copy of the store. A run that is not compacted yet can be added again \
                         instead, once its run-ID.json is deleted",
                    );
                }
                let (runs, files) = (counted(found.runs, "run"), counted(found.files, "file"));
                let damaged = found.damaged.len();
                console.say(&format!("{runs}, {files}, {} bytes: {damaged} damaged", found.bytes));
            }
            return Ok(if found.damaged.is_empty() { Exit::Fine } else { Exit::Gate });
        }
        Action::Rm(args) => {
            let removed =
                fleet::remove(&address(args.whole.store)?, &args.runs, args.tenant.as_deref(), &args.reason)?;
            match args.whole.format {
                OutputFormat::Json => output::json(&removed)?,
                _ => removed.removed.iter().for_each(|run| console.say(&format!("removed: {run}"))),
            }
        }
        Action::Set(args) => {
            let values = args.values.iter().cloned().collect();
            let store = address(args.whole.store)?;
            let now = fleet::set(&store, &args.run, args.tenant.as_deref(), &values, &args.reason)?;
            match args.whole.format {
                OutputFormat::Json => output::json(&now)?,
                _ => now.runs.iter().for_each(|run| console.say(&format!("set: {}", run.text("run_id")))),
            }
        }
        Action::Compact(args) => {
            let changed = fleet::compact(&address(args.whole.store)?, args.until.as_deref(), &observer)?;
            show(&changed, args.whole.format, console, "nothing to compact")?;
            if observer.stop() != Stop::No {
                return Ok(Exit::Interrupted);
            }
        }
        Action::Retain(args) => {
            let (events_days, rollups_days) = (args.events, args.rollups);
            let request = RetainRequest { is_dry: args.dry_run, events_days, rollups_days };
            let changed = fleet::retain(&address(args.whole.store)?, &request)?;
            show(&changed, args.whole.format, console, "no day is that old")?;
            if args.dry_run && args.whole.format != OutputFormat::Json {
                console.say("nothing was dropped: this was a dry run");
            }
        }
        Action::Vacuum(args) => {
            let vacuumed = fleet::vacuum(&address(args.whole.store)?, args.older_than.saturating_mul(60))?;
            match args.whole.format {
                OutputFormat::Json => output::json(&vacuumed)?,
                _ => console.say(&format!(
                    "deleted: {}, {} bytes",
                    counted(vacuumed.files, "file"),
                    vacuumed.bytes
                )),
            }
        }
    }
    Ok(Exit::Fine)
}

fn show(
    changed: &StoreChangedDocument,
    format: OutputFormat,
    console: &Console,
    nothing: &str,
) -> Result<(), CliError> {
    if format == OutputFormat::Json {
        return output::json(changed);
    }
    for day in &changed.days {
        let runs = match day.runs_before.saturating_sub(day.runs) {
            0 => counted(day.runs, "run"),
            dropped => format!("{} of {} dropped", dropped, counted(day.runs_before, "run")),
        };
        console.say(&format!(
            "{} of tenant {}: {runs}, {} → {} files, {} → {} bytes",
            day.day, day.tenant, day.files_before, day.files_after, day.bytes_before, day.bytes_after
        ));
    }
    if changed.days.is_empty() {
        console.say(nothing);
    }
    Ok(())
}
