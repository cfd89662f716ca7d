//! `rooflens analyze`: where the device time goes.

use std::path::PathBuf;

use clap::builder::TypedValueParser;
use rooflens_analyze::Findings;
use rooflens_core::analysis::analyze;
use rooflens_core::document::AnalysisDocument;
use rooflens_core::error::Hint;
use rooflens_core::exit::Exit;
use rooflens_core::input::{Input, open_input};
use rooflens_core::run_index::id_at;
use rooflens_core::{report, saved};
use rooflens_report::{CsvTable, MarkdownPage};
use rooflens_schema::{Notes, RunDir};

use crate::args::store::StoreArgs;
use crate::args::{ModelArgs, OutputFormat, ReadingArgs, one_of};
use crate::console::Console;
use crate::error::CliError;
use crate::interrupt::exit_of;
use crate::{output, progress};

const EXAMPLES: &str = "\
Examples:
  rooflens analyze trace.json.gz                   the answer on one screen
  rooflens analyze traces/ -o runs/tp8             all ranks of a job, saved with an HTML report
  rooflens analyze rank0.json rank1.json --format json | jq .verdict
  rooflens analyze trace.json --gemms cublaslt.log achieved FLOP/s by GEMM shape
  rooflens analyze runs/tp8 --format csv --table operators > operators.csv";

/// Show where device time goes
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Trace, folder with the traces of one job, `-` for standard input, or a run directory; several
    /// traces are the ranks of one job
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    floor: ModelArgs,
    /// Log of cuBLAS, cuBLASLt, hipBLASLt or rocBLAS, matched with the trace's kernels by order
    #[arg(long, value_name = "LOG")]
    gemms: Vec<PathBuf>,
    /// Save tables, findings and report to this run directory
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    output: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
    /// Output format: one screen, every number as JSON, one table as CSV, or a Markdown page
    #[arg(long, value_enum, default_value = "text", help_heading = "Output")]
    format: OutputFormat,
    /// Table to print as CSV; kernels by default
    #[arg(long, value_name = "NAME", value_parser = table_names(), help_heading = "Output")]
    table: Option<CsvTable>,
    /// Rows of each table on the screen
    #[arg(long, value_name = "N", default_value_t = 5, help_heading = "Output")]
    limit: usize,
}

fn table_names() -> impl TypedValueParser<Value = CsvTable> {
    one_of(CsvTable::ALL.iter().map(|table| (table.name(), *table)))
}

pub(crate) fn run(args: Args, console: &Console) -> Result<Exit, CliError> {
    if let Some(table) = args.table.filter(|_| args.format != OutputFormat::Csv) {
        let command = format!("rooflens analyze --format csv --table {} …", table.name());
        return Err(CliError::usage(
            "--table needs --format csv",
            Hint::leading("add --format csv:", command),
        ));
    }
    let observer = progress::observer(console, progress::READING);
    let notes = Notes::default();
    let mut options = args.reading.options();
    options.gemms = args.gemms;
    let input = open_input(&args.inputs, &options, &notes, &observer)?;
    // What goes to a store is written down first, to be kept or not.
    let scratch = (args.store.is_given() && args.output.is_none()).then(saved::scratch).transpose()?;
    let folder = args.output.as_deref().or(scratch.as_ref().map(|folder| folder.path()));
    let run = folder.map(saved::destination).transpose()?;
    // A run that is analysed into itself has its tables already.
    let own =
        |dir: &&RunDir| matches!(&input, Input::Run(read) if saved::same_folder(read.root(), dir.root()));
    let tables = run.as_ref().filter(|dir| !own(dir));
    let before = run.as_ref().and_then(|run| id_at(run.root()));
    let mut analysis = analyze(&input, &notes, &args.floor.request(), tables, &observer)?;
    let page = run.as_ref().map(|run| report::save(run, &mut analysis)).transpose()?;
    if let Some(run) = run.as_ref().filter(|run| before.is_some() && before != id_at(run.root())) {
        console.warn(&format!("the run that was in {} is replaced by this one", run.root().display()));
    }
    show(&analysis.findings, args.format, args.table, args.limit, console)?;
    if let Some(page) = page.filter(|_| scratch.is_none()) {
        console.say(&format!("report: {}", page.display()));
    }
    if let Some(run) = run.filter(|_| !analysis.stopped) {
        args.store.add(vec![run.root().to_owned()], &observer, console)?;
    }
    Ok(exit_of(analysis.stopped))
}

fn show(
    findings: &Findings,
    format: OutputFormat,
    table: Option<CsvTable>,
    limit: usize,
    console: &Console,
) -> Result<(), CliError> {
    match format {
        OutputFormat::Text => output::text(&rooflens_report::terminal(findings, &console.screen(limit))),
        OutputFormat::Md => output::text(&rooflens_report::markdown(findings, MarkdownPage::Report)),
        OutputFormat::Json => {
            console.warn_of_loss(&findings.notes);
            output::json(&AnalysisDocument(findings))
        }
        OutputFormat::Csv => {
            console.warn_of_loss(&findings.notes);
            let table = table.unwrap_or(CsvTable::Kernels);
            let text = rooflens_report::csv(findings, table);
            if text.is_empty() {
                console.warn(&format!("this trace has no table {}{}", table.name(), instead(table)));
            }
            output::text(&text)
        }
    }
}

/// What to do where a table is not there.
fn instead(table: CsvTable) -> &'static str {
    match table.name().starts_with("roofline") {
        true => ": roofline tables need --model CONFIG; roofline_shapes only needs recorded shapes",
        false => "",
    }
}
