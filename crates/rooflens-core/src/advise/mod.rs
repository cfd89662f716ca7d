//! What to change, and what it would bring: of a run, a trace, or a table of kernels.

pub(crate) mod alternatives;
mod what_if;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use rooflens_analyze::Findings;
use rooflens_analyze::advice::{AdviceList, RunContext, advise as judge};
use rooflens_analyze::analyses::{DevicePeaks, Ledger, Verdict};
use rooflens_analyze::ledger::summary::{ASSUMED, KernelTableContext, of_summary};
use rooflens_report::Part;
use rooflens_report::advice::{WhatIf, parts};
use rooflens_schema::{Notes, RunDir};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::analysis::{AnalyzedInput, analyze};
use crate::document::SchemaTag;
use crate::error::Error;
use crate::input::{Input, ReadOptions, open_input};
use crate::kernels::{is_table, read_timeline};
use crate::model::{ModelContext, ModelRecord, ModelRequest, peaks, trace_device};
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
    pub(crate) findings: Findings,
    pub(crate) assumptions: Vec<String>,
    pub(crate) what_if: Vec<WhatIf>,
    /// Whether reading was ended early.
    pub stopped: bool,
}

/// The JSON document: what to change, and where the time goes.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AdviceDocument<'a> {
    /// `rooflens.advice`.
    pub(crate) schema: SchemaTag,
    /// Where the time goes, in a sentence; null where nothing was analyzed.
    pub(crate) verdict: Option<Cow<'a, str>>,
    /// Where the time of each phase goes; null where there is no timeline.
    pub(crate) ledger: Option<Cow<'a, Ledger>>,
    /// What to change; null without a ledger.
    pub(crate) advice: Option<Cow<'a, AdviceList>>,
    /// The ledger of each phase with a changed model, if requested.
    pub(crate) what_if: Cow<'a, [WhatIf]>,
    /// What the advice rests on besides the input.
    pub(crate) assumptions: Cow<'a, [String]>,
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
        [path] if is_table(path) => analyze_table(path, request, &mut assumptions, observer)?,
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
            return Err(what_if::impossible(&reason.unwrap_or_else(|| "there is no ledger".to_owned())));
        }
    };
    Ok(AdviceReport { findings, assumptions, what_if, stopped })
}

pub(crate) fn complete(
    input: &Input,
    model: &ModelRequest,
    findings: &mut Findings,
) -> Result<Compared, Error> {
    let compared = join_floor(input, model, findings)?;
    let device = compared.record.as_ref().and_then(ModelRecord::named_device);
    peaks::join_links(findings, device);
    let peaks = peaks::join(findings, device);
    refresh(findings, run_of(input), compared.joined.as_ref(), peaks);
    Ok(compared)
}

#[derive(Default)]
pub(crate) struct Compared {
    /// What was decided about it; nothing where no model is known.
    pub(crate) record: Option<ModelRecord>,
    /// The model with the steps that went through it; nothing where no lower bound could be computed.
    pub(crate) joined: Option<ModelContext>,
}

/// Gives findings their lower bounds: by the model that was named, else by the one that the run was compared with
/// before.
pub(crate) fn join_floor(
    input: &Input,
    model: &ModelRequest,
    findings: &mut Findings,
) -> Result<Compared, Error> {
    trace_device::recognise(findings);
    let run = run_of(input);
    let own = run.filter(|run| crate::run::is_own(run));
    let record = match (model.record(findings)?, own, run.and_then(ModelRecord::read)) {
        (Some(asked), _, _) => Ok(Some(asked)),
        (None, _, Some(saved)) => model.instead_of(saved, findings).map(|record| Ok(Some(record)))?,
        // It could not be decided when the run was made: deciding it again gives the reason.
        (None, Some(run), None) => match crate::run::decide_again(run) {
            Ok(record) => Ok(Some(model.instead_of(record, findings)?)),
            Err(reason) => Err(reason),
        },
        (None, None, None) => Ok(model.named_device()?.map(ModelRecord::of_device)),
    };
    let joined = match (own, &record) {
        (Some(run), Ok(Some(record))) => {
            // What the run itself ran needs no proof; another model does.
            let is_trusted = model.model.is_none() || record.is_forced;
            crate::run::join_floor(run, Ok(record), findings, is_trusted)?
        }
        (Some(run), Err(reason)) => crate::run::join_floor(run, Err(reason.clone()), findings, true)?,
        (None, Ok(Some(record))) => record.join(findings)?,
        _ => None,
    };
    Ok(Compared { record: record.ok().flatten(), joined })
}

fn run_of(input: &Input) -> Option<&RunDir> {
    match input {
        Input::Run(run) => Some(run),
        Input::Traces(_) => None,
    }
}

/// Judges once more, with what the model tells.
fn refresh(
    findings: &mut Findings,
    run: Option<&RunDir>,
    joined: Option<&ModelContext>,
    peaks: Option<DevicePeaks>,
) {
    if findings.get::<Ledger>().is_none() {
        return;
    }
    let mut around = run.map_or_else(RunContext::default, crate::run::context);
    around.peaks = peaks;
    around.alternatives = joined.map_or_else(Vec::new, alternatives::of);
    let list = judge(findings, &around);
    findings.replace("advice", Box::new(list));
}

/// What a table of kernels tells, as `nsys stats` prints it, and what that rests on.
fn analyze_table(
    path: &Path,
    request: &AdviceRequest,
    assumed: &mut Vec<String>,
    observer: &SharedObserver,
) -> Result<AnalyzedInput, Error> {
    let (Some(wall_ns), Some(steps)) = (request.wall_ns, request.steps) else {
        let message = format!(
            "{} has no timeline: the wall time and the number of steps are not known",
            path.display()
        );
        return Err(Error::usage(message).words(
            "give both, as you measured them: --wall TIME --steps N, such as --wall 700ms --steps 64",
        ));
    };
    let read = read_timeline(&[path.to_owned()], None, observer)?;
    let batch = request.model.batch.unwrap_or(1);
    assumed.push(ASSUMED.to_owned());
    if request.model.batch.is_none() {
        assumed.push("batch size 1 is assumed: --batch sets another".to_owned());
    }
    let known = KernelTableContext { wall_ns, steps, batch: i64::try_from(batch).ok(), kv_tokens: None };
    let wrong = |reason| {
        Error::usage(format!("the table does not fit --wall: {reason}"))
            .words("--wall is the total time of all steps, in the same run as the table")
    };
    let mut findings = of_summary(&read.kernels, &known).map_err(wrong)?;
    let record = request.model.record(&findings)?;
    let joined = record.as_ref().map_or(Ok(None), |record| record.join(&mut findings))?;
    let peaks = peaks::join(&mut findings, record.as_ref().and_then(ModelRecord::named_device));
    refresh(&mut findings, None, joined.as_ref(), peaks);
    Ok(AnalyzedInput { findings, compared: Compared { record, joined }, stopped: false })
}
