//! `rooflens externals`: one function per subcommand, from the request to what is shown.

use std::path::Path;

use rooflens_collect::project::ProjectError;
use rooflens_collect::project::externals::{
    AddRequest, Added, Condition, Externals, HookAction, SourceKind, SourceStatus, StagedReason,
    StatusReport, SyncOutcome, SyncReport, SyncRequest, Synced, UpdateRow, UpdateState,
};
use rooflens_collect::project::hub;
use rooflens_core::document::SchemaTag;
use rooflens_core::document::externals::{
    ExternalsAddDocument, ExternalsGuardDocument, ExternalsStagedDocument, ExternalsStatusDocument,
    ExternalsSyncDocument, ExternalsUpdateDocument,
};
use rooflens_core::exit::Exit;
use rooflens_core::text;

use crate::assets::environment;
use crate::console::Console;
use crate::error::{CliError, exit_of};
use crate::{output, progress};

const NO_SOURCES: &str = "third_party/externals.lock lists no reference sources\n";

/// The reference sources of a project, with the hub caches of this machine.
pub(crate) fn open(root: &Path) -> Result<Externals, CliError> {
    let project = std::fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
    Ok(Externals::open(root, hub::caches(&environment(), &project, None))?)
}

/// The address as the lock needs it: a folder of this machine by its absolute path.
pub(crate) fn address(typed: String) -> String {
    let folder = Path::new(&typed).is_dir().then(|| std::fs::canonicalize(&typed).ok()).flatten();
    folder.and_then(|folder| folder.into_os_string().into_string().ok()).unwrap_or(typed)
}

fn pinned(revision: &str, commit: &str) -> String {
    if revision == commit { short(commit).to_owned() } else { format!("{revision} ({})", short(commit)) }
}

fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}

fn lines_of(steps: &[String]) -> String {
    steps.iter().map(|step| format!("  {step}\n")).collect()
}

/// Prints the failures of sources. The first one gives the exit code.
fn show_failures<'a>(
    rows: impl Iterator<Item = (&'a str, Option<&'a ProjectError>)>,
    console: &Console,
) -> Exit {
    let mut exit = Exit::Fine;
    for (name, error) in rows.filter_map(|(name, error)| Some((name, error?))) {
        console.failure(&format!("{name}: {error}"), error.hint.as_deref());
        exit = if exit == Exit::Fine { exit_of(error.class) } else { exit };
    }
    exit
}

/// Pins a source and fetches it, or shows what would be done.
pub(crate) fn add(
    externals: &Externals,
    request: &AddRequest,
    json: bool,
    console: &Console,
) -> Result<Exit, CliError> {
    let added = progress::wait(console, &format!("fetching {}", request.url), || externals.add(request))?;
    let pin = &added.source;
    if json {
        let document = ExternalsAddDocument { schema: SchemaTag::new("externals-add"), added: added.clone() };
        output::json(&document)?;
    } else {
        let done = outcome(added.synced.outcome, added.dry_run);
        let licenses =
            if pin.licences.is_empty() { "none found".to_owned() } else { pin.licences.join(", ") };
        let plan = if added.dry_run { lines_of(&added.synced.steps) } else { String::new() };
        let (kind, at, place) = (pin.kind.name(), pinned(&pin.revision, &pin.commit), pin.place());
        output::text(&format!(
            "{}  {kind}  {at}  {done}  {place}\n  from {}\n  licence {licenses}\n{plan}",
            pin.name, pin.url
        ))?;
    }
    remark(&added, externals.is_in_repository(), console);
    Ok(Exit::Fine)
}

fn remark(added: &Added, in_repository: bool, console: &Console) {
    let name = &added.source.name;
    if let (true, Some(previous)) = (added.revision_moved, &added.previous) {
        console.say(&format!("{name}: it was at {}", pinned(&previous.revision, &previous.commit)));
    }
    if added.source.licences.is_empty() {
        console.warn(&format!("{name}: no license file found; ask before you copy from it"));
    }
    if !added.submodules.is_empty() {
        console.warn(&format!("{name}: its own submodules are not fetched: {}", added.submodules.join(", ")));
    }
    if !added.left_out.is_empty() {
        let paths: Vec<&str> = added.left_out.iter().take(5).map(|file| file.path.as_str()).collect();
        let more = if added.left_out.len() > paths.len() { ", …" } else { "" };
        let files = text::counted(added.left_out.len(), "file");
        console.say(&format!("{name}: {files} skipped, not source files: {}{more}", paths.join(", ")));
    }
    if added.dry_run {
        console.say("nothing was done");
    } else if in_repository {
        console.say("next: git add third_party && git commit");
    }
}

