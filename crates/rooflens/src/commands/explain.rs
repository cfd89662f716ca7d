//! `rooflens explain`: what a word or number of a report means.

use rooflens_core::exit::Exit;
use rooflens_core::glossary::{self, Explanation, Meaning};

use crate::args::OutputFormat;
use crate::console::Console;
use crate::error::CliError;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  rooflens explain devices                how the numbers of an analysis are computed
  rooflens explain devices.busy_ns        one of its fields
  rooflens explain launch bound           a line or heading, as it is on the screen
  rooflens explain ttft
  rooflens explain exit-codes";

/// Explain a word or number of a report: meaning, unit, formula
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Word on the screen, analysis, table, `analysis.field`, `table.column`, kernel class, note or exit code
    #[arg(value_name = "NAME", required = true)]
    words: Vec<String>,
    /// Output format
    #[arg(long, value_parser = OutputFormat::text_or_json(), default_value = "text", help_heading = "Output")]
    format: OutputFormat,
}

pub(crate) fn run(args: &Args, console: &Console) -> Result<Exit, CliError> {
    let name = args.words.join(" ");
    let meanings = glossary::explain(&name)?;
    let width = console.screen(0).width;
    let texts: Vec<String> = meanings.iter().map(|meaning| text(meaning, width)).collect();
    output::answer(args.format.is_json(), &Explanation::new(name, meanings), || texts.join("\n"))?;
    Ok(Exit::Fine)
}

fn text(meaning: &Meaning, width: usize) -> String {
    let entry = &meaning.entry;
    let unit = if entry.unit.is_empty() { String::new() } else { format!(", in {}", entry.unit) };
    let mut lines = vec![format!("{} ({}{unit})", entry.name, meaning.kind)];
    lines.extend(rooflens_report::text::wrap(&entry.about, width));
    if !entry.detail.is_empty() {
        lines.push(String::new());
        lines.push(entry.detail.clone());
    } else if !entry.parts.is_empty() {
        lines.push(String::new());
        let abouts: Vec<(&str, String)> = entry
            .parts
            .iter()
            .map(|part| match &*part.unit {
                "" => (part.name.as_str(), part.about.clone()),
                unit => (part.name.as_str(), format!("{} [{unit}]", part.about)),
            })
            .collect();
        let rows: Vec<(&str, &str)> = abouts.iter().map(|(name, about)| (*name, about.as_str())).collect();
        lines.push(output::columns(&rows, width).trim_end().to_owned());
    }
    lines.join("\n") + "\n"
}
