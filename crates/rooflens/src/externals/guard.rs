//! `rooflens externals guard`: the pre-commit hook.

use rooflens_core::document::externals::ExternalsGuardDocument;
use rooflens_core::exit::Exit;
use rooflens_project::externals::{Externals, HookAction};

use crate::console::Console;
use crate::error::CliError;
use crate::output;

/// Installs the hook, or brings it up to date.
pub fn answer(externals: &Externals, json: bool, console: &Console) -> Result<Exit, CliError> {
    let report = externals.guard().map_err(CliError::Externals)?;
    if json {
        output::json(&ExternalsGuardDocument::from(&report), console.is_read_by_people())?;
        return Ok(Exit::Fine);
    }
    let done = match report.action {
        HookAction::Installed => "installed",
        HookAction::Extended => "added to the existing hook",
        HookAction::Updated => "updated",
        HookAction::Unchanged => "already installed",
    };
    output::text(&format!("{}: {done}\n", report.hook.display()))?;
    console.say("commits that edit reference sources are now refused; the hook is local to this clone");
    Ok(Exit::Fine)
}
