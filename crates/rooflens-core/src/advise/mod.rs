//! What to change, and what it would bring: of a run, a trace, or a table of kernels.

pub mod alternatives;
mod table;
mod what_if;

use std::borrow::Cow;
use std::path::PathBuf;

use rooflens_analyze::Findings;
use rooflens_analyze::advice::{AdviceList, RunContext, advise as judge};
use rooflens_analyze::analyses::{Ledger, Verdict};
use rooflens_cost::hardware::Device;
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
use crate::model::files::DeviceCatalog;
use crate::model::{ModelContext, ModelRecord, ModelRequest, links, peaks, trace_device};
use crate::observer::{Event, SharedObserver};
use crate::project;

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
    let AnalyzedInput { findings, compared, stopped } = match request.inputs.as_slice() {
        [path] if is_table(path) => table::analyze(path, request, &mut assumptions, observer)?,
        paths => {
            let notes = Notes::default();
            let input = open_input(paths, &ReadOptions::default(), &notes, observer)?;
            let analysis = analyze(&input, &notes, &request.model, None, observer)?;
            observer.event(&Event::Notes(&analysis.findings.notes));
            analysis
        }
    };
    let what_if = match (request.what_if.as_slice(), &compared.joined) {
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

/// Gives findings their lower bounds and their advice.
pub(crate) fn complete(
    input: &Input,
    model: &ModelRequest,
    findings: &mut Findings,
) -> Result<Compared, Error> {
    let compared = join_floor(input, model, findings)?;
    let chosen = chosen_device(input, model, compared.joined.as_ref())?;
    links::join(findings, chosen.as_ref());
    peaks::join(findings, chosen.as_ref());
    refresh(findings, run_of(input), compared.joined.as_ref());
    Ok(compared)
}

/// The model that an input was compared with.
#[derive(Default)]
pub struct Compared {
    /// What was decided about it; nothing where no model is known.
    pub record: Option<ModelRecord>,
    /// The model with the steps that went through it; nothing where no lower bound could be computed.
    pub joined: Option<ModelContext>,
}

/// The device that was asked for, or that the run has chosen already: then the trace is not asked.
fn chosen_device(
    input: &Input,
    model: &ModelRequest,
    joined: Option<&ModelContext>,
) -> Result<Option<Device>, Error> {
    let is_chosen = model.hardware.is_some() || (model.model.is_none() && run_of(input).is_some());
    match (joined, &model.hardware) {
        (Some(joined), _) if is_chosen => Ok(Some(joined.known.device.clone())),
        (None, Some(name)) => Ok(Some(DeviceCatalog::read(&project::hardware())?.find(name)?.clone())),
        _ => Ok(None),
    }
}

/// Gives findings their lower bounds: by the model that was named, else by the one that the run was compared with
/// before.
pub fn join_floor(input: &Input, model: &ModelRequest, findings: &mut Findings) -> Result<Compared, Error> {
    trace_device::recognise(findings);
    if let Some(record) = model.record(findings)? {
        return compared(record, findings);
    }
    let Some(run) = run_of(input) else { return Ok(Compared::default()) };
    if crate::run::is_own(run) {
        return compared_as_it_ran(run, model, findings);
    }
    match ModelRecord::read(run) {
        Some(record) => compared(model.instead_of(record, findings)?, findings),
        None => Ok(Compared::default()),
    }
}

fn compared(record: ModelRecord, findings: &mut Findings) -> Result<Compared, Error> {
    let joined = record.join(findings)?;
    Ok(Compared { record: Some(record), joined })
}

/// With the steps that a run of `rooflens run` recorded.
fn compared_as_it_ran(
    run: &RunDir,
    model: &ModelRequest,
    findings: &mut Findings,
) -> Result<Compared, Error> {
    let record = match crate::run::model_of(run) {
        Ok(record) => Ok(model.instead_of(record, findings)?),
        Err(reason) => Err(reason),
    };
    let joined = crate::run::join_floor(run, record.as_ref().map_err(Clone::clone), findings);
    Ok(Compared { record: record.ok(), joined })
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
