//! `rooflens trend`: since when a number is different.

use std::path::PathBuf;

use clap::ValueHint;
use rooflens_analyze::compare::trend::TrendOptions;
use rooflens_core::exit::Exit;
use rooflens_core::fleet::store_trend;
use rooflens_core::run_index::RunFilter;
use rooflens_core::trend::{TrendRequest, folder_trend, trend};
use rooflens_report::cost::terminal;

use crate::args::OutputFormat;
use crate::args::store::day;
use crate::console::Console;
use crate::error::CliError;
use crate::output;
use crate::runs::{holds_runs, names_store};

const EXAMPLES: &str = "\
Examples:
  rooflens trend runs/nightly/*                            change points of TPOT, oldest run first
  rooflens trend runs/nightly/* --key ttft_p99 --min-change 2
  rooflens trend runs/ --where tag=nightly --metric tpot_p50_ns
  rooflens trend --store team-store --where model=Qwen/Qwen3-8B --key mbu_decode
  rooflens trend --csv history.csv --key tpot_ms --format json

Change points are found as Apache Otava finds them: E-divisive within windows;\nthen change points that fail a t-test are removed, the weakest first.";

/// Find the runs at which a metric changed
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Run directories of `rooflens run`, oldest first; or one folder of them or a store, in the order in which they began
    #[arg(value_name = "RUN", required_unless_present_any = ["csv", "store"], conflicts_with_all = ["csv", "store"], value_hint = ValueHint::DirPath)]
    runs: Vec<PathBuf>,
    /// Runs of this store instead, in the order in which they began
    #[arg(long, value_name = "STORE", conflicts_with = "csv")]
    store: Option<String>,
    /// Only runs of the folder or store for which this holds, as model=Qwen/Qwen3-8B, tag=nightly or 'ttft_p50_ns<1s'; may be repeated
    #[arg(long = "where", value_name = "CONDITION", conflicts_with = "csv")]
    only: Vec<String>,
    /// Only runs of the folder or store from this day on
    #[arg(long, value_name = "DAY", value_parser = day, conflicts_with = "csv")]
    since: Option<String>,
    /// Only runs of the folder or store up to this day
    #[arg(long, value_name = "DAY", value_parser = day, conflicts_with = "csv")]
    until: Option<String>,
    /// Read a column of this CSV file instead; its first line has the names
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    csv: Option<PathBuf>,
    /// Metric of the runs, or column of the CSV file
    #[arg(long, visible_alias = "metric", value_name = "NAME", default_value = "tpot_p50")]
    key: String,
    /// Window length of the change-point search
    #[arg(long, value_name = "N", default_value_t = TrendOptions::default().window, value_parser = window)]
    window: usize,
    /// Maximum p-value of a change
    #[arg(long, value_name = "P", default_value_t = TrendOptions::default().max_p)]
    max_p: f64,
    /// Minimum change in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0)]
    min_change: f64,
    /// Output format
    #[arg(long, value_parser = OutputFormat::text_or_json(), default_value = "text", help_heading = "Output")]
    format: OutputFormat,
}

fn window(text: &str) -> Result<usize, String> {
    // The distances of a window take room of its square.
    let found = text.parse::<usize>().ok().filter(|window| (2..=5_000).contains(window));
    found.ok_or_else(|| "from 2 to 5000".to_owned())
}

pub(crate) fn run(args: Args, console: &Console) -> Result<Exit, CliError> {
    let options =
        TrendOptions { window: args.window, max_p: args.max_p, min_change: args.min_change / 100.0 };
    let filter = RunFilter::parse(&args.only)?;
    let filter = RunFilter { since: args.since, until: args.until, ..filter };
    let found = match (args.store, args.runs.as_slice()) {
        (Some(store), _) => store_trend(&store, &filter, &args.key, options)?,
        (None, [store]) if names_store(store) => {
            store_trend(&store.to_string_lossy(), &filter, &args.key, options)?
        }
        (None, [folder]) if holds_runs(folder, !filter.is_empty()) => {
            folder_trend(folder, &filter, &args.key, options)?
        }
        (None, [_, ..]) if !filter.is_empty() => return Err(CliError::not_one_folder()),
        (None, _) => trend(&TrendRequest { runs: args.runs, csv: args.csv, key: args.key, options })?,
    };
    let screen = || terminal(&found.parts(), &console.screen(found.change_points.len()));
    output::answer(args.format.is_json(), &found, screen)?;
    found.notes.iter().for_each(|note| console.warn(note));
    Ok(Exit::Fine)
}
