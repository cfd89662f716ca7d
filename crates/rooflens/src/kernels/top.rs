//! The kernels that take the time, and a list of them for a closer look.

use std::path::PathBuf;

use rooflens_analyze::top::TopKernel;
use rooflens_report::cost::{csv, markdown, terminal};
use rooflens_report::top::parts;
use rooflens_schema::tables::PhaseKind;
use serde::Serialize;

use super::{Format, timeline};
use crate::console::Console;
use crate::document::{SchemaTag, schema};
use crate::error::CliError;
use crate::output;

/// What is asked.
pub struct Choice {
    /// Run, traces, or a table of `nsys stats`.
    pub inputs: Vec<PathBuf>,
    /// Only the kernels of this phase.
    pub phase: Option<PhaseKind>,
    /// How many.
    pub most: usize,
    /// File for the list.
    pub output: Option<PathBuf>,
    /// What is printed.
    pub format: Format,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: SchemaTag,
    phase: Option<&'static str>,
    kernels: &'a [TopKernel],
    /// Kernels that are not listed, and their share.
    left_out: usize,
    left_out_share: f64,
}

/// Answers the question. Whether it was ended early.
pub fn top(choice: &Choice, console: &Console) -> Result<bool, CliError> {
    let read = timeline::read(&choice.inputs, choice.phase, console)?;
    let (shown, rest) = read.kernels.split_at(read.kernels.len().min(choice.most));
    if let Some(path) = &choice.output {
        let unwritable = |source| CliError::Unwritable { path: path.clone(), source };
        std::fs::write(path, list(shown)).map_err(unwritable)?;
    }
    let page = parts(&read.kernels, choice.most);
    match choice.format {
        Format::Text => output::text(&terminal(&page, &console.screen(choice.most)))?,
        Format::Md => output::text(&markdown("Kernels by device time", &page))?,
        Format::Csv => output::text(&csv(&page))?,
        Format::Json => {
            let document = Document {
                schema: schema("top_kernels"),
                phase: choice.phase.map(PhaseKind::as_str),
                kernels: shown,
                left_out: rest.len(),
                left_out_share: rest.iter().map(|row| row.share).sum(),
            };
            output::json(&document, console.is_read_by_people())?;
        }
    }
    if let Some(path) = &choice.output {
        console.say(&format!("list: {}", path.display()));
    }
    Ok(read.stopped)
}

/// The kernels as YAML. Its strings are JSON's, which are YAML too, whatever a name holds.
fn list(kernels: &[TopKernel]) -> String {
    let mut out =
        "# Kernels by device time, most first. skip: launches of this name before a typical one, whose\n\
                   # duration is nearest the median; count: how many to profile from there.\nkernels:\n"
            .to_owned();
    if kernels.is_empty() {
        return out.replace("kernels:\n", "kernels: []\n");
    }
    for kernel in kernels {
        let text = |text: &str| serde_json::Value::from(text).to_string();
        out += &format!("- name: {}\n  short_name: {}\n", text(&kernel.name), text(&kernel.short_name));
        out += &format!("  launches: {}\n  share: {:.6}\n", kernel.count, kernel.share);
        out += &format!("  total_ns: {}\n  median_ns: {}\n", kernel.total_ns, kernel.median_ns);
        let skip = kernel.typical_skip.map_or("null".to_owned(), |skip| skip.to_string());
        out += &format!("  skip: {skip}\n  count: 1\n");
    }
    out
}
