//! `rooflens plot`: charts to take away.

#[cfg(feature = "png")]
mod png;

use std::path::{Path, PathBuf};

use clap::ValueHint;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use rooflens_core::error::Hint;
use rooflens_core::exit::Exit;
use rooflens_core::plot::{ChartsDocument, plot};
use rooflens_core::{perfetto, saved};
use rooflens_report::figure::{FigurePaper, FigureSize, FigureTheme};
use rooflens_report::{chart_page, charts};

use crate::args::{ModelArgs, OutputFormat, ReadingArgs, one_of};
use crate::console::Console;
use crate::error::CliError;
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
    size: Option<FigureSize>,
    /// Colours, all told apart with colour vision deficiency; auto follows the reader, and is light in a .png
    #[arg(long, value_name = "THEME", value_parser = themes(), requires = "output", help_heading = "Output")]
    theme: Option<FigureTheme>,
    /// Output format
    #[arg(long, value_parser = OutputFormat::text_or_json(), default_value = "text", conflicts_with = "output", help_heading = "Output")]
    format: OutputFormat,
}

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(charts::ALL.iter().map(|chart| chart.name))
}

fn sizes() -> impl TypedValueParser<Value = FigureSize> {
    one_of(FigureSize::ALL.iter().map(|size| (size.as_str(), *size)))
}

fn themes() -> impl TypedValueParser<Value = FigureTheme> {
    one_of([("auto", FigureTheme::Auto), ("light", FigureTheme::Light), ("dark", FigureTheme::Dark)])
}

pub(crate) fn run(args: Args, console: &Console) -> Result<Exit, CliError> {
    // Before anything is read: a trace may take a while.
    let file = args.output.as_deref().map(ChartFile::of).transpose()?;
    let has_look = args.size.is_some() || args.theme.is_some();
    if has_look && file.is_some_and(|file| !file.has_look()) {
        return Err(CliError::usage(
            "--size and --theme are for .svg, .png and .vl.json",
            Hint::words("a page follows its reader, and data have no look"),
        ));
    }
    if args.chart.is_some() && args.output.is_none() && args.format == OutputFormat::Text {
        return Err(CliError::usage(
            "--chart needs a file to write to",
            Hint::words("-o FILE.svg writes it, --format json prints its data"),
        ));
    }
    if let Some(path) = &args.output {
        perfetto::check_destination(&args.inputs, path)?;
    }
    let paper =
        FigurePaper { size: args.size.unwrap_or_default(), theme: args.theme.unwrap_or(FigureTheme::Auto) };
    let observer = progress::observer(console, progress::READING);
    let mut document = plot(&args.inputs, &args.reading.options(), &args.floor.request(), &observer)?;
    if let Some(name) = &args.chart {
        let others: Vec<String> = document.charts.iter().map(|chart| chart.name.to_string()).collect();
        document = document.only(name);
        if let Some(missing) = document.missing.pop() {
            let hint = match others.is_empty() {
                true => Hint::command("rooflens plot INPUT"),
                false => Hint::words(format!("charts with data: {}", others.join(", "))),
            };
            return Err(CliError::usage(format!("no {name} chart: {}", missing.reason), hint));
        }
    }
    match (args.output.zip(file), document.charts.first()) {
        (Some((path, file)), Some(chart)) => {
            let content = file.content(&document, chart, paper)?;
            saved::write(path.clone(), &content)?;
            console.say(&format!("chart: {}", path.display()));
        }
        _ if args.format == OutputFormat::Json => output::json(&document)?,
        _ => {
            output::text(&list(&document, console.screen(0).width))?;
            if !document.charts.is_empty() {
                console.say("--chart NAME -o FILE.svg writes one; also .png, .html, .vl.json and .json");
            }
        }
    }
    Ok(Exit::Fine)
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
    output::columns(&rows, width)
}

/// What a chart is written as, by the ending of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChartFile {
    Svg,
    Png,
    Html,
    VegaLite,
    Json,
}

impl ChartFile {
    fn of(path: &Path) -> Result<Self, CliError> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        // The longer ending first.
        let endings = [
            (".vl.json", ChartFile::VegaLite),
            (".json", ChartFile::Json),
            (".svg", ChartFile::Svg),
            (".png", ChartFile::Png),
            (".html", ChartFile::Html),
        ];
        let found = endings.iter().find(|(ending, _)| name.ends_with(ending));
        let (_, file) = found.ok_or_else(|| {
            CliError::usage(
                format!("{} has no ending that says how to write a chart", path.display()),
                Hint::words(
                    "-o FILE.svg, FILE.png, FILE.html, FILE.vl.json (Vega-Lite) or FILE.json (its data)",
                ),
            )
        })?;
        #[cfg(not(feature = "png"))]
        if *file == ChartFile::Png {
            return Err(CliError::left_out("PNG output", "png"));
        }
        Ok(*file)
    }

    fn has_look(self) -> bool {
        matches!(self, ChartFile::Svg | ChartFile::Png | ChartFile::VegaLite)
    }

    fn content(
        self,
        document: &ChartsDocument,
        chart: &charts::ChartData,
        paper: FigurePaper,
    ) -> Result<Vec<u8>, CliError> {
        Ok(match self {
            ChartFile::Svg => chart.svg_on(paper).into_bytes(),
            ChartFile::Png => {
                // Dots cannot follow the reader.
                let theme = if paper.theme == FigureTheme::Auto { FigureTheme::Light } else { paper.theme };
                png::picture(&chart.svg_on(FigurePaper { theme, ..paper }), paper.size.dots_across())?
            }
            ChartFile::Html => chart_page(&document.title, chart).into_bytes(),
            ChartFile::VegaLite => pretty(&chart.vega_lite(paper))?,
            ChartFile::Json => pretty(document)?,
        })
    }
}

fn no_picture(reason: &str) -> CliError {
    let hint = Hint::words("-o FILE.svg needs no fonts and no pixels");
    CliError::environment(format!("the picture cannot be made: {reason}"), hint)
}

fn pretty(document: &impl serde::Serialize) -> Result<Vec<u8>, CliError> {
    let mut text = serde_json::to_vec_pretty(document).map_err(|source| no_picture(&source.to_string()))?;
    text.push(b'\n');
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_says_what_is_written() {
        let of = |name: &str| ChartFile::of(Path::new(name)).ok();
        assert_eq!(of("a.vl.json"), Some(ChartFile::VegaLite));
        assert_eq!(of("a.json"), Some(ChartFile::Json));
        assert_eq!(of("out/A.SVG"), Some(ChartFile::Svg));
        assert_eq!(of("a.png"), Some(ChartFile::Png));
        assert_eq!(of("a.html"), Some(ChartFile::Html));
        assert_eq!(of("a.pdf"), None);
        assert_eq!(of("svg"), None);
    }
}
