//! `rooflens schema`: the JSON Schema of a document.

use rooflens_core::document;
use rooflens_core::error::Hint;
use rooflens_core::exit::Exit;

use crate::error::CliError;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  rooflens schema              every document, and the command that prints it
  rooflens schema analysis     the JSON Schema of what `rooflens analyze --format json` prints";

/// Print the JSON Schema of a document
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Document; lists all of them by default
    #[arg(value_name = "DOCUMENT")]
    document: Option<String>,
}

pub(crate) fn run(args: &Args) -> Result<Exit, CliError> {
    let Some(name) = &args.document else {
        let width = document::all().map(|document| document.name.len()).max().unwrap_or_default();
        let line = |known: &document::DocumentSchema| format!("{:width$}  {}\n", known.name, known.found);
        output::text(&document::all().map(line).collect::<String>())?;
        return Ok(Exit::Fine);
    };
    let Some(found) = document::all().find(|known| known.name == name) else {
        let names: Vec<&str> = document::all().map(|known| known.name).collect();
        let hint = Hint::leading(format!("one of {};", names.join(", ")), "rooflens schema");
        return Err(CliError::usage(format!("there is no document {name}"), hint));
    };
    output::json(&found.schema())?;
    Ok(Exit::Fine)
}
