//! One job: its steps, then what is made of what they left.

use std::path::PathBuf;

use rooflens_analyze::Findings;
use rooflens_collect::ExecuteError;
use rooflens_collect::execute::{self, Executor, StepFault, StepObserver, StepOutcome};
use rooflens_collect::plan::{RunStage, StepWork};
use rooflens_schema::{Note, Notes, RunDir, Severity, Stage};

use super::analysis;
use super::chosen;
use super::config::PLAN;
use super::document::{self, RunDocument, StepFacts};
use super::files;
use super::join;
use super::launch::PlannedJob;
use super::model;
use super::numbers;
use super::sampling::Sampling;
use super::workload;
use crate::error::{Error, ErrorKind, Hint};
use crate::input::Input;
use crate::model::ModelRequest;
use crate::observer::{Event, SharedObserver, StepWatch};
use crate::project::from_here;
use crate::saved;

/// What became of a job.
pub struct RunOutcome {
    /// Its number in the sweep.
    pub number: Option<usize>,
    /// The model's name.
    pub model: String,
    /// Its overrides.
    pub overrides: Vec<String>,
    /// Its folder.
    pub folder: PathBuf,
    /// How its steps ended, up to the first that did not end well.
    pub(crate) outcomes: Vec<StepOutcome>,
    /// What its trace tells.
    pub findings: Option<Findings>,
    /// What is in `metrics.json`.
    pub document: RunDocument,
    /// What is wrong with the trace, where it is damaged.
    pub(crate) damage: Option<String>,
    /// The report's page, where there is one.
    pub page: Option<PathBuf>,
}

/// Takes the steps of a job and analyses what they left. The folder is there already.
pub(crate) fn take(
    job: &PlannedJob,
    executor: &dyn Executor,
    observer: &SharedObserver,
) -> Result<RunOutcome, Error> {
    let run = RunDir::new(&job.places.run);
    saved::write(run.root().join(PLAN), job.plan.to_json().as_bytes())?;
    let notes = Notes::default();
    let sampling = Sampling::open(job.settings.sampler.filter(|_| job.plan.commands().next().is_some()));
    let outcomes = steps(job, executor, observer, &sampling, &notes)?;
    execute::clean_up(&job.places);
    note_failures(&outcomes, &notes);
    let records = workload::read_records(&run, outcomes.iter().map(|outcome| outcome.step.as_str()), &notes);
    let mut findings = analysis::analyse(&run, &notes, observer)?;
    analysis::profiled_kernels(&run, &job.settings.pipeline.ncu.metrics, &notes, observer);
    // Behind the tables of the trace: writing those removes what an older run left, and their clock counts.
    let recorded = if outcomes.is_empty() {
        None
    } else {
        sampling.save(&run, &notes);
        workload::write_tables(&run, records, &notes)?
    };
    let notes = analysis::save_notes(&run, notes, findings.as_mut())?;
    let measured = workload::measured(&run);
    model::measure_unknown(job, &measured, executor, observer)?;
    let decided = model::decide(&job.plan, &job.settings, &job.places, &measured);
    let reason = match (&decided, job.plan.static_work()) {
        (Ok(record), Some(work)) => {
            record.save(&run)?;
            model::write_cost(work, record, &job.places, &measured, &run, job.settings.output.plots)?
        }
        (decided, _) => decided.as_ref().err().cloned(),
    };
    if let Some(reason) = &reason {
        observer.detail(&format!("static analysis: not computed: {reason}"));
    }
    if let Some(findings) = &mut findings {
        crate::advise::complete(&Input::Run(run.clone()), &ModelRequest::default(), findings)?;
        saved::write_findings(&run, findings)?;
    }
    let facts = outcomes.iter().map(StepFacts::of).collect();
    let joined = join::join(&run, decided.as_ref(), &measured, findings.as_ref());
    let document = RunDocument::new(&run, facts, &measured, reason, joined, &notes);
    document::write(&run.report(), &document, findings.as_ref())?;
    numbers::complete_row(&run, &job.settings, &document, &measured, recorded.as_ref())?;
    let has_trace = findings.is_some();
    let mut shown = findings.unwrap_or_default();
    shown.insert("run", Box::new(document::facts(&document)));
    let page = match has_trace || document.measured.is_some() {
        true => {
            analysis::report(&run.report(), &job.settings.output, &shown, document.extras(&document.parts()))?
        }
        false => None,
    };
    analysis::csv_tables(&run, &job.settings.output, has_trace.then_some(&shown))?;
    files::write(&run, &job.settings, &job.places.project)?;
    if has_trace && !job.settings.output.keep_raw && outcomes.iter().all(StepOutcome::is_done) {
        analysis::remove_traces(&run)?;
    }
    Ok(RunOutcome {
        number: job.composed.number,
        model: job.settings.label(),
        overrides: job.composed.composition.overrides.task.clone(),
        folder: job.places.run.clone(),
        outcomes,
        findings: has_trace.then_some(shown),
        document,
        damage: damage(&notes),
        page,
    })
}

