//! `rooflens externals add`: pins a source and fetches it.

use std::path::Path;

use rooflens_core::document::externals::ExternalsAddDocument;
use rooflens_core::exit::Exit;
use rooflens_core::text::counted;
use rooflens_project::externals::{AddRequest, Added, Externals, LockedSource};

use super::sync::outcome;
use super::{pinned, steps};
use crate::console::Console;
use crate::error::CliError;
use crate::{output, progress};

/// The address as the lock shall have it: a folder of this machine by its whole path.
pub fn address(typed: String) -> String {
    let folder = Path::new(&typed).is_dir().then(|| std::fs::canonicalize(&typed).ok()).flatten();
    folder.and_then(|folder| folder.into_os_string().into_string().ok()).unwrap_or(typed)
}

/// Pins and fetches, or says what would be done.
pub fn answer(
    externals: &Externals,
    request: &AddRequest,
    json: bool,
    console: &Console,
) -> Result<Exit, CliError> {
    let what = format!("fetching {}", request.url);
    let added = progress::wait(console, &what, || externals.add(request)).map_err(CliError::Externals)?;
    if json {
        output::json(&ExternalsAddDocument::from(&added), console.is_read_by_people())?;
    } else {
        output::text(&text(&added))?;
    }
    remark(&added, externals.is_in_repository(), console);
    Ok(Exit::Fine)
}

fn text(added: &Added) -> String {
    let LockedSource { pin, licences, .. } = &added.source;
    let at = pinned(&pin.revision, &pin.commit);
    let done = outcome(added.synced.outcome, added.dry_run);
    let licences = if licences.is_empty() { "none found".to_owned() } else { licences.join(", ") };
    let plan = if added.dry_run { steps(&added.synced.steps) } else { String::new() };
    format!(
        "{}  {}  {at}  {done}  {}\n  from {}\n  licence {licences}\n{plan}",
        pin.name,
        pin.kind,
        pin.place(),
        pin.url,
    )
}

fn remark(added: &Added, in_repository: bool, console: &Console) {
    let pin = &added.source.pin;
    if let (true, Some(previous)) = (added.revision_moved, &added.previous) {
        let was = pinned(&previous.pin.revision, &previous.pin.commit);
        console.say(&format!("{}: it was at {was}", pin.name));
    }
    if added.source.licences.is_empty() {
        console.warn(&format!("{}: no licence file found; ask before you copy from it", pin.name));
    }
    if !added.submodules.is_empty() {
        console.warn(&format!(
            "{}: its own submodules are not fetched: {}",
            pin.name,
            added.submodules.join(", ")
        ));
    }
    if !added.left_out.is_empty() {
        let paths: Vec<&str> = added.left_out.iter().take(5).map(|file| file.path.as_str()).collect();
        let more = if added.left_out.len() > paths.len() { ", …" } else { "" };
        let files = counted(added.left_out.len(), "file");
        console.say(&format!("{}: {files} skipped, not source files: {}{more}", pin.name, paths.join(", ")));
    }
    if added.dry_run {
        console.say("nothing was done");
    } else if in_repository {
        console.say("next: git add third_party && git commit");
    }
}
