//! `rooflens mcp`: a server for coding agents.

use std::path::PathBuf;

use clap::ValueHint;
use rooflens_core::exit::Exit;

use crate::console::Console;
use crate::error::CliError;
#[cfg(feature = "mcp")]
use crate::mcp::serve;

const EXAMPLES: &str = "\
Examples:
  rooflens mcp                          traces and runs below the current folder
  rooflens mcp --root traces --root runs
  claude mcp add rooflens -- rooflens mcp --root ~/traces

The server speaks the Model Context Protocol on standard input and output. Its tools (analyze, advise, compare, cost, \
explain, list_tables, read_table) only read, and only below the given folders. Nothing is sent anywhere.";

/// Serve traces and models to coding agents over the Model Context Protocol
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Folder whose files may be read; may be repeated. The current folder by default
    #[arg(long = "root", value_name = "DIR", value_hint = ValueHint::DirPath)]
    roots: Vec<PathBuf>,
}

pub(crate) fn run(args: Args, _: &Console) -> Result<Exit, CliError> {
    let roots = if args.roots.is_empty() { vec![PathBuf::from(".")] } else { args.roots };
    serve(&roots)?;
    Ok(Exit::Fine)
}

#[cfg(not(feature = "mcp"))]
fn serve(_: &[PathBuf]) -> Result<(), CliError> {
    Err(CliError::left_out("MCP server", "mcp"))
}
