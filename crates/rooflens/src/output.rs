//! Standard output: data only.
//!
//! A reader that has seen enough (`rooflens … | head`) closes the pipe. That is no error: writing
//! ends quietly and the command goes on to its exit code.

use std::io::{BufWriter, ErrorKind, Write};

use rooflens_report::Part;
use rooflens_report::cost::{csv, markdown, terminal};
use serde::Serialize;

use crate::args::format::OutputFormat;
use crate::console::Console;
use crate::error::CliError;

/// Writes text as it is.
pub(crate) fn text(text: &str) -> Result<(), CliError> {
    with(|out| out.write_all(text.as_bytes()))
}

/// Writes a JSON document: on one line for programs, indented for people.
pub(crate) fn json(document: &impl Serialize, pretty: bool) -> Result<(), CliError> {
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

/// An answer that can be shown in every format.
pub(crate) struct Page<'a, D> {
    /// The heading of a Markdown page.
    pub(crate) title: &'a str,
    /// Rows of each table on the screen.
    pub(crate) limit: usize,
    /// For a screen.
    pub(crate) screen: &'a dyn Fn() -> Vec<Part>,
    /// All of it.
    pub(crate) whole: &'a dyn Fn() -> Vec<Part>,
    /// For programs.
    pub(crate) document: D,
}

/// Writes an answer in the format that was asked for.
pub(crate) fn page(
    page: &Page<'_, impl Serialize>,
    format: OutputFormat,
    console: &Console,
) -> Result<(), CliError> {
    match format {
        OutputFormat::Text => text(&terminal(&(page.screen)(), &console.screen(page.limit))),
        OutputFormat::Md => text(&markdown(page.title, &(page.whole)())),
        OutputFormat::Csv => text(&csv(&(page.whole)())),
        OutputFormat::Json => json(&page.document, console.is_read_by_people()),
    }
}

/// Writes a part of an output that goes on. False where nobody reads it any more.
pub(crate) fn part(text: &str) -> Result<bool, CliError> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        outcome => outcome.map(|()| true).map_err(|source| CliError::Stdout { source }),
    }
}

/// Gives the buffered standard output to `write`.
pub(crate) fn with(write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<(), CliError> {
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
