//! `rooflens query`: questions to a store, by an engine that is a program of its own.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

use clap::ValueEnum;
use rooflens_core::cost;
use rooflens_core::error::Hint;
use rooflens_core::exit::Exit;
use rooflens_core::fleet::{AnswerFormat, EngineLimits, QueryRequest, QueryText, QueryWatch, query};
use rooflens_queries::{Dialect, NamedQuery};

use crate::answer::AnswerPrinter;
use crate::args::store::address;
use crate::console::Console;
use crate::error::CliError;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  rooflens query 'SELECT count(*) FROM kernels' --store team-store
  rooflens query top-kernels --store team-store since=2026-11-10
  rooflens query regressions --store team-store base=0.11.0 other=0.12.0
  rooflens query --list                                    the queries that have names
  rooflens query kernel-latency --show duckdb kernel=flash the SQL, for another engine
  rooflens query slow-ranks --store /shared/store --engine sc://spark:15002

The engine, rooflens-query, is a program of its own (Apache DataFusion), since it is larger than the rest of Rooflens. \
Tables and columns: docs/reference/store.md. Every table has day and tenant; a condition on day reads only those days.";

/// How an answer is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum QueryFormat {
    Text,
    Json,
    Csv,
    /// A Parquet file; needs --output
    Parquet,
    /// An Arrow IPC stream
    Arrow,
}

impl QueryFormat {
    fn of_file(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "json" => Some(QueryFormat::Json),
            "csv" => Some(QueryFormat::Csv),
            "parquet" => Some(QueryFormat::Parquet),
            "arrow" | "arrows" => Some(QueryFormat::Arrow),
            _ => None,
        }
    }

    /// As what it is written row by row; a screen gets the first rows instead.
    fn written(self) -> Option<AnswerFormat> {
        match self {
            QueryFormat::Text => None,
            QueryFormat::Json => Some(AnswerFormat::Json),
            QueryFormat::Csv => Some(AnswerFormat::Csv),
            QueryFormat::Parquet => Some(AnswerFormat::Parquet),
            QueryFormat::Arrow => Some(AnswerFormat::Arrow),
        }
    }
}

/// Query a store: SQL, or one of the named queries
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// SQL, or the name of a query
    #[arg(value_name = "QUERY", required_unless_present = "list")]
    query: Option<String>,
    /// Parameters of a named query
    #[arg(value_name = "NAME=VALUE")]
    values: Vec<String>,
    /// Store: a folder, s3://bucket/prefix, gs://… or az://…; by default what ROOFLENS_STORE names
    #[arg(long, value_name = "STORE")]
    store: Option<String>,
    /// Only this tenant; nothing of others is looked at; may be repeated
    #[arg(long, value_name = "NAME")]
    tenant: Vec<String>,
    /// Memory that the engine may use, as 512MB; what does not fit is written to disk
    #[arg(long, value_name = "SIZE", value_parser = cost::amount::bytes)]
    memory: Option<u64>,
    /// Folder for what does not fit into memory
    #[arg(long, value_name = "DIR")]
    spill: Option<PathBuf>,
    /// Run on a Spark cluster through Spark Connect: sc://host:port
    #[arg(long, value_name = "URL")]
    engine: Option<String>,
    /// List the queries that have names
    #[arg(long)]
    list: bool,
    /// Print the SQL for an engine instead: datafusion, duckdb, clickhouse, spark or trino
    #[arg(long, value_name = "ENGINE", value_parser = dialect)]
    show: Option<Dialect>,
    /// File to write; standard output by default
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Output format; by default what the name of the file says (.csv, .json, .parquet, .arrow), else text
    #[arg(long, value_enum, help_heading = "Output")]
    format: Option<QueryFormat>,
    /// Maximum rows on the screen
    #[arg(long, value_name = "N", default_value_t = 50, help_heading = "Output")]
    limit: usize,
}

fn dialect(text: &str) -> Result<Dialect, String> {
    let names = Dialect::ALL.map(Dialect::name).join(", ");
    Dialect::from_name(text).ok_or_else(|| format!("one of {names}"))
}

pub(crate) fn run(args: Args, console: &Console) -> Result<Exit, CliError> {
    let of_file = || args.output.as_deref().and_then(QueryFormat::of_file);
    let format = args.format.or_else(of_file).unwrap_or(QueryFormat::Text);
    let Some(text) = args.query.as_deref().filter(|_| !args.list) else {
        return list(format);
    };
    let text = QueryText::parse(text, &args.values)?;
    if let Some(dialect) = args.show {
        output::text(&(text.sql(dialect)? + "\n"))?;
        return Ok(Exit::Fine);
    }
    if format == QueryFormat::Parquet && args.output.is_none() {
        let hint = Hint::words("a Parquet file cannot be written to a pipe; --format arrow can");
        return Err(CliError::usage("--format parquet needs --output FILE", hint));
    }
    let request = QueryRequest {
        text,
        store: address(args.store)?,
        tenants: (!args.tenant.is_empty()).then_some(args.tenant),
        memory_bytes: args.memory,
        limits: EngineLimits::default(),
        spill_folder: args.spill,
        engine: args.engine,
    };
    // A file holds all of them.
    let limit = if args.output.is_some() { usize::MAX } else { args.limit };
    let mut printer = AnswerPrinter::new(format.written(), limit, args.output);
    let mut cost = match query(&request, &Watching::new(console), &mut printer) {
        Ok(cost) => cost,
        Err(error) => return printer.give_up(error),
    };
    if cost.spilled_bytes > 0 {
        let spilled = cost.spilled_bytes as f64 / 1e6;
        console.say(&format!("spilled: {spilled:.1} MB did not fit into memory and went through the disk"));
    }
    console.detail(&format!(
        "engine: {:.0} ms, {} bytes read",
        cost.elapsed_ms.unwrap_or_default(),
        cost.scanned_bytes.unwrap_or_default()
    ));
    cost.notes.extend(request.notes(printer.rows())?);
    cost.notes.iter().for_each(|note| console.warn(note));
    printer.end(&cost, console)?;
    Ok(Exit::Fine)
}

fn list(format: QueryFormat) -> Result<Exit, CliError> {
    if format == QueryFormat::Json {
        output::json(&rooflens_core::fleet::QueriesDocument::all())?;
        return Ok(Exit::Fine);
    }
    let line = |query: &NamedQuery| {
        let parameters: Vec<String> = query
            .parameters()
            .iter()
            .map(|parameter| match &parameter.default {
                None => format!("{}=…", parameter.name),
                Some(_) => format!("[{}=…]", parameter.name),
            })
            .collect();
        format!("{}  {}\n    {}\n    {}\n", query.name(), query.title(), query.doc(), parameters.join(" "))
    };
    let text: Vec<String> = rooflens_queries::all().iter().map(line).collect();
    output::text(&text.join("\n"))?;
    Ok(Exit::Fine)
}

struct Watching {
    console: Console,
    last: Mutex<Instant>,
}

impl Watching {
    fn new(console: &Console) -> Self {
        Watching { console: *console, last: Mutex::new(Instant::now()) }
    }
}

impl QueryWatch for Watching {
    fn progress(&self, rows: u64, bytes: u64) {
        let Ok(mut last) = self.last.lock() else { return };
        if last.elapsed().as_secs() >= 5 && rooflens_core::environment::wants_progress() {
            *last = Instant::now();
            self.console.say(&format!("{rows} rows, {:.0} MB read", bytes as f64 / 1e6));
        }
    }
}
