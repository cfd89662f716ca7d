//! The server for coding agents.

use std::path::PathBuf;

use crate::mcp::ServeError;
use rooflens_core::error::Hint;
use rooflens_core::exit::Exit;

use crate::error::CliError;

/// Serves on standard input and output until the client closes it.
pub fn serve(roots: &[PathBuf]) -> Result<(), CliError> {
    crate::mcp::serve(roots).map_err(|error| CliError::Part {
        hint: Some(Hint::words(match &error {
            ServeError::Root(_) => "name a folder that exists: rooflens mcp --root DIR",
            _ => "an agent starts it: claude mcp add rooflens -- rooflens mcp --root DIR",
        })),
        exit: Exit::Environment,
        fact: error.to_string(),
    })
}
