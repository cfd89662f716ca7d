//! What is shown of an answer.

use std::path::PathBuf;

use rooflens_report::cost::{
    Figure, Points, comparison, csv, design, design_figures, markdown, operators, points, sweep_figures,
    terminal,
};
use rooflens_report::render::Part;
use serde::Serialize;

use super::answer::{Answer, One, Sweep};
use super::figures;
use crate::commands::cost::Format;
use crate::console::Console;
use crate::document::{SchemaTag, schema};
use crate::error::CliError;
use crate::output;

/// How an answer is shown.
pub struct Output {
    /// What is printed.
    pub format: Format,
    /// Whether every operator is shown.
    pub operators: bool,
    /// Where figures go.
    pub figures: Option<PathBuf>,
    /// Where everything is saved.
    pub folder: Option<PathBuf>,
}

#[derive(Serialize)]
struct Tagged<'a, T> {
    schema: SchemaTag,
    #[serde(flatten)]
    answer: &'a T,
}

/// Rows of a table on a screen.
const SCREEN_ROWS: usize = 14;
/// Points of a sweep on a screen.
const SCREEN_POINTS: usize = 40;

/// Shows an answer, and writes what is to be written.
pub fn show(answer: &Answer, out: &Output, console: &Console) -> Result<(), CliError> {
    match answer {
        Answer::One(one) => show_one(one, out, console),
        Answer::Sweep(sweep) => show_sweep(sweep, out, console),
    }
}

fn show_one(one: &One, out: &Output, console: &Console) -> Result<(), CliError> {
    let tagged = || Tagged { schema: schema("cost"), answer: one };
    match out.format {
        Format::Json => output::json(&tagged(), console.is_read_by_people())?,
        Format::Csv => output::text(&csv(&operators(&one.document, false)))?,
        Format::Text => {
            let parts = parts(one, SCREEN_ROWS, out.operators);
            output::text(&terminal(&parts, &console.screen(SCREEN_ROWS)))?;
        }
        Format::Md => output::text(&page(one))?,
    }
    let drawn = || design_figures(&one.document);
    finish(out, console, drawn, |folder| super::saved::write(folder, one, &tagged(), &page(one)))
}

fn parts(one: &One, rows: usize, every_operator: bool) -> Vec<Part> {
    let mut parts = design(&one.document, rows);
    if let Some(differences) = &one.differences {
        // What changed is what was asked for: right behind the verdict.
        parts.insert(1, comparison(differences, one.balance.as_ref(), rows));
    }
    if every_operator {
        let assumptions = parts.pop();
        parts.extend(operators(&one.document, true));
        parts.extend(assumptions);
    }
    parts
}

fn page(one: &One) -> String {
    markdown(&format!("What {} must cost", one.document.model.architecture), &parts(one, usize::MAX, true))
}

fn show_sweep(sweep: &Sweep, out: &Output, console: &Console) -> Result<(), CliError> {
    let swept = Points {
        axes: sweep.axes.iter().map(|axis| name_for_good(&axis.name)).collect(),
        points: sweep.points.iter().map(|point| (point.at.as_slice(), &point.summary)).collect(),
        assumptions: &sweep.assumptions,
    };
    let tagged = || Tagged { schema: schema("cost-sweep"), answer: sweep };
    let page = || markdown("Cost by point", &points(&swept, usize::MAX));
    match out.format {
        Format::Json => output::json(&tagged(), console.is_read_by_people())?,
        Format::Csv => output::text(&csv(&points(&swept, usize::MAX)))?,
        Format::Text => {
            output::text(&terminal(&points(&swept, SCREEN_POINTS), &console.screen(SCREEN_POINTS)))?
        }
        Format::Md => output::text(&page())?,
    }
    finish(
        out,
        console,
        || sweep_figures(&swept),
        |folder| super::saved::write_sweep(folder, &tagged(), &page(), &csv(&points(&swept, usize::MAX))),
    )
}

/// Columns are named for the life of the program; the names of keys that are swept over, too.
fn name_for_good(name: &str) -> &'static str {
    Box::leak(name.to_owned().into_boxed_str())
}

fn finish(
    out: &Output,
    console: &Console,
    drawn: impl Fn() -> Vec<Figure>,
    save: impl FnOnce(&std::path::Path) -> Result<(), CliError>,
) -> Result<(), CliError> {
    if let Some(folder) = &out.figures {
        let drawn = drawn();
        figures::write(folder, &drawn)?;
        match drawn.is_empty() {
            true => console.say("no figure: give --hardware, or sweep over a list of numbers"),
            false => console.say(&format!("figures: {}", folder.display())),
        }
    }
    if let Some(folder) = &out.folder {
        save(folder)?;
        figures::write(&folder.join("report"), &drawn())?;
        console.say(&format!("saved: {}", folder.display()));
    }
    Ok(())
}
