//! Every nanosecond on its line: what physics demanded, and what was lost to what.

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::{ClassLedger, Ledger, LedgerLine, PhaseLedger, StageLedger};
use rooflens_analyze::ledger::Line;

use crate::block::Level::{Raw, Screen};
use crate::block::{Block, Cell, Column, Field, Stack, StackBar, Table};
use crate::format;
use crate::section::{Detail, line_tone, words};

/// Part of the lower bound that may stay unspent before the model is doubted, as in the advice `model_mismatch`.
const MISMATCH: f64 = 0.05;

pub(super) fn blocks(findings: &Findings, detail: Detail) -> Vec<Block> {
    let Some(ledger) = findings.get::<Ledger>().filter(|ledger| ledger.wall_ns > 0) else {
        return vec![];
    };
    let phases: Vec<&PhaseLedger> = ledger.phases.iter().filter(|phase| phase.wall_ns > 0).collect();
    if phases.is_empty() {
        return vec![];
    }
    if detail.is_screen() {
        // Of the phases with steps, that with the most time stands for all; the page has the others.
        let Some(first) = phases.first() else { return vec![] };
        let phase = phases.iter().find(|phase| phase.steps > 0).unwrap_or(first);
        let whole = (phases.len() > 1).then(|| Block::Text(whole(ledger)));
        let whole = whole.into_iter().chain(no_floor(ledger));
        let phase = [Block::Text(head(phase)), Block::Table(table(phase, usize::MAX))];
        return whole.chain(phase).collect();
    }
    let mut blocks = vec![];
    if let Some(source) = &ledger.floor_of {
        let text = format!("The lower bound is that of {} on {}.", source.model, source.device);
        blocks.push(Block::Text(text));
    } else if let Some(reason) = ledger.not_computed.get("floor") {
        blocks.push(Block::Text(format!("No lower bound: {reason}.")));
    }
    if let Some(reason) = ledger.not_computed.get(Line::CommWait.as_str()) {
        blocks.push(Block::Text(format!("Communication includes waiting: {reason}.")));
    }
    blocks.push(Block::Stack(stack(&phases)));
    for phase in phases {
        blocks.push(Block::Heading(head(phase)));
        blocks.push(Block::Table(table(phase, usize::MAX)));
        if phase.unspent_floor_ns > 0.0 {
            blocks.push(Block::Text(unspent(phase)));
        }
        if !phase.stages.is_empty() {
            let stages = Table::new("ledger_stages", STAGES, &of(phase, &phase.stages), detail.rows());
            blocks.push(Block::Table(stages));
        }
        if phase.classes.len() > 1 {
            blocks.push(Block::table("ledger_classes", CLASSES, &of(phase, &phase.classes), detail.rows()));
        }
    }
    blocks
}

fn no_floor(ledger: &Ledger) -> Option<Block> {
    let reason =
        ledger.not_computed.get("floor").filter(|reason| !reason.starts_with("no model was given"))?;
    Some(Block::Text(format!("No lower bound: {reason}.")))
}

/// `all 1.73 s: kernels 26.0%, launch bound 20.2%`: what the sentence at the top speaks of.
fn whole(ledger: &Ledger) -> String {
    let line = |line: &LedgerLine| format!("{} {}", line.line.title(), format::share(line.share));
    let lines: Vec<String> = ledger.lines.iter().map(line).collect();
    format!("all {}: {}", format::time(ledger.wall_ns as f64), lines.join(", "))
}

fn head(phase: &PhaseLedger) -> String {
    let (name, total) = (words(&phase.phase), format::time(phase.wall_ns as f64));
    if phase.steps == 0 {
        return format!("{name} of steps: {total}");
    }
    let median = phase.step.as_ref().map(|step| {
        let longest = (phase.steps > 1).then(|| format!(", longest {}", format::time(step.max_ns as f64)));
        format!(", median {}{}", format::time(step.p50_ns as f64), longest.unwrap_or_default())
    });
    let flawed: usize = phase.flawed.iter().map(|flawed| flawed.steps).sum();
    let left_out = (flawed > 0 && flawed < phase.steps).then(|| format!(" without {flawed} flawed"));
    format!(
        "{name}: {}, {total} total{}{}",
        format::plural(phase.steps as i64, "step"),
        median.unwrap_or_default(),
        left_out.unwrap_or_default()
    )
}

