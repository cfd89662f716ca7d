//! `rooflens runs`: the runs of a store.

use rooflens_core::exit::Exit;
use rooflens_core::fleet::{self, StoreFilter, StoreRunsDocument, StoredRunDocument};
use rooflens_core::text::counted;
use rooflens_report::Part;
use rooflens_report::block::{Block, Cell, Column, Field, Table};
use rooflens_report::cost::terminal;
use serde_json::Value as Json;

use crate::args::format::OutputFormat;
use crate::args::store::{address, day};
use crate::console::Console;
use crate::error::CliError;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  rooflens runs team-store
  rooflens runs team-store --where model=Qwen/Qwen3-8B --since 2026-11-10
  rooflens runs s3://bucket/rooflens --format json | jq '.runs[].run_id'";

/// List the runs of a store, newest first
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Store: a folder, s3://bucket/prefix, gs://… or az://…; by default what ROOFLENS_STORE names
    #[arg(value_name = "STORE")]
    store: Option<String>,
    /// The same, as other commands take it
    #[arg(long = "store", value_name = "STORE", conflicts_with = "store")]
    named: Option<String>,
    /// Only runs with this value, as model=Qwen/Qwen3-8B, label=release-3 or tenant=a; may be repeated
    #[arg(long = "where", value_name = "COLUMN=VALUE")]
    only: Vec<String>,
    /// Only runs from this day on
    #[arg(long, value_name = "DAY", value_parser = day)]
    since: Option<String>,
    /// Only runs up to this day
    #[arg(long, value_name = "DAY", value_parser = day)]
    until: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value = "text", help_heading = "Output")]
    format: OutputFormat,
    /// Maximum rows on the screen
    #[arg(long, value_name = "N", default_value_t = 30, help_heading = "Output")]
    limit: usize,
}

fn word(run: &StoredRunDocument, column: &str) -> Cell {
    match run.row.get(column) {
        Some(Json::String(word)) => Cell::text(word.clone()),
        Some(Json::Number(number)) => Cell::Count(number.as_i64().unwrap_or_default()),
        _ => Cell::missing("the run does not say"),
    }
}

fn metric(run: &StoredRunDocument, key: &str) -> Option<f64> {
    run.row.get("metrics")?.get(key)?.as_f64()
}

const RUNS: &[Field<StoredRunDocument>] = &[
    (Column::text("run_id", "Run"), |run| Cell::code(run.run_id.clone())),
    (Column::text("day", "Day"), |run| Cell::text(run.day.clone())),
    (Column::text("tenant", "Tenant"), |run| Cell::text(run.tenant.clone())),
    (Column::text("kind", "Kind"), |run| word(run, "kind")),
    (Column::text("model", "Model"), |run| word(run, "model")),
    (Column::text("hardware", "Device"), |run| word(run, "hardware")),
    (Column::text("runtime", "Runtime"), |run| word(run, "runtime")),
    (Column::text("runtime_version", "Version"), |run| word(run, "runtime_version")),
    (Column::text("label", "Label"), |run| word(run, "label")),
    (Column::text("node", "Node"), |run| word(run, "node")),
    (Column::number("ranks", "Ranks"), |run| word(run, "ranks")),
    (Column::number("tpot_p50_ns", "TPOT p50"), |run| {
        Cell::or(metric(run, "tpot_p50_ns"), Cell::MeanTime, "the run did not measure it")
    }),
    (Column::number("output_tokens_per_s", "tokens/s"), |run| {
        let rate = |rate: f64| Cell::amount(rate, "");
        Cell::or(metric(run, "output_tokens_per_s"), rate, "the run did not measure it")
    }),
];

/// Runs the command.
pub fn run(args: Args, console: &Console) -> Result<Exit, CliError> {
    let store = address(args.store.or(args.named))?;
    let columns = args.only.iter().map(|text| StoreFilter::parse(text)).collect::<Result<_, _>>()?;
    let runs = fleet::runs(&store, &StoreFilter { columns, since: args.since, until: args.until })?;
    let parts = |runs: &StoreRunsDocument, limit: usize| {
        let count = counted(runs.runs.len(), "run");
        let lead = Block::Lead(match runs.runs.len() > limit {
            true => format!("{count} in {store}, of which the newest {limit} are shown."),
            false => format!("{count} in {store}."),
        });
        let shown = &runs.runs[..runs.runs.len().min(limit)];
        let table = Block::Table(Table::new("runs", RUNS, shown, limit));
        vec![Part { name: "runs", title: "Runs", blocks: vec![lead, table] }]
    };
    match args.format {
        OutputFormat::Json => output::json(&runs, console.is_read_by_people())?,
        OutputFormat::Csv => output::text(&rooflens_report::cost::csv(&parts(&runs, usize::MAX)))?,
        OutputFormat::Md => {
            output::text(&rooflens_report::cost::markdown("Runs", &parts(&runs, usize::MAX)))?
        }
        OutputFormat::Text => {
            // So many characters name a run in every command, and leave room for the rest.
            let mut short = runs;
            short.runs.iter_mut().for_each(|run| run.run_id.truncate(short.id_characters));
            output::text(&terminal(&parts(&short, args.limit), &console.screen(args.limit)))?;
        }
    }
    Ok(Exit::Fine)
}