/// Makes the sources equal to the lock. A source that fails does not stop the others.
pub(crate) fn sync(
    externals: &Externals,
    request: &SyncRequest,
    json: bool,
    console: &Console,
) -> Result<Exit, CliError> {
    let report = progress::wait(console, "fetching reference sources", || externals.sync(request))?;
    let document = ExternalsSyncDocument { schema: SchemaTag::new("externals-sync"), report };
    output::answer(json, &document, || sync_text(&document.report))?;
    let report = &document.report;
    let rows = report.sources.iter().map(|source| (source.name.as_str(), source.error.as_ref()));
    let exit = show_failures(rows, console);
    if report.dry_run {
        console.say("nothing was done");
    }
    Ok(exit)
}

fn sync_text(report: &SyncReport) -> String {
    if report.sources.is_empty() {
        return NO_SOURCES.to_owned();
    }
    let row = |source: &Synced| {
        let outcome = outcome(source.outcome, report.dry_run).to_owned();
        [source.name.clone(), source.kind.name().to_owned(), outcome, source.place.clone()]
    };
    let rows: Vec<[String; 4]> = report.sources.iter().map(row).collect();
    let below = |source: &Synced| if report.dry_run { lines_of(&source.steps) } else { String::new() };
    let table = text::aligned(&rows);
    table.lines().zip(&report.sources).map(|(line, source)| format!("{line}\n{}", below(source))).collect()
}

fn outcome(outcome: SyncOutcome, dry_run: bool) -> &'static str {
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

pub(crate) struct UpdateRequest {
    /// The sources; all if empty.
    pub(crate) names: Vec<String>,
    /// Change nothing.
    pub(crate) dry_run: bool,
    /// Do it without asking.
    pub(crate) yes: bool,
    pub(crate) json: bool,
}

/// Shows what is newer, asks, and pins it. A source that fails does not stop the others.
pub(crate) fn update(
    externals: &Externals,
    request: &UpdateRequest,
    console: &Console,
) -> Result<Exit, CliError> {
    let look = || externals.newest(&request.names);
    let mut rows = progress::wait(console, "asking for newer commits", look)?;
    let count = |rows: &[UpdateRow], state| rows.iter().filter(|row| row.state == state).count();
    let behind = count(&rows, UpdateState::Behind);
    if behind > 0 && !request.dry_run {
        let question = format!("Update {}?", text::counted(behind, "source"));
        if !console.agrees(request.yes, behind, &update_text(&rows), &question)? {
            console.say("nothing was changed");
            return Ok(Exit::Gate);
        }
        rows = progress::wait(console, "fetching reference sources", || externals.update(rows))?;
    }
    let changes = if request.dry_run { behind } else { count(&rows, UpdateState::Updated) };
    let (schema, dry_run) = (SchemaTag::new("externals-update"), request.dry_run);
    let document = ExternalsUpdateDocument { schema, dry_run, changes, sources: rows };
    output::answer(request.json, &document, || update_text(&document.sources))?;
    let exit =
        show_failures(document.sources.iter().map(|row| (row.name.as_str(), row.error.as_ref())), console);
    if request.dry_run {
        console.say("nothing was done");
    } else if changes > 0 && externals.is_in_repository() {
        console.say("next: git add third_party && git commit");
    }
    Ok(exit)
}

