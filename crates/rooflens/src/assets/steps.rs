//! A plan in words.

use std::path::Path;

use indicatif::DecimalBytes;
use rooflens_core::text;
use rooflens_project::assets::{Absence, Action, AssetStep, Consent};

/// A line for each step: what, where, and how.
pub fn text<'a>(steps: impl IntoIterator<Item = &'a AssetStep>) -> String {
    let rows: Vec<[String; 3]> = steps
        .into_iter()
        .map(|step| [verb(step).to_owned(), path(step).display().to_string(), detail(step)])
        .collect();
    text::aligned(&rows)
}

/// Whether git would track what a step makes. Such a step is never done: what is linked from outside
/// stays out of the project's history.
pub fn is_tracked(step: &AssetStep) -> bool {
    step.consent.contains(&Consent::GitWouldTrack)
}

/// Whether a step will change something.
pub fn is_change(step: &AssetStep) -> bool {
    step.action.is_change() && !is_tracked(step)
}

/// Where a step does something.
pub fn path(step: &AssetStep) -> &Path {
    match &step.action {
        Action::Link { link, .. } | Action::KeepLink { link, .. } | Action::Relink { link, .. } => link,
        Action::Extract { into, .. } | Action::KeepExtracted { into } => into,
        Action::MissingSource { path, .. } | Action::Conflict { path, .. } | Action::Refused { path, .. } => {
            path
        }
    }
}

fn verb(step: &AssetStep) -> &'static str {
    match &step.action {
        _ if is_tracked(step) => "refused",
        Action::Link { .. } => "link",
        Action::Relink { .. } => "relink",
        Action::Extract { .. } => "unpack",
        Action::KeepLink { .. } | Action::KeepExtracted { .. } => "keep",
        Action::MissingSource { .. } => "missing",
        Action::Conflict { .. } => "blocked",
        Action::Refused { .. } => "refused",
    }
}

/// What there is to say of a step beside its place.
pub fn detail(step: &AssetStep) -> String {
    match &step.action {
        _ if is_tracked(step) => "git would track it".to_owned(),
        Action::Link { to, .. } | Action::KeepLink { to, .. } => format!("-> {}", to.display()),
        Action::Relink { from, to, .. } => format!("-> {}, now -> {}", to.display(), from.display()),
        Action::Extract { archive, archive_bytes, .. } => {
            format!("from {} ({})", archive.display(), DecimalBytes(*archive_bytes))
        }
        Action::KeepExtracted { .. } => "unpacked already".to_owned(),
        Action::MissingSource { absence, looked_at, .. } => absent(absence, looked_at),
        Action::Conflict { conflict, .. } => conflict.to_string(),
        Action::Refused { error, .. } => error.message.clone(),
    }
}

/// Why a source is not there, and where it was looked for.
pub fn absent(absence: &Absence, looked_at: &[impl AsRef<Path>]) -> String {
    let places: Vec<String> = looked_at.iter().map(|path| path.as_ref().display().to_string()).collect();
    match (absence, places.is_empty()) {
        (_, true) => absence.to_string(),
        (Absence::NotThere, false) => format!("there is no {}", places.join(", nor ")),
        (_, false) => format!("{absence}: {}", places.join(", ")),
    }
}
