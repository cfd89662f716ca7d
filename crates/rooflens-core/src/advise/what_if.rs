//! A changed model beside the one that ran.

use rooflens_analyze::Findings;
use rooflens_analyze::advice::Range;
use rooflens_analyze::analyses::{Ledger, PhaseLedger};
use rooflens_analyze::ledger::{Floor, Line, kernels_floor_ns};
use rooflens_report::advice::{ChangedClass, ChangedLine, WhatIf};

use crate::error::{CostError, Error};
use crate::model::{ModelContext, ResolvedModel};

/// The ledger of every phase that has a floor, with keys of the config set to other values.
pub(crate) fn changed(
    joined: &ModelContext,
    findings: &Findings,
    set: &[(String, String)],
) -> Result<Vec<WhatIf>, Error> {
    let was = set.iter().find_map(|(key, _)| Some((key.clone(), joined.known.blueprint.number(key)?)));
    let other = joined.known.with(set).map_err(|source| Error::from(CostError::Setting { source, was }))?;
    let words: Vec<String> = set.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let ledger = findings.get::<Ledger>();
    let mut found = Vec::new();
    for (kind, ran) in &joined.passes {
        let Some(phase) = ledger.and_then(|ledger| ledger.phase(kind.as_str())) else { continue };
        let floors = |model: &ResolvedModel| model.floors(ran).map_err(|reason| impossible(&reason));
        let new = on_ledger(phase, &floors(&joined.known)?, floors(&other)?);
        found.push(of_phase(words.join(" "), phase, &new));
    }
    Ok(found)
}

pub(crate) fn impossible(reason: &str) -> Error {
    Error::usage(format!("no changed model can be shown: {reason}")).words(
        "--model config.json --hardware NAME give the lower bound; rooflens cost --set shows it without a trace",
    )
}

/// The bounds of the changed model on the basis of the ledger, which counts a step on every device of its process.
fn on_ledger(phase: &PhaseLedger, unchanged: &[Floor], mut new: Vec<Floor>) -> Vec<Floor> {
    let repeats = kernels_floor_ns(&phase.floors) / kernels_floor_ns(unchanged);
    if repeats.is_finite() {
        for floor in &mut new {
            floor.ns *= repeats;
            floor.flops *= repeats;
            floor.bytes *= repeats;
        }
    }
    new
}

fn of_phase(change: String, phase: &PhaseLedger, new: &[Floor]) -> WhatIf {
    let (old_ns, new_ns) = (kernels_floor_ns(&phase.floors), kernels_floor_ns(new));
    // Part of the floor may have had no kernels to be spent on: what is on the line changes in proportion.
    let ratio = if old_ns > 0.0 { new_ns / old_ns } else { 1.0 };
    let after = |line: Line, ns: i64| match line {
        Line::Floor => (ns as f64 * ratio).round() as i64,
        _ => ns,
    };
    let lines = phase.lines.iter().map(|line| ChangedLine {
        line: line.line.as_str().into(),
        old_ns: line.ns,
        new_ns: after(line.line, line.ns),
    });
    let (floor, lost) = (phase.on(Line::Floor) as f64, phase.on(Line::Inefficiency) as f64);
    WhatIf {
        change,
        phase: phase.phase.clone(),
        steps: phase.steps,
        lines: lines.collect(),
        classes: classes(&phase.floors, new),
        gain_ns: Range::new(floor * (1.0 - ratio), (floor + lost) * (1.0 - ratio)),
    }
}

/// Classes of both models, in the order of the first, with those that only the second has behind.
fn classes(old: &[Floor], new: &[Floor]) -> Vec<ChangedClass> {
    let of = |floors: &[Floor], class: &str| {
        floors.iter().find(|floor| floor.class == class).map(|floor| floor.ns)
    };
    let only_new = new.iter().filter(|floor| of(old, &floor.class).is_none());
    old.iter()
        .chain(only_new)
        .map(|floor| ChangedClass {
            class: floor.class.clone(),
            old_ns: of(old, &floor.class),
            new_ns: of(new, &floor.class),
        })
        .collect()
}