/// Up to the first that does not end well: what follows would fail alike, or could mislead.
fn steps(
    job: &PlannedJob,
    executor: &dyn Executor,
    observer: &SharedObserver,
    sampling: &Sampling,
    notes: &Notes,
) -> Result<Vec<StepOutcome>, ExecuteError> {
    let mut outcomes = Vec::new();
    for step in &job.plan.steps {
        let StepWork::Process(command) = &step.work else { continue };
        if step.stage == RunStage::Ncu && job.settings.pipeline.has(RunStage::Nsys) {
            chosen::write(&job.places, &job.settings.pipeline.ncu, notes)?;
        }
        observer.event(&Event::StepBegan(step));
        let run = |watch: &dyn StepObserver| executor.run(step, command, &job.places, watch);
        let outcome = sampling.during(step, &StepWatch(observer), notes, run);
        let outcome = outcome.inspect_err(|_| observer.event(&Event::StepAbandoned(step)))?;
        observer.event(&Event::StepEnded(&outcome));
        let goes_on = outcome.is_done();
        outcomes.push(outcome);
        if !goes_on {
            break;
        }
    }
    Ok(outcomes)
}

/// A step that did not end well makes the run incomplete, and every report of it says so.
fn note_failures(outcomes: &[StepOutcome], notes: &Notes) {
    for outcome in outcomes {
        let source = &outcome.step;
        if !outcome.is_done() {
            let message = format!("the step {source} {}", outcome.verdict());
            notes.add(Stage::Collect, Severity::DataLoss, "step_failed", source, message);
        }
        if outcome.events.garbage_lines > 0 {
            let first = outcome.events.garbage.as_deref().unwrap_or_default();
            let message = format!("the workload sent something that is not an event: {first:?}");
            let count = i64::try_from(outcome.events.garbage_lines).unwrap_or(i64::MAX);
            notes.add_many(Stage::Collect, Severity::Warning, "not_an_event", source, count, message);
        }
        for event in &outcome.events.notes {
            let severity = match event.text("severity") {
                Some("data_loss") => Severity::DataLoss,
                Some("warning") => Severity::Warning,
                _ => Severity::Info,
            };
            let (code, message) = (event.text("code").unwrap_or("note"), event.text("message").unwrap_or(""));
            notes.add(Stage::Collect, severity, code, source, message.to_owned());
        }
    }
}

/// A trace that was cut off or cannot be read: a full disk is not noticed by everybody who writes.
fn damage(notes: &[Note]) -> Option<String> {
    const CODES: &[&str] = &["truncated", "stream_error", "unreadable_rank"];
    let found = notes.iter().find(|note| CODES.contains(&note.code.as_str()));
    found.map(|note| note.message.clone())
}

impl RunOutcome {
    fn failure(&self) -> Option<&StepOutcome> {
        self.outcomes.iter().find(|outcome| !outcome.is_done())
    }

    /// Whose fault it is that the run is not whole; nothing where it is.
    pub fn fault(&self) -> Option<ErrorKind> {
        match self.failure().map(StepOutcome::fault) {
            None if self.damage.is_some() => Some(ErrorKind::Workload),
            None => None,
            Some(StepFault::Environment) => Some(ErrorKind::Environment),
            Some(StepFault::Workload) => Some(ErrorKind::Workload),
            Some(StepFault::User) => Some(ErrorKind::Interrupted),
        }
    }

    /// Says what went wrong: the end of the log, the fact, and what helps.
    pub(super) fn report_failure(&self, observer: &SharedObserver) {
        let failed = |fact: &str, hint: Hint| observer.event(&Event::Failed { fact, hint: Some(&hint) });
        let Some(outcome) = self.failure() else {
            if let Some(damage) = &self.damage {
                let hint = "df -h . shows the free space, ulimit -f the largest file size";
                failed(&format!("the trace is damaged: {damage}"), Hint::words(hint));
            }
            return;
        };
        let log = RunDir::new(&self.folder).raw(&outcome.step);
        if outcome.fault() != StepFault::User {
            for line in &outcome.tail {
                observer.info(&format!("  | {line}"));
            }
            let hint =
                outcome.hint().unwrap_or_else(|| format!("full output: {}", from_here(&log).display()));
            failed(&format!("the step {} {}", outcome.step, outcome.verdict()), Hint::words(hint));
        }
        if !outcome.left_behind.is_empty() {
            observer.warn(&format!("processes could not be stopped: {:?}", outcome.left_behind));
        }
        if let Some(error) = &outcome.manifest_error {
            observer.warn(error);
        }
        observer.info(&format!("incomplete run: {}", from_here(&self.folder).display()));
    }
}