fn update_text(rows: &[UpdateRow]) -> String {
    if rows.is_empty() {
        return NO_SOURCES.to_owned();
    }
    let head = ["SOURCE", "KIND", "FOLLOWS", "STATE", "COMMIT"].map(str::to_owned);
    let row = |row: &UpdateRow| {
        let commit = match &row.to {
            Some(to) if *to != row.from => format!("{} -> {}", short(&row.from), short(to)),
            _ => short(&row.from).to_owned(),
        };
        let (follows, state) = match row.state {
            UpdateState::Fixed => ("a commit", "pinned"),
            UpdateState::Current => (row.revision.as_str(), "up to date"),
            UpdateState::Behind => (row.revision.as_str(), "behind"),
            UpdateState::Updated => (row.revision.as_str(), "updated"),
            UpdateState::Failed => (row.revision.as_str(), "failed"),
        };
        [row.name.clone(), row.kind.name().to_owned(), follows.to_owned(), state.to_owned(), commit]
    };
    let rows: Vec<[String; 5]> = std::iter::once(head).chain(rows.iter().map(row)).collect();
    text::aligned(&rows)
}

/// Shows how each source compares with the lock. A source that differs is no failure.
pub(crate) fn status(externals: &Externals, json: bool, console: &Console) -> Result<Exit, CliError> {
    let report = externals.status()?;
    if json {
        let document = ExternalsStatusDocument { schema: SchemaTag::new("externals-status"), report };
        output::json(&document)?;
        return Ok(Exit::Fine);
    }
    if report.sources.is_empty() {
        output::text(NO_SOURCES)?;
    } else {
        let head = ["SOURCE", "KIND", "PINNED AT", "STATE", "WHERE"].map(str::to_owned);
        let row = |source: &SourceStatus| {
            let at = pinned(&source.revision, &source.commit);
            let (kind, state) = (source.kind.name(), source.condition.describe());
            [source.name.clone(), kind.to_owned(), at, state.to_owned(), source.place.clone()]
        };
        let rows: Vec<[String; 5]> = std::iter::once(head).chain(report.sources.iter().map(row)).collect();
        output::text(&text::aligned(&rows))?;
    }
    advise(&report, console);
    Ok(Exit::Fine)
}

fn advise(report: &StatusReport, console: &Console) {
    for source in &report.sources {
        if let Some((first, others)) = source.edits.split_first() {
            let more = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
            let then = match source.kind {
                SourceKind::Link => " in the linked checkout",
                _ => "; save what you need elsewhere",
            };
            console.say(&format!("{}: {first}{more} edited{then}", source.name));
        }
        if source.condition == Condition::InSync {
            for license in source.licences.iter().filter(|license| !license.present) {
                console.warn(&format!("{}: its license file {} is missing", source.name, license.path));
            }
        }
    }
    for place in &report.unlisted {
        console.warn(&format!("{place} is not in the lock; move it away, or pin it: rooflens externals add"));
    }
    if report.sources.iter().any(|source| source.condition == Condition::Edited) {
        console.say("next: rooflens externals sync --force, which discards the edits");
    } else if !report.in_sync {
        console.say("next: rooflens externals sync");
    }
}

/// Lists what a commit would change of sources against the lock. The pre-commit hook runs this: the exit code is 0 only
/// if the commit may go on.
pub(crate) fn staged(externals: &Externals, json: bool, console: &Console) -> Result<Exit, CliError> {
    let edits = externals.staged_edits()?;
    let count = edits.len();
    if json {
        let document = ExternalsStagedDocument { schema: SchemaTag::new("externals-staged"), edits };
        output::json(&document)?;
    } else {
        let why = |reason| match reason {
            StagedReason::Edited => "differs from the pinned commit",
            StagedReason::Unlisted => "belongs to no source in the staged lock",
            StagedReason::NotTracked => "is a separate clone or a link, which is not tracked",
        };
        let rows: Vec<[String; 2]> =
            edits.iter().map(|edit| [edit.path.clone(), why(edit.reason).to_owned()]).collect();
        output::text(&text::aligned(&rows))?;
    }
    if count == 0 {
        return Ok(Exit::Fine);
    }
    let paths = text::counted(count, "path");
    console.failure(
        &format!("{paths} staged that the lock does not allow: reference sources must not be edited"),
        Some(
            "git restore --staged PATH unstages one; if the lock changed, stage it too: git add \
             third_party/externals.lock",
        ),
    );
    Ok(Exit::Gate)
}

pub(crate) fn guard(externals: &Externals, json: bool, console: &Console) -> Result<Exit, CliError> {
    let report = externals.guard()?;
    if json {
        let document = ExternalsGuardDocument { schema: SchemaTag::new("externals-guard"), report };
        output::json(&document)?;
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
