//! From an input to its whole answer: nothing is added to it afterwards.

use rooflens_analyze::Findings;
use rooflens_schema::{Notes, RunDir};

use crate::advise::{self, Compared};
use crate::error::Error;
use crate::input::Input;
use crate::job;
use crate::kept::KeptTables;
use crate::model::ModelRequest;
use crate::observer::SharedObserver;

/// What is known of an input.
pub struct AnalyzedInput {
    /// Every finding, with its lower bounds and advice.
    pub findings: Findings,
    pub(crate) compared: Compared,
    /// Whether the observer ended it early: the findings are those of what was read until then.
    pub stopped: bool,
}

/// Reads an input and answers every question about it; writes its tables to `tables`, if given.
pub fn analyze(
    input: &Input,
    notes: &Notes,
    model: &ModelRequest,
    tables: Option<&RunDir>,
    observer: &SharedObserver,
) -> Result<AnalyzedInput, Error> {
    model.check_device()?;
    let job::JobOutcome { mut findings, stopped } = job::analyze(input, notes, tables, observer)?;
    let compared = advise::complete(input, model, &mut findings)?;
    Ok(AnalyzedInput { findings, compared, stopped })
}

/// The same as [`analyze`], with the tables in memory.
pub fn analyze_and_keep(
    input: &Input,
    notes: &Notes,
    model: &ModelRequest,
    observer: &SharedObserver,
) -> Result<(AnalyzedInput, KeptTables), Error> {
    model.check_device()?;
    let mut ranks = Vec::new();
    let is_stored = matches!(input, Input::Run(_));
    let job::JobOutcome { mut findings, stopped } = job::answer(input, notes, observer, |rank| {
        if !is_stored {
            ranks.push(rank);
        }
        Ok(())
    })?;
    let compared = advise::complete(input, model, &mut findings)?;
    let tables = match input {
        Input::Run(run) => KeptTables::of_run(run.clone()),
        Input::Traces(_) => KeptTables::of_ranks(ranks, notes.rows(), compared.record.clone()),
    };
    Ok((AnalyzedInput { findings, compared, stopped }, tables))
}
