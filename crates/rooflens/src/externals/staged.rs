//! `rooflens externals status --staged`: what a commit would change of sources that are not ours. The
//! pre-commit hook runs this.

use rooflens_core::document::externals::ExternalsStagedDocument;
use rooflens_core::exit::Exit;
use rooflens_core::text;
use rooflens_project::externals::{Externals, StagedReason};

use crate::console::Console;
use crate::error::CliError;
use crate::output;

/// Answers. The code is 0 only where a commit may go on.
pub fn answer(externals: &Externals, json: bool, console: &Console) -> Result<Exit, CliError> {
    let report = externals.staged_edits().map_err(CliError::Externals)?;
    if json {
        output::json(&ExternalsStagedDocument::from(&report), console.is_read_by_people())?;
    } else {
        let rows: Vec<[String; 2]> =
            report.edits.iter().map(|edit| [edit.path.clone(), why(edit.reason).to_owned()]).collect();
        output::text(&text::aligned(&rows))?;
    }
    if report.edits.is_empty() {
        return Ok(Exit::Fine);
    }
    let paths = text::counted(report.edits.len(), "path");
    let fact = format!("{paths} staged that the lock does not allow: reference sources must not be edited");
    console.failure(
        &fact,
        Some(
            "git restore --staged PATH unstages one; if the lock changed, stage it too: git add \
              third_party/externals.lock",
        ),
    );
    Ok(Exit::Gate)
}

fn why(reason: StagedReason) -> &'static str {
    match reason {
        StagedReason::Edited => "differs from the pinned commit",
        StagedReason::Unlisted => "belongs to no source in the staged lock",
        StagedReason::NotTracked => "is a separate clone or a link, which is not tracked",
    }
}