/// Rows with the phase that they are of: for programs, which get the tables of all phases as one.
fn of<T: Clone>(phase: &PhaseLedger, rows: &[T]) -> Vec<(String, T)> {
    rows.iter().map(|row| (words(&phase.phase), row.clone())).collect()
}

struct Shown {
    phase: String,
    line: LedgerLine,
    p50_ns: Option<i64>,
}

fn table(phase: &PhaseLedger, rows: usize) -> Table {
    let shown = |line: &LedgerLine| Shown {
        phase: words(&phase.phase),
        p50_ns: phase.line_steps.iter().find(|step| step.line == line.line).map(|step| step.p50_ns),
        line: line.clone(),
    };
    let lines: Vec<Shown> = phase.lines.iter().map(shown).collect();
    Table::new("ledger", LINES, &lines, rows).tones(&lines, |shown: &Shown| line_tone(shown.line.line))
}

const LINES: &[Field<Shown>] = &[
    (Column::text("phase", "phase").at(Raw), |row| Cell::word(&*row.phase)),
    (Column::text("line", "line"), |row| Cell::word(row.line.line.title())),
    (Column::number("ns", "time").help("Over all steps of the phase, on all devices."), |row| {
        Cell::Time(row.line.ns)
    }),
    (Column::number("p50_ns", "median step").at(Screen), |row| {
        Cell::or(row.p50_ns, Cell::Time, "only measured for kernels as a whole, inside steps")
    }),
    (Column::bar("share", "of wall time"), |row| Cell::Share(row.line.share)),
    (Column::text("meaning", "meaning").at(Screen), |row| Cell::text(row.line.line.meaning())),
];

const CLASSES: &[Field<(String, ClassLedger)>] = &[
    (Column::text("phase", "phase").at(Raw), |(phase, _)| Cell::word(&**phase)),
    (Column::text("class", "class"), |(_, class)| Cell::word(class.class.as_str())),
    (Column::text("line", "line"), |(_, class)| Cell::word(class.line.title())),
    (Column::number("activities", "activities"), |(_, class)| Cell::count(class.activities)),
    (Column::number("ns", "time").help("Time attributed to it; overlaps count once."), |(_, class)| {
        Cell::Time(class.ns)
    }),
    (Column::number("floor_ns", "lower bound"), |(_, class)| {
        Cell::or(class.floor_ns, Cell::Time, "no model or device was given")
    }),
];

const STAGES: &[Field<(String, StageLedger)>] = &[
    (Column::text("phase", "phase").at(Raw), |(phase, _)| Cell::word(&**phase)),
    (Column::text("stage", "stage"), |(_, stage)| Cell::word(&*stage.stage)),
    (Column::number("activities", "activities"), |(_, stage)| Cell::count(stage.activities)),
    (Column::number("ns", "time").help("Gaps included; the stages add up to the phase."), |(_, stage)| {
        Cell::Time(stage.wall_ns)
    }),
];

fn stack(phases: &[&PhaseLedger]) -> Stack {
    let used: Vec<Line> =
        Line::ALL.iter().copied().filter(|line| phases.iter().any(|phase| phase.on(*line) > 0)).collect();
    Stack {
        parts: used.iter().map(|line| (line_tone(*line), line.title().to_owned())).collect(),
        bars: phases
            .iter()
            .map(|phase| StackBar {
                label: words(&phase.phase),
                parts_ns: used.iter().map(|line| phase.on(*line)).collect(),
                whole_ns: phase.wall_ns,
            })
            .collect(),
    }
}

/// Kernels that were faster than their lower bound: a few are no sign of a wrong model, since what is counted as bytes of
/// an operator may stay in a cache or in a neighbour's registers.
fn unspent(phase: &PhaseLedger) -> String {
    let all: f64 = phase.floors.iter().map(|floor| floor.ns).sum();
    let took = format!("Kernels took {} less than their lower bound", format::time(phase.unspent_floor_ns));
    match phase.unspent_floor_ns > MISMATCH * all {
        true => format!("{took}: the model, device or shapes given are not those of this trace."),
        false => format!(
            "{took}, {} of it: some moved fewer bytes than the bound counts for them.",
            format::share(phase.unspent_floor_ns / all)
        ),
    }
}
