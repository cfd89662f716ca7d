//! `rooflens externals status`: how each source stands against the lock.

use rooflens_core::document::externals::ExternalsStatusDocument;
use rooflens_core::exit::Exit;
use rooflens_core::text;
use rooflens_project::externals::{Condition, Externals, SourceKind, SourceStatus, StatusReport};

use super::{LOCK, pinned};
use crate::console::Console;
use crate::error::CliError;
use crate::output;

/// Answers. A source that is not as the lock says is told, and is no failure: the code is 0.
pub fn answer(externals: &Externals, json: bool, console: &Console) -> Result<Exit, CliError> {
    let report = externals.status().map_err(CliError::Externals)?;
    if json {
        output::json(&ExternalsStatusDocument::from(&report), console.is_read_by_people())?;
        return Ok(Exit::Fine);
    }
    output::text(&text(&report))?;
    advise(&report, console);
    Ok(Exit::Fine)
}

fn text(report: &StatusReport) -> String {
    if report.sources.is_empty() {
        return format!("{LOCK} lists no reference sources\n");
    }
    let head = ["SOURCE", "KIND", "PINNED AT", "STATE", "WHERE"].map(str::to_owned);
    let row = |source: &SourceStatus| {
        [
            source.name.to_string(),
            source.kind.to_string(),
            pinned(&source.revision, &source.commit),
            source.condition.describe().to_owned(),
            source.place.clone(),
        ]
    };
    let rows: Vec<[String; 5]> = std::iter::once(head).chain(report.sources.iter().map(row)).collect();
    text::aligned(&rows)
}

fn advise(report: &StatusReport, console: &Console) {
    for source in &report.sources {
        if let Some(first) = source.edits.first() {
            let more = match source.edits.len() - 1 {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let then = match source.kind {
                SourceKind::Link => " in the linked checkout",
                _ => "; save what you need elsewhere",
            };
            console.say(&format!("{}: {first}{more} edited{then}", source.name));
        }
        if source.condition == Condition::InSync {
            for licence in source.licences.iter().filter(|licence| !licence.present) {
                console.warn(&format!("{}: its licence file {} is missing", source.name, licence.path));
            }
        }
    }
    for place in &report.unlisted {
        console.warn(&format!("{place} is not in the lock; move it away, or pin it: rooflens externals add"));
    }
    let edited = report.sources.iter().any(|source| source.condition == Condition::Edited);
    if edited {
        console.say("next: rooflens externals sync --force, which discards the edits");
    } else if !report.in_sync {
        console.say("next: rooflens externals sync");
    }
}
