//! Comparing what a project needs with what is there.

use std::path::{Path, PathBuf};

use rooflens_compose::EnvironmentLookup;

use super::archive::Record;
use super::bootstrap::{Asset, Bootstrap, Extraction};
use super::error::AssetError;
use super::files::{FileKind, FileSystem};
use super::project::Project;
use super::roots::Roots;
use super::source::{Absence, Located, locate};
use super::step::{Action, AssetPlan, AssetStep, Conflict, Consent};
use super::tracking::{Ignored, Tracking, ignore_line};

/// What planning may know of the machine. Everything is handed in.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// The file system.
    pub files: &'a dyn FileSystem,
    /// Environment variables.
    pub environment: &'a EnvironmentLookup,
    /// What git tracks.
    pub tracking: &'a dyn Tracking,
}

/// Compares what a project needs with what is there. Reads only.
#[must_use]
pub fn plan(project: &Project, bootstrap: &Bootstrap, around: &Surroundings<'_>) -> AssetPlan {
    let roots = Roots { bootstrap, environment: around.environment, project: project.root() };
    let mut steps = Vec::new();
    for asset in &bootstrap.assets {
        let located = locate(asset, &roots, around.files);
        let planner = Planner { project, asset, located: &located, around };
        steps.push(planner.step(planner.link()));
        steps.extend(asset.extract.iter().map(|extraction| planner.step(planner.extraction(extraction))));
    }
    AssetPlan { schema_version: super::SCHEMA_VERSION, steps }
}

struct Planner<'a> {
    project: &'a Project,
    asset: &'a Asset,
    located: &'a Located,
    around: &'a Surroundings<'a>,
}

impl Planner<'_> {
    fn step(&self, action: Action) -> AssetStep {
        let would_track = |path: &Path, is_folder| {
            self.around.tracking.ignored(self.project.root(), path, is_folder) == Ignored::No
        };
        let (kind, tracked) = match &action {
            Action::Link { link, .. } => (None, would_track(link, false)),
            Action::Relink { link, .. } => (Some(Consent::ReplacesLink), would_track(link, false)),
            Action::Extract { into, .. } => (Some(Consent::Extracts), would_track(into, true)),
            _ => (None, false),
        };
        let consent = kind.into_iter().chain(tracked.then_some(Consent::GitWouldTrack)).collect();
        let hint = match &action {
            Action::MissingSource { absence, .. } => absence.hint(self.asset),
            Action::Conflict { path, .. } => Some(format!("move '{}' away and run again", path.display())),
            Action::Refused { error, .. } => error.hint.clone(),
            Action::Link { link: path, .. }
            | Action::Relink { link: path, .. }
            | Action::Extract { into: path, .. }
                if tracked =>
            {
                Some(format!("add this line to .gitignore: {}", ignore_line(path)))
            }
            _ => None,
        };
        AssetStep { asset: self.asset.name.clone(), kind: self.asset.kind, action, consent, hint }
    }

    fn link(&self) -> Action {
        let link = self.asset.target.clone();
        let files = self.around.files;
        let place = match self.project.inside(&link, files) {
            Ok(place) => place,
            Err(error) => return Action::Refused { path: link, error: error.report() },
        };
        let found = match files.kind(&place) {
            Ok(found) => found,
            Err(error) => return unreadable(link, &place, error),
        };
        if !matches!(found, FileKind::Missing | FileKind::Link) {
            return Action::Conflict { path: link, found, conflict: Conflict::Real };
        }
        let to = match self.located {
            Located::At { path, .. } => path.clone(),
            Located::Nowhere { absence, looked_at } => return missing(link, absence, looked_at),
        };
        if self.is_nested(&place, &to) {
            return Action::Conflict { path: link, found, conflict: Conflict::Nested };
        }
        if found == FileKind::Missing {
            return Action::Link { link, to };
        }
        let from = match files.link_text(&place) {
            Ok(from) => from,
            Err(error) => return unreadable(link, &place, error),
        };
        // Two paths may lead to one place, by a mount or a link of the storage's own.
        let is_same = from == to
            || matches!((files.resolved(&place), files.resolved(&to)), (Ok(now), Ok(then)) if now == then);
        if is_same { Action::KeepLink { link, to: from } } else { Action::Relink { link, from, to } }
    }

    /// Whether a link here would lead to itself or to a folder around it.
    fn is_nested(&self, place: &Path, to: &Path) -> bool {
        match self.around.files.resolved(to) {
            Ok(to) => to.starts_with(place) || place.starts_with(&to),
            Err(_) => to.starts_with(place),
        }
    }

    fn extraction(&self, extraction: &Extraction) -> Action {
        let into = extraction.into.clone();
        let files = self.around.files;
        let place = match self.project.inside(&into, files) {
            Ok(place) => place,
            Err(error) => return Action::Refused { path: into, error: error.report() },
        };
        let found = match files.kind(&place) {
            Ok(found) => found,
            Err(error) => return unreadable(into, &place, error),
        };
        let source = match self.located {
            Located::At { path, .. } => Ok(path.join(&extraction.archive)),
            Located::Nowhere { absence, looked_at } => Err((absence, looked_at)),
        };
        let archive_bytes = source.as_ref().ok().and_then(|archive| match files.kind_behind(archive) {
            Ok(FileKind::File { bytes }) => Some(bytes),
            _ => None,
        });
        match found {
            FileKind::Missing => {}
            FileKind::Folder => {
                let conflict = match Record::read(&place, files) {
                    // Without the archive there is nothing to compare with.
                    Some(record)
                        if archive_bytes.is_none_or(|bytes| record.is_of(&extraction.archive, bytes)) =>
                    {
                        return Action::KeepExtracted { into };
                    }
                    Some(_) => Conflict::OtherArchive,
                    None => Conflict::NotExtracted,
                };
                return Action::Conflict { path: into, found, conflict };
            }
            found => return Action::Conflict { path: into, found, conflict: Conflict::Real },
        }
        match (source, archive_bytes) {
            (Ok(archive), Some(archive_bytes)) => {
                Action::Extract { archive, archive_bytes, into, limits: extraction.limits }
            }
            (Ok(archive), None) => missing(into, &Absence::NotThere, &[archive]),
            (Err((absence, looked_at)), _) => missing(into, absence, looked_at),
        }
    }
}

fn missing(path: PathBuf, absence: &Absence, looked_at: &[PathBuf]) -> Action {
    Action::MissingSource { path, absence: absence.clone(), looked_at: looked_at.to_vec() }
}

fn unreadable(path: PathBuf, place: &Path, error: std::io::Error) -> Action {
    Action::Refused { path, error: AssetError::unreadable(place, error).report() }
}
