//! `rooflens list`: what there is.

use rooflens_core::exit::Exit;
use rooflens_core::glossary::{self, ListItem, Listing};

use crate::args::OutputFormat;
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

pub(crate) fn run(args: &Args, console: &Console) -> Result<Exit, CliError> {
    let topic = args.what.as_ref().and_then(|what| glossary::ALL.iter().find(|topic| topic.name == what));
    let listing = Listing::of(topic);
    output::answer(args.format.is_json(), &listing, || text(&listing.items, console.screen(0).width))?;
    Ok(Exit::Fine)
}

fn text(items: &[ListItem], width: usize) -> String {
    let names: Vec<(&str, &str)> =
        items.iter().map(|item| (item.name.as_str(), item.about.as_str())).collect();
    output::columns(&names, width)
}
