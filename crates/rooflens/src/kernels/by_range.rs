//! The kernels of each range of the program.

use rooflens_analyze::by_range::{ByRange, RangeKernel};
use rooflens_report::by_range::parts;
use rooflens_report::cost::{csv, markdown, terminal};
use rooflens_schema::Notes;
use rooflens_schema::tables::PhaseKind;
use serde::Serialize;

use super::{Choice, Format, timeline};
use crate::console::Console;
use crate::document::{SchemaTag, schema};
use crate::error::CliError;
use crate::{inputs, job, output, progress};

#[derive(Serialize)]
struct Document<'a> {
    schema: SchemaTag,
    phase: Option<&'static str>,
    kernels: &'a [RangeKernel],
    /// Rows that are not listed.
    left_out: usize,
}

/// Answers the question. Whether it was ended early.
pub fn by_range(choice: &Choice, console: &Console) -> Result<bool, CliError> {
    if let [path] = choice.inputs.as_slice()
        && timeline::is_table(path)
    {
        return Err(CliError::NoPhases { path: path.clone() });
    }
    let notes = Notes::default();
    let input = inputs::resolve(&choice.inputs, &notes)?;
    let mut all = ByRange::default();
    let stopped = progress::follow(console, input.stored_bytes(), |watch| {
        job::each_rank(&input, &notes, watch, |rank| {
            all.rank(rank, choice.phase);
            Ok(())
        })
    })?;
    console.warn_of_loss(&notes.rows());
    let left_out = all.left_out();
    let rows = all.finish();
    if let (Some(phase), true, true) = (choice.phase, rows.is_empty(), left_out > 0) {
        return Err(CliError::EmptyPhase { phase: phase.as_str(), others: left_out });
    }
    let page = parts(&rows, choice.most);
    match choice.format {
        Format::Text => output::text(&terminal(&page, &console.screen(choice.most)))?,
        Format::Md => output::text(&markdown("Kernels by range", &page))?,
        Format::Csv => output::text(&csv(&page))?,
        Format::Json => {
            let shown = &rows[..rows.len().min(choice.most)];
            let document = Document {
                schema: schema("range_kernels"),
                phase: choice.phase.map(PhaseKind::as_str),
                kernels: shown,
                left_out: rows.len() - shown.len(),
            };
            output::json(&document, console.is_read_by_people())?;
        }
    }
    Ok(stopped)
}
