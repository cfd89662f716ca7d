//! What to change, and what it would bring: of a run, a trace, or a table of kernels.

pub mod alternatives;
mod table;
mod what_if;

use std::path::PathBuf;

use rooflens_analyze::Findings;
use rooflens_analyze::advice::{AdviceList, RunContext, advise as judge};
use rooflens_analyze::analyses::{Ledger, Verdict};
use rooflens_report::advice::{WhatIf, parts};
use rooflens_report::cost::{markdown, terminal};
use rooflens_schema::{Notes, RunDir};
use serde::Serialize;

use crate::console::Console;
use crate::document::{SchemaTag, schema};
use crate::error::CliError;
use crate::floors::{self, Joined};
use crate::inputs::{self, Input};
use crate::kernels::is_table;
use crate::{job, links, output, peaks, progress, trace_device};

/// What is asked.
pub struct Question {
    /// Run, traces or table.
    pub inputs: Vec<PathBuf>,
    /// What is known of the model.
    pub floor: floors::Args,
    /// How long all steps of a table took.
    pub wall_ns: Option<i64>,
    /// How many these are.
    pub steps: Option<usize>,
    /// Keys of the config, and what to set them to.
    pub what_if: Vec<(String, String)>,
    /// What is printed.
    pub format: Format,
    /// Advice that is shown.
    pub limit: usize,
}

/// What is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    Text,
    Json,
    Md,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: SchemaTag,
    verdict: Option<&'a str>,
    ledger: Option<&'a Ledger>,
    advice: Option<&'a AdviceList>,
    what_if: &'a [WhatIf],
    assumptions: &'a [String],
}

/// Answers the question. Whether reading was ended early.
pub fn advise(question: &Question, console: &Console) -> Result<bool, CliError> {
    let mut assumed = Vec::new();
    let (findings, joined, stopped) = match question.inputs.as_slice() {
        [path] if is_table(path) => {
            let (findings, joined) = table::findings(path, question, &mut assumed, console)?;
            (findings, joined, false)
        }
        _ => of_timeline(question, console)?,
    };
    let changed = match (question.what_if.as_slice(), &joined) {
        ([], _) => Vec::new(),
        (set, Some(joined)) => what_if::changed(joined, &findings, set)?,
        (_, None) => {
            let ledger = findings.get::<Ledger>();
            let reason = ledger.and_then(|ledger| ledger.not_computed.get("floor").cloned());
            return Err(CliError::NoWhatIf {
                reason: reason.unwrap_or_else(|| "there is no ledger".to_owned()),
            });
        }
    };
    let page = parts(&findings, &assumed, &changed, question.limit);
    match question.format {
        Format::Text => output::text(&terminal(&page, &console.screen(question.limit)))?,
        Format::Md => output::text(&markdown("Advice", &page))?,
        Format::Json => {
            let document = Document {
                schema: schema("advice"),
                verdict: findings.get::<Verdict>().map(|verdict| verdict.sentence.as_str()),
                ledger: findings.get(),
                advice: findings.get(),
                what_if: &changed,
                assumptions: &assumed,
            };
            output::json(&document, console.is_read_by_people())?;
        }
    }
    Ok(stopped)
}

fn of_timeline(question: &Question, console: &Console) -> Result<(Findings, Option<Joined>, bool), CliError> {
    let notes = Notes::default();
    let input = inputs::resolve(&question.inputs, &notes)?;
    let read = |watch: &_| job::analyze(&input, &notes, None, watch);
    let mut outcome = progress::follow(console, input.stored_bytes(), read)?;
    console.warn_of_loss(&outcome.findings.notes);
    let joined = complete(&input, &question.floor, &mut outcome.findings)?;
    Ok((outcome.findings, joined, outcome.stopped))
}

/// Gives findings their floor and their advice.
pub fn complete(
    input: &Input,
    floor: &floors::Args,
    findings: &mut Findings,
) -> Result<Option<Joined>, CliError> {
    floor.check_device()?;
    let joined = join_floor(input, floor, findings)?;
    links::join(findings, floor.hardware.as_deref());
    peaks::join(findings, floor.hardware.as_deref());
    refresh(findings, run_of(input), joined.as_ref());
    Ok(joined)
}

/// The same for a run that was just made.
pub fn complete_run(run: &RunDir, findings: &mut Findings) {
    trace_device::recognise(findings);
    let joined = crate::run::join_floor(run, findings);
    let device = joined.as_ref().map(|joined| joined.known.device.name.as_str());
    links::join(findings, device);
    peaks::join(findings, device);
    refresh(findings, Some(run), joined.as_ref());
}

/// Gives findings their floor: by the model of the command line, else by that of the run.
pub fn join_floor(
    input: &Input,
    floor: &floors::Args,
    findings: &mut Findings,
) -> Result<Option<Joined>, CliError> {
    trace_device::recognise(findings);
    match run_of(input).filter(|run| floor.model.is_none() && crate::run::is_own(run)) {
        Some(run) => Ok(crate::run::join_floor(run, findings)),
        None => floor.join(findings),
    }
}

fn run_of(input: &Input) -> Option<&RunDir> {
    match input {
        Input::Run(run) => Some(run),
        Input::Traces(_) => None,
    }
}

/// Judges once more, with what the model tells.
fn refresh(findings: &mut Findings, run: Option<&RunDir>, joined: Option<&Joined>) {
    if findings.get::<Ledger>().is_none() {
        return;
    }
    let mut around = run.map_or_else(RunContext::default, crate::run::context);
    around.alternatives = joined.map_or_else(Vec::new, alternatives::of);
    let list = judge(findings, &around);
    findings.replace("advice", Box::new(list));
}
