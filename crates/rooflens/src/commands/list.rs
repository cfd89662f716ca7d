//! `rooflens list`: what there is.

use rooflens_core::exit::Exit;
use rooflens_core::glossary::{self, ListItem, Listing};

use crate::args::format::OutputFormat;
use crate::console::Console;
use crate::error::CliError;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  rooflens list                    what can be listed
  rooflens list formats            inputs that can be read
  rooflens list tables --format json";

/// List formats, analyses, rules, devices, model families and other names
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// What to list; without it, the lists
    #[arg(value_name = "WHAT", value_parser = topic_names())]
    what: Option<String>,
    /// Output format
    #[arg(long, value_parser = OutputFormat::text_or_json(), default_value = "text", help_heading = "Output")]
    format: OutputFormat,
}

fn topic_names() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(glossary::ALL.iter().map(|topic| topic.name))
}

/// Runs the command.
pub(crate) fn run(args: &Args, console: &Console) -> Result<Exit, CliError> {
    let topic = args.what.as_ref().and_then(|what| glossary::ALL.iter().find(|topic| topic.name == what));
    let listing = Listing::of(topic);
    match args.format {
        OutputFormat::Text | OutputFormat::Csv | OutputFormat::Md => {
            output::text(&text(&listing.items, console.screen(0).width))?;
        }
        OutputFormat::Json => output::json(&listing, console.is_read_by_people())?,
    }
    Ok(Exit::Fine)
}

/// Two columns.
fn text(items: &[ListItem], width: usize) -> String {
    let names: Vec<(&str, &str)> =
        items.iter().map(|item| (item.name.as_str(), item.about.as_str())).collect();
    columns(&names, width)
}

/// Names on the left, what they are on the right, in lines that fit.
pub(crate) fn columns(rows: &[(&str, &str)], width: usize) -> String {
    let left = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0) + 2;
    let mut text = String::new();
    for (name, about) in rows {
        let lines = rooflens_report::text::wrap(about, width.saturating_sub(left).max(30));
        for (i, line) in lines.iter().enumerate() {
            let name = if i == 0 { name } else { "" };
            text.push_str(format!("{name:left$}{line}").trim_end());
            text.push('\n');
        }
    }
    text
}
