//! Standard output: data only.
//!
//! A reader that has seen enough (`rooflens … | head`) closes the pipe. That is no error: writing
//! ends quietly and the command goes on to its exit code.

use std::io::{BufWriter, ErrorKind, Write};

use serde::Serialize;

use crate::error::CliError;

/// Writes text as it is.
pub fn text(text: &str) -> Result<(), CliError> {
    with(|out| out.write_all(text.as_bytes()))
}

/// Writes a JSON document: on one line for programs, indented for people.
pub fn json(document: &impl Serialize, pretty: bool) -> Result<(), CliError> {
    with(|out| {
        let written = if pretty {
            serde_json::to_writer_pretty(&mut *out, document)
        } else {
            serde_json::to_writer(&mut *out, document)
        };
        written.map_err(std::io::Error::from)?;
        out.write_all(b"\n")
    })
}

/// Writes a part of an output that goes on. False where nobody reads it any more.
pub fn part(text: &str) -> Result<bool, CliError> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        outcome => outcome.map(|()| true).map_err(|source| CliError::Stdout { source }),
    }
}

/// Gives the buffered standard output to `write`.
pub fn with(write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<(), CliError> {
    let mut out = BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {
            // What is left in the buffer has no reader either.
            drop(out.into_parts());
            Ok(())
        }
        outcome => outcome.map_err(|source| CliError::Stdout { source }),
    }
}
