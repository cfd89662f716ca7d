//! The kernels that take the time, and a list of them for a closer look.

use std::path::PathBuf;

use rooflens_analyze::top::TopKernel;
use rooflens_collect::kernel_regex::KernelRegex;
use rooflens_report::cost::{csv, markdown, terminal};
use rooflens_report::top::{nothing, parts};
use rooflens_schema::tables::PhaseKind;
use serde::Serialize;

use rooflens_analyze::choose::choose;

use super::list::{self, Listed};
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
    /// Only kernels whose name one of these matches; all where there is none.
    pub kernel: Vec<String>,
    /// How many.
    pub most: usize,
    /// File for the list.
    pub output: Option<PathBuf>,
    /// What is printed.
    pub format: Format,
    /// Print the launches as `ncu --kernel-id` takes them instead.
    pub ncu_filter: bool,
    /// Launches of each kernel then.
    pub launches: u64,
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
    let regexes = super::regexes(&choice.kernel)?;
    let mut read = timeline::read(&choice.inputs, choice.phase, console)?;
    let before = read.kernels.len();
    read.kernels = matching(read.kernels, &regexes);
    let (shown, rest) = read.kernels.split_at(read.kernels.len().min(choice.most));
    if let Some(path) = &choice.output {
        let unwritable = |source| CliError::Unwritable { path: path.clone(), source };
        std::fs::write(path, list::write(shown, choice.phase.map(PhaseKind::as_str))).map_err(unwritable)?;
    }
    if choice.ncu_filter {
        output::text(&format!("{}\n", filter(shown, choice.launches)))?;
        return Ok(read.stopped);
    }
    let page = match (read.kernels.is_empty(), choice.format) {
        (true, Format::Text | Format::Md) if before > 0 => {
            nothing(&format!("None of {before} kernels matches --kernel."))
        }
        (true, Format::Text | Format::Md) => nothing(&why_none(read.launches)),
        _ => parts(&read.kernels, choice.most),
    };
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

/// Why there is no kernel, and what helps.
fn why_none(launches: u64) -> String {
    match launches {
        0 => "There are no kernels: the trace has no device activity. Its operators by host time: rooflens analyze."
            .to_owned(),
        launches => format!(
            "There are no kernels, though the host made {launches} launches: the device events are missing. Record \
             with the device's activities on."
        ),
    }
}

/// Those whose name one of the expressions matches; all where there is none.
pub fn matching(kernels: Vec<TopKernel>, regexes: &[KernelRegex]) -> Vec<TopKernel> {
    let wanted = |kernel: &TopKernel| regexes.iter().any(|regex| regex.is_match(&kernel.name));
    kernels.into_iter().filter(|kernel| regexes.is_empty() || wanted(kernel)).collect()
}

/// Kernels and their typical launches, `launches` of each, as `ncu --kernel-id` takes them.
pub fn filter(kernels: &[TopKernel], launches: u64) -> String {
    let listed: Vec<Listed> = kernels.iter().map(Listed::from).collect();
    let candidates: Vec<_> = listed.iter().map(Listed::candidate).collect();
    list::filter(&listed, &choose(&candidates, launches).numbers)
}
