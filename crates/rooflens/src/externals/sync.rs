//! `rooflens externals sync`: makes the sources equal to the lock.

use rooflens_core::document::externals::ExternalsSyncDocument;
use rooflens_core::exit::Exit;
use rooflens_core::text;
use rooflens_project::externals::{Externals, SyncOutcome, SyncReport, SyncRequest, Synced};

use super::{LOCK, steps};
use crate::console::Console;
use crate::error::{CliError, exit_of_externals};
use crate::{output, progress};

/// Answers. A source that fails does not keep the others from it; the first failure gives the code.
pub fn answer(
    externals: &Externals,
    request: &SyncRequest,
    json: bool,
    console: &Console,
) -> Result<Exit, CliError> {
    let report = progress::wait(console, "fetching reference sources", || externals.sync(request))
        .map_err(CliError::Externals)?;
    if json {
        output::json(&ExternalsSyncDocument::from(&report), console.is_read_by_people())?;
    } else {
        output::text(&text(&report))?;
    }
    for source in &report.sources {
        if let Some(error) = &source.error {
            console.failure(&format!("{}: {error}", source.name), Some(&error.hint()));
        }
    }
    if report.dry_run {
        console.say("nothing was done");
    }
    Ok(report
        .sources
        .iter()
        .find_map(|source| Some(source.error.as_ref()?.class()))
        .map_or(Exit::Fine, exit_of_externals))
}

fn text(report: &SyncReport) -> String {
    if report.sources.is_empty() {
        return format!("{LOCK} lists no reference sources\n");
    }
    let row = |source: &Synced| {
        let outcome = outcome(source.outcome, report.dry_run).to_owned();
        [source.name.to_string(), source.kind.to_string(), outcome, source.place.clone()]
    };
    let rows: Vec<[String; 4]> = report.sources.iter().map(row).collect();
    let below = |source: &Synced| if report.dry_run { steps(&source.steps) } else { String::new() };
    let lines = text::aligned(&rows);
    let lines = lines.lines().zip(&report.sources);
    lines.map(|(line, source)| format!("{line}\n{}", below(source))).collect()
}

/// What came of a source, or would.
pub fn outcome(outcome: SyncOutcome, dry_run: bool) -> &'static str {
    match (outcome, dry_run) {
        (SyncOutcome::Unchanged, _) => "in sync",
        (SyncOutcome::Created, false) => "fetched",
        (SyncOutcome::Created, true) => "would be fetched",
        (SyncOutcome::Updated, false) => "updated",
        (SyncOutcome::Updated, true) => "would be updated",
        (SyncOutcome::Repaired, false) => "repaired",
        (SyncOutcome::Repaired, true) => "would be repaired",
        (SyncOutcome::MarkedReadOnly, false) => "marked as read-only",
        (SyncOutcome::MarkedReadOnly, true) => "would be marked as read-only",
        (SyncOutcome::Failed, _) => "failed",
    }
}
