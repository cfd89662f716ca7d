//! What is shown of an answer.

use std::path::PathBuf;

use rooflens_report::cost::{
    Figure, Point, Points, compared, csv, design, design_figures, differing_operators, markdown, operators,
    points, sweep_figures, terminal,
};
use rooflens_report::render::Part;
use rooflens_schema::RunDir;
use serde::Serialize;

use super::answer::{self, Answer, Axis, One, Sweep};
use super::{figures, saved};
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
    // Nothing is printed where nothing can be saved.
    let run = out.folder.as_deref().map(saved::folder).transpose()?;
    match answer {
        Answer::One(one) => show_one(one, run.as_ref(), out, console),
        Answer::Sweep(sweep) => show_sweep(sweep, run.as_ref(), out, console),
    }
}

/// Saves an answer into a run, and prints nothing.
pub fn save(answer: &Answer, run: &RunDir, with_figures: bool) -> Result<(), CliError> {
    let drawn = match answer {
        Answer::One(one) => {
            let tagged = Tagged { schema: schema("cost"), answer: &**one };
            saved::write(run, one, &tagged, &page(one))?;
            design_figures(&one.names.design, &one.document)
        }
        Answer::Sweep(sweep) => {
            let swept = swept(sweep);
            let all = points(&swept, usize::MAX);
            let tagged = Tagged { schema: schema("cost-sweep"), answer: sweep };
            saved::write_sweep(run, &tagged, &markdown("Cost by point", &all), &csv(&all))?;
            sweep_figures(&swept)
        }
    };
    if with_figures { figures::write(&run.report(), &drawn) } else { Ok(()) }
}

fn show_one(one: &One, run: Option<&RunDir>, out: &Output, console: &Console) -> Result<(), CliError> {
    let tagged = || Tagged { schema: schema("cost"), answer: one };
    match out.format {
        Format::Json => output::json(&tagged(), console.is_read_by_people())?,
        Format::Csv => {
            let alone = || operators(&one.document, false);
            output::text(&csv(&one.differences.as_ref().map_or_else(alone, differing_operators)))?;
        }
        Format::Text => {
            let parts = parts(one, SCREEN_ROWS, out.operators);
            output::text(&terminal(&parts, &console.screen(SCREEN_ROWS)))?;
        }
        Format::Md => output::text(&page(one))?,
    }
    let drawn = || design_figures(&one.names.design, &one.document);
    finish(run, out, console, drawn, |run| saved::write(run, one, &tagged(), &page(one)))
}

fn parts(one: &One, rows: usize, every_operator: bool) -> Vec<Part> {
    let name = &one.names.design;
    let mut parts = design(name, &one.document, rows);
    if let (Some(base), Some(differences)) = (&one.names.base, &one.differences) {
        parts = compared((name, base), &one.document, differences, one.balance.as_ref(), parts, rows);
    }
    if every_operator {
        let assumptions = parts.pop();
        parts.extend(operators(&one.document, true));
        parts.extend(assumptions);
    }
    parts
}

fn page(one: &One) -> String {
    let title = match &one.names.base {
        Some(base) => format!("{} against {base}", one.names.design),
        None => format!("Cost of {}", one.names.design),
    };
    markdown(&title, &parts(one, usize::MAX, true))
}

fn show_sweep(sweep: &Sweep, run: Option<&RunDir>, out: &Output, console: &Console) -> Result<(), CliError> {
    let swept = swept(sweep);
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
        run,
        out,
        console,
        || sweep_figures(&swept),
        |run| saved::write_sweep(run, &tagged(), &page(), &csv(&points(&swept, usize::MAX))),
    )
}

fn swept(sweep: &Sweep) -> Points<'_> {
    fn point(answer::Point { at, summary, phases, targets, balance }: &answer::Point) -> Point<'_> {
        Point { at, summary, phases, targets, balance: balance.as_ref() }
    }
    let usable = |usable: &answer::Usable| Some((usable.hardware.clone(), usable.bytes?));
    Points {
        fixed: fixed(&sweep.fixed),
        axes: sweep.axes.iter().map(|axis| name_for_good(&axis.name)).collect(),
        points: sweep.points.iter().map(point).collect(),
        impossible: sweep.impossible.first().map(|first| (sweep.impossible.len(), first.reason.as_str())),
        usable: sweep.usable_bytes.iter().filter_map(usable).collect(),
        assumptions: &sweep.assumptions,
    }
}

/// What does not vary, in words.
fn fixed(axes: &[Axis]) -> String {
    let words = axes.iter().filter_map(|Axis { name, values }| {
        let value = values.first()?;
        match (name.as_str(), value.as_str()) {
            ("tp" | "pp" | "ep" | "dp", "1") => None,
            ("config" | "hardware" | "dtype", value) => Some(value.to_owned()),
            ("prefill", tokens) => Some(format!("prompt {tokens}")),
            (name, value) => Some(format!("{name} {value}")),
        }
    });
    words.collect::<Vec<String>>().join(", ")
}

/// Columns are named for the life of the program; the names of keys that are swept over, too.
fn name_for_good(name: &str) -> &'static str {
    Box::leak(name.to_owned().into_boxed_str())
}

fn finish(
    run: Option<&RunDir>,
    out: &Output,
    console: &Console,
    drawn: impl Fn() -> Vec<Figure>,
    save: impl FnOnce(&RunDir) -> Result<(), CliError>,
) -> Result<(), CliError> {
    if let Some(folder) = &out.figures {
        let drawn = drawn();
        figures::write(folder, &drawn)?;
        match drawn.is_empty() {
            true => console.say("no figure: sweep over numbers, as in --batch 1..64"),
            false => console.say(&format!("figures: {}", folder.display())),
        }
    }
    if let Some(run) = run {
        save(run)?;
        figures::write(&run.report(), &drawn())?;
        console.say(&format!("saved: {}", run.root().display()));
    }
    Ok(())
}
