//! Standard output: data only.
//!
//! A reader that has seen enough (`rooflens … | head`) closes the pipe. That is no error: writing
//! ends quietly and the command goes on to its exit code.

use std::io::{BufWriter, ErrorKind, IsTerminal, Write};

use rooflens_report::Part;
use rooflens_report::cost::{csv, markdown, terminal};
use serde::Serialize;

use crate::args::OutputFormat;
use crate::console::Console;
use crate::error::CliError;

pub(crate) fn text(text: &str) -> Result<(), CliError> {
    with(|out| out.write_all(text.as_bytes()))
}

/// Writes a JSON document: on one line for programs, indented for people.
pub(crate) fn json(document: &impl Serialize) -> Result<(), CliError> {
    let for_people = std::io::stdout().is_terminal();
    with(|out| {
        let written = if for_people {
            serde_json::to_writer_pretty(&mut *out, document)
        } else {
            serde_json::to_writer(&mut *out, document)
        };
        written.map_err(std::io::Error::from)?;
        out.write_all(b"\n")
    })
}

/// Writes a document for programs, or text for people.
pub(crate) fn answer(
    is_json: bool,
    document: &impl Serialize,
    people: impl FnOnce() -> String,
) -> Result<(), CliError> {
    if is_json { json(document) } else { text(&people()) }
}

pub(crate) struct Page<'a, D> {
    pub(crate) title: &'a str,
    pub(crate) limit: usize,
    pub(crate) screen: &'a dyn Fn() -> Vec<Part>,
    pub(crate) whole: &'a dyn Fn() -> Vec<Part>,
    pub(crate) document: D,
}

pub(crate) fn page(
    page: &Page<'_, impl Serialize>,
    format: OutputFormat,
    console: &Console,
) -> Result<(), CliError> {
    match format {
        OutputFormat::Text => text(&terminal(&(page.screen)(), &console.screen(page.limit))),
        OutputFormat::Md => text(&markdown(page.title, &(page.whole)())),
        OutputFormat::Csv => text(&csv(&(page.whole)())),
        OutputFormat::Json => json(&page.document),
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
