//! What to change, and what it would bring: of a run, a trace, or a table of kernels.

pub mod alternatives;
mod table;
mod what_if;

use std::borrow::Cow;
use std::path::PathBuf;

use rooflens_analyze::Findings;
use rooflens_analyze::advice::{AdviceList, RunContext, advise as judge};
use rooflens_analyze::analyses::{Ledger, Verdict};
use rooflens_report::Part;
use rooflens_report::advice::{WhatIf, parts};
use rooflens_schema::{Notes, RunDir};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::analysis::{AnalyzedInput, analyze};
use crate::document::SchemaTag;
use crate::error::Error;
use crate::input::{Input, ReadOptions, open_input};
use crate::kernels::is_table;
use crate::model::{ModelContext, ModelRequest, links, peaks, trace_device};
use crate::observer::{Event, SharedObserver};

/// What is asked.
#[derive(Debug, Clone, Default)]
pub struct AdviceRequest {
    /// Run, traces or table.
    pub inputs: Vec<PathBuf>,
    /// What is known of the model.
    pub model: ModelRequest,
    /// How long all steps of a table took.
    pub wall_ns: Option<i64>,
    /// How many these are.
    pub steps: Option<usize>,
    /// Keys of the config, and what to set them to.
    pub what_if: Vec<(String, String)>,
}

/// What to change.
pub struct AdviceReport {
    /// Every finding; the advice and the ledger among them.
    pub findings: Findings,
    /// What the advice rests on besides the input.
    pub assumptions: Vec<String>,
    /// The ledger of each phase with a changed model.
    pub what_if: Vec<WhatIf>,
    /// Whether reading was ended early.
    pub stopped: bool,
}

/// The JSON document: what to change, and where the time goes.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AdviceDocument<'a> {
    /// `rooflens.advice`.
    pub schema: SchemaTag,
    /// Where the time goes, in a sentence; null where nothing was analyzed.
    pub verdict: Option<Cow<'a, str>>,
    /// Where the time of each phase goes; null where there is no timeline.
    pub ledger: Option<Cow<'a, Ledger>>,
    /// What to change; null without a ledger.
    pub advice: Option<Cow<'a, AdviceList>>,
    /// The ledger of each phase with a changed model, where that was asked for.
    pub what_if: Cow<'a, [WhatIf]>,
    /// What the advice rests on besides the input.
    pub assumptions: Cow<'a, [String]>,
}

impl AdviceReport {
    /// For programs.
    pub fn document(&self) -> AdviceDocument<'_> {
        AdviceDocument {
            schema: SchemaTag::new("advice"),
            verdict: self.findings.get::<Verdict>().map(|verdict| verdict.sentence.as_str().into()),
            ledger: self.findings.get().map(Cow::Borrowed),
            advice: self.findings.get().map(Cow::Borrowed),
            what_if: (&self.what_if).into(),
            assumptions: (&self.assumptions).into(),
        }
    }

    /// For people, with at most so many recommendations.
    pub fn parts(&self, limit: usize) -> Vec<Part> {
        parts(&self.findings, &self.assumptions, &self.what_if, limit)
    }
}

/// Recommends what to change.
pub fn advise(request: &AdviceRequest, observer: &SharedObserver) -> Result<AdviceReport, Error> {
    let mut assumptions = Vec::new();
    let AnalyzedInput { findings, model, stopped } = match request.inputs.as_slice() {
        [path] if is_table(path) => table::analyze(path, request, &mut assumptions, observer)?,
        paths => {
            let notes = Notes::default();
            let input = open_input(paths, &ReadOptions::default(), &notes, observer)?;
            let analysis = analyze(&input, &notes, &request.model, None, observer)?;
            observer.event(&Event::Notes(&analysis.findings.notes));
            analysis
        }
    };
    let what_if = match (request.what_if.as_slice(), &model) {
        ([], _) => Vec::new(),
        (set, Some(model)) => what_if::changed(model, &findings, set)?,
        (_, None) => {
            let ledger = findings.get::<Ledger>();
            let reason = ledger.and_then(|ledger| ledger.not_computed.get("floor").cloned());
            return Err(Error::NoWhatIf {
                reason: reason.unwrap_or_else(|| "there is no ledger".to_owned()),
            });
        }
    };
    Ok(AdviceReport { findings, assumptions, what_if, stopped })
}

/// Gives findings their floor and their advice.
pub(crate) fn complete(
    input: &Input,
    model: &ModelRequest,
    findings: &mut Findings,
) -> Result<Option<ModelContext>, Error> {
    let joined = join_floor(input, model, findings)?;
    links::join(findings, model.hardware.as_deref());
    peaks::join(findings, model.hardware.as_deref());
    refresh(findings, run_of(input), joined.as_ref());
    Ok(joined)
}

/// The same for a run that was just made.
pub(crate) fn complete_run(run: &RunDir, findings: &mut Findings) {
    trace_device::recognise(findings);
    let joined = crate::run::join_floor(run, findings);
    let device = joined.as_ref().map(|joined| joined.known.device.name.as_str());
    links::join(findings, device);
    peaks::join(findings, device);
    refresh(findings, Some(run), joined.as_ref());
}

/// Gives findings their floor: by the model that was named, else by that of the run.
pub fn join_floor(
    input: &Input,
    model: &ModelRequest,
    findings: &mut Findings,
) -> Result<Option<ModelContext>, Error> {
    trace_device::recognise(findings);
    match run_of(input).filter(|run| model.model.is_none() && crate::run::is_own(run)) {
        Some(run) => Ok(crate::run::join_floor(run, findings)),
        None => model.join(findings),
    }
}

fn run_of(input: &Input) -> Option<&RunDir> {
    match input {
        Input::Run(run) => Some(run),
        Input::Traces(_) => None,
    }
}

/// Judges once more, with what the model tells.
fn refresh(findings: &mut Findings, run: Option<&RunDir>, joined: Option<&ModelContext>) {
    if findings.get::<Ledger>().is_none() {
        return;
    }
    let mut around = run.map_or_else(RunContext::default, crate::run::context);
    around.alternatives = joined.map_or_else(Vec::new, alternatives::of);
    let list = judge(findings, &around);
    findings.replace("advice", Box::new(list));
}
