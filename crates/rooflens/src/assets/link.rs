//! `rooflens assets link`: shows the plan, asks, does it, and tells how all stands then.

use rooflens_core::document::assets::{AssetsLinkDocument, AssetsPlanDocument};
use rooflens_core::exit::Exit;
use rooflens_core::text::counted;
use rooflens_project::assets::{
    Action, Applied, AssetOutcome, AssetPlan, AssetStep, StepResult, apply, plan, status,
};

use super::status::advise;
use super::{Assets, status as show, steps};
use crate::console::Console;
use crate::error::CliError;
use crate::{output, progress};

/// What is asked for.
pub struct LinkRequest {
    /// Only say what would be done.
    pub dry_run: bool,
    /// Do it without asking.
    pub yes: bool,
    /// Whether a program reads the answer.
    pub json: bool,
}

/// Answers.
pub fn answer(assets: &Assets, question: &LinkRequest, console: &Console) -> Result<Exit, CliError> {
    let plan = plan(&assets.project, &assets.bootstrap, &assets.surroundings());
    if question.dry_run {
        return show_plan(&plan, question.json, console);
    }
    let changes = plan.steps.iter().filter(|step| steps::is_change(step)).count();
    if changes > 0 && !question.yes {
        if !console.can_ask() {
            return Err(CliError::NeedsYes { changes });
        }
        let ask = format!("Make {}?", counted(changes, "change"));
        if !console.agrees(&steps::text(&plan.steps), &ask) {
            console.say("nothing was changed");
            return Ok(Exit::Gate);
        }
    }
    let applied = progress::follow_assets(console, "unpacked", |watch| {
        apply(&assets.project, &plan, &mut |step| !steps::is_tracked(step), watch)
    });
    applied.outcomes.iter().for_each(|outcome| tell(outcome, console));
    console.say(&format!("{} made", counted(applied.changes(), "change")));
    let status = status(&assets.project, &assets.bootstrap, &assets.surroundings());
    if question.json {
        let document = AssetsLinkDocument::new(applied.changes(), &applied.outcomes, &status.assets);
        output::json(&document, console.is_read_by_people())?;
    } else {
        output::text(&show::text(&status))?;
    }
    advise(assets, &status, false, console);
    Ok(exit(&applied))
}

fn show_plan(plan: &AssetPlan, json: bool, console: &Console) -> Result<Exit, CliError> {
    if json {
        output::json(&AssetsPlanDocument::new(&plan.steps), console.is_read_by_people())?;
        return Ok(Exit::Fine);
    }
    if plan.steps.is_empty() {
        output::text(&show::nothing("to link"))?;
    }
    output::text(&steps::text(&plan.steps))?;
    let mut hints: Vec<String> = plan.steps.iter().filter_map(hint).collect();
    // An asset and its archives lack the same.
    hints.dedup();
    hints.iter().for_each(|hint| console.say(hint));
    let changes = plan.steps.iter().filter(|step| steps::is_change(step)).count();
    console.say(&format!("{} would be made; nothing was done", counted(changes, "change")));
    Ok(Exit::Fine)
}

fn hint(step: &AssetStep) -> Option<String> {
    step.hint.as_ref().map(|hint| format!("{}: {hint}", step.asset))
}

/// Tells what became of a step, unless the status after it says the same.
fn tell(outcome: &AssetOutcome, console: &Console) {
    let AssetOutcome { step, result } = outcome;
    let path = steps::path(step).display();
    let refused = || console.failure(&format!("{path}: {}", steps::detail(step)), step.hint.as_deref());
    match result {
        StepResult::Done { extracted: Some(what) } => {
            console.detail(&format!("{path}: {} entries unpacked", what.entries));
        }
        StepResult::Done { extracted: None } => {
            console.detail(&format!("{path} {}", steps::detail(step)));
        }
        StepResult::Failed { error } => console.failure(&error.message, error.hint.as_deref()),
        StepResult::NotReached => console.say(&format!("{path}: not reached")),
        StepResult::NotAllowed => refused(),
        StepResult::Impossible if !matches!(step.action, Action::MissingSource { .. }) => refused(),
        StepResult::Impossible | StepResult::Unchanged => {}
    }
}

/// The code of the first thing that went wrong; a stop goes before all.
fn exit(applied: &Applied) -> Exit {
    let codes: Vec<Exit> = applied.outcomes.iter().filter_map(code).collect();
    let stopped = codes.iter().find(|code| **code == Exit::Interrupted);
    stopped.or(codes.first()).copied().unwrap_or(Exit::Fine)
}

fn code(outcome: &AssetOutcome) -> Option<Exit> {
    match (&outcome.result, &outcome.step.action) {
        (StepResult::Done { .. } | StepResult::Unchanged, _) => None,
        (StepResult::Failed { error }, _) | (_, Action::Refused { error, .. }) => {
            Some(rooflens_core::error::kind_of_assets(error.class).into())
        }
        (StepResult::NotReached, _) => Some(Exit::Interrupted),
        (StepResult::NotAllowed, _) => Some(Exit::Usage),
        (StepResult::Impossible, Action::MissingSource { .. }) => Some(Exit::Data),
        (StepResult::Impossible, _) => Some(Exit::Environment),
    }
}
