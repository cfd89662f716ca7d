//! `rooflens plot`: charts to take away.

use std::path::PathBuf;

use clap::ValueHint;
use clap::builder::PossibleValuesParser;
use rooflens_core::exit::Exit;
use rooflens_core::plot::{ChartsDocument, plot};
use rooflens_core::{perfetto, saved};
use rooflens_report::charts;
use rooflens_report::figure::{FigurePaper, FigureSize, FigureTheme};

use crate::args::format::OutputFormat;
use crate::args::model::ModelArgs;
use crate::args::reading::ReadingArgs;
use crate::commands::list::columns;
use crate::console::Console;
use crate::error::CliError;
use crate::plot::ChartFile;
use crate::{output, progress};

const EXAMPLES: &str = "\
Examples:
  rooflens plot runs/first                                            which charts there are
  rooflens plot runs/first --chart ledger -o ledger.svg
  rooflens plot trace.json.gz --chart roofline --model config.json -o roofline.png --size slide --theme dark
  rooflens plot runs/first --chart steps -o steps.html                a living chart in one file
  rooflens plot runs/first --chart roofline -o roofline.vl.json       Vega-Lite, to change how it looks
  rooflens plot runs/load-test --chart latency -o latency.svg --size column
  rooflens plot runs/first --format json                              the data of all charts";

/// Write a chart as a picture, a page or a Vega-Lite specification
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Run directory or load test; or traces of one job
    #[arg(value_name = "INPUT", required = true, value_hint = ValueHint::AnyPath)]
    inputs: Vec<PathBuf>,
    /// The chart; without it, the charts are listed
    #[arg(long, value_name = "NAME", value_parser = names())]
    chart: Option<String>,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    floor: ModelArgs,
    /// File to write: .svg, .png, .html, .vl.json (Vega-Lite) or .json (the data)
    #[arg(short, long, value_name = "FILE", requires = "chart", value_hint = ValueHint::FilePath, help_heading = "Output")]
    output: Option<PathBuf>,
    /// What it is for: a page, a slide (16:9), one column of a paper (3.5 in) or both columns (7 in)
    #[arg(long, value_name = "SIZE", value_parser = sizes(), requires = "output", help_heading = "Output")]
    size: Option<String>,
    /// Colours, all told apart with colour vision deficiency; auto follows the reader, and is light in a .png
    #[arg(long, value_name = "THEME", value_parser = ["auto", "light", "dark"], requires = "output", help_heading = "Output")]
    theme: Option<String>,
    /// Output format
    #[arg(long, value_parser = OutputFormat::text_or_json(), default_value = "text", conflicts_with = "output", help_heading = "Output")]
    format: OutputFormat,
}

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(charts::ALL.iter().map(|chart| chart.name()))
}

fn sizes() -> PossibleValuesParser {
    PossibleValuesParser::new(FigureSize::ALL.iter().map(|size| size.as_str()))
}

/// Runs the command.
pub(crate) fn run(args: Args, console: &Console) -> Result<Exit, CliError> {
    // Before anything is read: a trace may take a while.
    let file = args.output.as_deref().map(ChartFile::of).transpose()?;
    let has_look = args.size.is_some() || args.theme.is_some();
    if has_look && file.is_some_and(|file| !file.has_look()) {
        return Err(CliError::ChartLook);
    }
    if args.chart.is_some() && args.output.is_none() && args.format == OutputFormat::Text {
        return Err(CliError::ChartNowhere);
    }
    if let Some(path) = &args.output {
        perfetto::check_destination(&args.inputs, path)?;
    }
    let paper = paper(args.size.as_deref(), args.theme.as_deref());
    let observer = progress::observer(console, progress::READING);
    let mut document = plot(&args.inputs, &args.reading.options(), &args.floor.request(), &observer)?;
    if let Some(name) = &args.chart {
        let others = document.charts.iter().map(|chart| chart.name.to_string()).collect();
        document = document.only(name);
        if let Some(missing) = document.missing.pop() {
            return Err(CliError::NoChart { name: name.clone(), reason: missing.reason, others });
        }
    }
    match (args.output.zip(file), document.charts.first()) {
        (Some((path, file)), Some(chart)) => {
            let content = file.content(&document, chart, paper)?;
            saved::write(path.clone(), &content)?;
            console.say(&format!("chart: {}", path.display()));
        }
        _ if args.format == OutputFormat::Json => output::json(&document, console.is_read_by_people())?,
        _ => {
            output::text(&list(&document, console.screen(0).width))?;
            if !document.charts.is_empty() {
                console.say("--chart NAME -o FILE.svg writes one; also .png, .html, .vl.json and .json");
            }
        }
    }
    Ok(Exit::Fine)
}

fn paper(size: Option<&str>, theme: Option<&str>) -> FigurePaper {
    let size = FigureSize::ALL.iter().copied().find(|one| Some(one.as_str()) == size);
    let theme = match theme {
        Some("light") => FigureTheme::Light,
        Some("dark") => FigureTheme::Dark,
        _ => FigureTheme::Auto,
    };
    FigurePaper { size: size.unwrap_or_default(), theme }
}

/// The charts that there are, and why there are no others.
fn list(document: &ChartsDocument, width: usize) -> String {
    let found = document.charts.iter().map(|chart| {
        let subtitle =
            if chart.subtitle.is_empty() { String::new() } else { format!(": {}", chart.subtitle) };
        (chart.name.to_string(), format!("{}{subtitle}", chart.title))
    });
    let missing =
        document.missing.iter().map(|chart| (chart.name.to_string(), format!("no data: {}", chart.reason)));
    let rows: Vec<(String, String)> = found.chain(missing).collect();
    let rows: Vec<(&str, &str)> = rows.iter().map(|(name, about)| (name.as_str(), about.as_str())).collect();
    columns(&rows, width)
}
