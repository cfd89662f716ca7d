//! Does what a plan says, step by step, and decides nothing.

use std::fs;
use std::io;
use std::path::Path;

use super::listing::Listing;
use super::lock::{Pin, write_whole};
use super::project::Externals;
use super::{ExternalsError, SyncStep, read_only, remote};
use crate::git::Git;

impl Externals {
    /// Applies a plan for a source. Where a step fails, what was being built is removed again; a mark
    /// that its place is unfinished stays, and the next sync begins anew.
    pub(super) fn apply(&self, pin: &Pin, steps: &[SyncStep]) -> Result<(), ExternalsError> {
        for step in steps {
            if let Err(error) = self.apply_step(pin, step) {
                // The first failure is the one to tell; a remnant is noticed by the next sync.
                drop(remove(&self.path(&pin.staging())));
                return Err(error);
            }
        }
        Ok(())
    }

    fn apply_step(&self, pin: &Pin, step: &SyncStep) -> Result<(), ExternalsError> {
        match step {
            SyncStep::Git { folder, arguments, protocols: None } => {
                self.git(folder).run(arguments)?;
                Ok(())
            }
            SyncStep::Git { folder, arguments, protocols: Some(protocols) } => {
                let answer = self.git(folder).reaching(protocols.clone()).run(arguments);
                answer.map(drop).map_err(|error| remote::fetch_failed(&pin.url, pin.commit.as_str(), error))
            }
            SyncStep::CopyTree { from, into, tree } => {
                let wanted = format!("{tree}\n");
                let pack = ["pack-objects", "--quiet", "--revs", "--stdout"];
                let pack = self.git(from).run_with_input(&pack, wanted.as_bytes())?;
                self.git(into).run_with_input(&["unpack-objects", "-q"], &pack)?;
                Ok(())
            }
            SyncStep::CheckCommit { folder, commit, tree } => {
                let found =
                    self.git(folder).line(&["rev-parse", "--verify", &format!("{commit}^{{tree}}")])?;
                expect_tree(pin, tree.as_str(), &found)
            }
            SyncStep::CheckFiles { folder, tree, note, commit } => {
                let git = Git::at(&self.root);
                let listing = Listing::of_folder(&git, &self.path(folder))?;
                expect_tree(pin, tree.as_str(), listing.tree(&git)?.as_str())?;
                write_whole(&self.path(note), &format!("{commit}\n{}", listing.to_text()))
            }
            SyncStep::MakeFolder { path } => {
                let path = self.path(path);
                fs::create_dir_all(&path).map_err(ExternalsError::io(&path))
            }
            SyncStep::MarkUnfinished { path } => write_whole(&self.path(path), ""),
            SyncStep::Remove { path } => remove(&self.path(path)),
            SyncStep::RemoveStore { path } => remove(path),
            SyncStep::CopyFile { from, to } => copy(from, &self.path(to)),
            SyncStep::Replace { built, place } => {
                replace(&self.path(built), &self.path(place), &self.path(&pin.beside("partial-old")))
            }
            SyncStep::Link { place, to } => {
                let place = self.path(place);
                std::os::unix::fs::symlink(to, &place).map_err(ExternalsError::io(&place))
            }
            SyncStep::MarkReadOnly { path } => read_only::mark(&self.path(path)),
        }
    }

    /// Git in a folder of the plan: a source's own repository, or that around the project.
    fn git(&self, folder: &str) -> Git {
        let is_own = folder.starts_with("third_party/");
        if is_own { self.git_in(folder) } else { Git::at(&self.path(folder)) }
    }
}

fn expect_tree(pin: &Pin, expected: &str, found: &str) -> Result<(), ExternalsError> {
    if expected == found {
        return Ok(());
    }
    Err(ExternalsError::ContentDiffers {
        name: pin.name.as_str().to_owned(),
        expected: expected.to_owned(),
        found: found.to_owned(),
    })
}

/// Removes whatever stands at a path; a link is removed, not followed.
pub(super) fn remove(path: &Path) -> Result<(), ExternalsError> {
    let removed = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(ExternalsError::io(path)(error)),
        _ => Ok(()),
    }
}

/// Copies the content alone: no link, no rights.
fn copy(from: &Path, to: &Path) -> Result<(), ExternalsError> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(ExternalsError::io(folder))?;
    }
    let mut source = fs::File::open(from).map_err(ExternalsError::io(from))?;
    let mut target = fs::File::create_new(to).map_err(ExternalsError::io(to))?;
    io::copy(&mut source, &mut target).map_err(ExternalsError::io(to))?;
    Ok(())
}

/// Puts what was built in its place. The old one is away only between two renames.
fn replace(built: &Path, place: &Path, old: &Path) -> Result<(), ExternalsError> {
    remove(old)?;
    let has_old = fs::symlink_metadata(place).is_ok();
    if has_old {
        fs::rename(place, old).map_err(ExternalsError::io(place))?;
    }
    if let Err(error) = fs::rename(built, place) {
        if has_old {
            fs::rename(old, place).map_err(ExternalsError::io(place))?;
        }
        return Err(ExternalsError::io(place)(error));
    }
    remove(old)
}
