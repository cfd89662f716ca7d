//! `rooflens externals update`: shows what is newer, asks, and pins it.

use rooflens_core::document::externals::ExternalsUpdateDocument;
use rooflens_core::exit::Exit;
use rooflens_core::text;
use rooflens_project::externals::{Externals, ObjectId, UpdateRow, UpdateState};

use super::LOCK;
use crate::console::Console;
use crate::error::{CliError, exit_of_externals};
use crate::{output, progress};

/// What is asked for.
pub struct UpdateRequest {
    /// These sources; all where there are none.
    pub names: Vec<String>,
    /// Only say what would be done.
    pub dry_run: bool,
    /// Do it without asking.
    pub yes: bool,
    /// Whether a program reads the answer.
    pub json: bool,
}

/// Answers. A source that fails does not keep the others from it; the first failure gives the code.
pub fn answer(externals: &Externals, question: &UpdateRequest, console: &Console) -> Result<Exit, CliError> {
    let look = || externals.newest(&question.names);
    let mut rows = progress::wait(console, "asking for newer commits", look).map_err(CliError::Externals)?;
    let behind = count(&rows, UpdateState::Behind);
    if behind > 0 && !question.dry_run {
        if !question.yes {
            if !console.can_ask() {
                return Err(CliError::NeedsYes { changes: behind });
            }
            let ask = format!("Update {}?", text::counted(behind, "source"));
            if !console.agrees(&text(&rows), &ask) {
                console.say("nothing was changed");
                return Ok(Exit::Gate);
            }
        }
        let update = || externals.update(rows);
        rows = progress::wait(console, "fetching reference sources", update).map_err(CliError::Externals)?;
    }
    let changes = if question.dry_run { behind } else { count(&rows, UpdateState::Updated) };
    if question.json {
        let document = ExternalsUpdateDocument::new(question.dry_run, changes, &rows);
        output::json(&document, console.is_read_by_people())?;
    } else {
        output::text(&text(&rows))?;
    }
    for row in &rows {
        if let Some(error) = &row.error {
            console.failure(&format!("{}: {error}", row.name), Some(&error.hint()));
        }
    }
    if question.dry_run {
        console.say("nothing was done");
    } else if changes > 0 && externals.is_in_repository() {
        console.say("next: git add third_party && git commit");
    }
    Ok(rows.iter().find_map(|row| Some(row.error.as_ref()?.class())).map_or(Exit::Fine, exit_of_externals))
}

fn count(rows: &[UpdateRow], state: UpdateState) -> usize {
    rows.iter().filter(|row| row.state == state).count()
}

fn text(rows: &[UpdateRow]) -> String {
    if rows.is_empty() {
        return format!("{LOCK} lists no reference sources\n");
    }
    let head = ["SOURCE", "KIND", "FOLLOWS", "STATE", "COMMIT"].map(str::to_owned);
    let row = |row: &UpdateRow| {
        let commit = match &row.to {
            Some(to) if *to != row.from => format!("{} -> {}", short(&row.from), short(to)),
            _ => short(&row.from).to_owned(),
        };
        let follows = match row.state {
            UpdateState::Fixed => "a commit".to_owned(),
            _ => row.revision.to_string(),
        };
        [row.name.to_string(), row.kind.to_string(), follows, state(row.state).to_owned(), commit]
    };
    let rows: Vec<[String; 5]> = std::iter::once(head).chain(rows.iter().map(row)).collect();
    text::aligned(&rows)
}

fn short(commit: &ObjectId) -> &str {
    commit.as_str().get(..12).unwrap_or(commit.as_str())
}

fn state(state: UpdateState) -> &'static str {
    match state {
        UpdateState::Current => "up to date",
        UpdateState::Fixed => "pinned",
        UpdateState::Behind => "behind",
        UpdateState::Updated => "updated",
        UpdateState::Failed => "failed",
    }
}
