//! The files that come out of an archive.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::Extracted;
use super::budget::Budget;
use super::entry_name::{entry_path, stays_inside};
use super::problem::{ArchiveProblem, Refusal};
use crate::assets::watch::{AssetObserver, StepProgress};

/// The longest text of a link.
pub(super) const MAX_LINK_BYTES: u64 = 4096;
/// How often the onlooker is told.
const PROGRESS_BYTES: u64 = 1 << 20;

/// Writes entries below a folder that nobody else writes to.
///
/// While it is filled there is no link in it, so no path in it can lead out; links are made at the
/// end.
pub(super) struct Tree<'a> {
    root: &'a Path,
    budget: Budget,
    links: Vec<(PathBuf, String)>,
    watch: &'a mut dyn AssetObserver,
    shown_bytes: u64,
}

impl<'a> Tree<'a> {
    pub(super) fn new(root: &'a Path, budget: Budget, watch: &'a mut dyn AssetObserver) -> Self {
        Self { root, budget, links: Vec::new(), watch, shown_bytes: 0 }
    }

    pub(super) fn add_folder(&mut self, name: &str) -> Result<(), Refusal> {
        let path = self.enter(name)?;
        self.make_folders(name, &path)
    }

    pub(super) fn add_file(&mut self, name: &str, content: &mut dyn Read) -> Result<u64, Refusal> {
        let path = self.enter(name)?;
        let mut file = self.create(name, &path)?;
        let mut buffer = vec![0; 64 << 10];
        let mut written = 0;
        loop {
            let count = match content.read(&mut buffer) {
                Ok(0) => return Ok(written),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(Refusal::malformed(Some(name), error)),
            };
            let bytes = u64::try_from(count).unwrap_or(u64::MAX);
            self.budget.add_bytes(bytes).map_err(Refusal::whole)?;
            file.write_all(&buffer[..count]).map_err(|error| Refusal::unwritable(name, &error))?;
            written += bytes;
            self.show_progress()?;
        }
    }

    pub(super) fn add_link(&mut self, name: &str, target: &str) -> Result<(), Refusal> {
        let path = self.enter(name)?;
        let depth = path.components().count().saturating_sub(1);
        if !stays_inside(target, depth) {
            return Err(Refusal::entry(name, link_outside(target)));
        }
        // A file holds the place, so that no later entry can take it or lie below it.
        self.create(name, &path)?;
        self.links.push((path, target.to_owned()));
        Ok(())
    }

    /// Makes the links, and looks where each of them leads.
    pub(super) fn finish(self) -> Result<Extracted, Refusal> {
        for (path, target) in &self.links {
            let place = self.root.join(path);
            fs::remove_file(&place)
                .and_then(|()| symlink(target, &place))
                .map_err(|error| Refusal::unwritable(&path.to_string_lossy(), &error))?;
        }
        let root = self.root.canonicalize().map_err(|error| Refusal::unwritable("", &error))?;
        for (path, target) in &self.links {
            // One that leads nowhere or in a circle is of no use and may lead somewhere later.
            let is_inside = self.root.join(path).canonicalize().is_ok_and(|to| to.starts_with(&root));
            if !is_inside {
                return Err(Refusal::entry(&path.to_string_lossy(), link_outside(target)));
            }
        }
        Ok(Extracted { entries: self.budget.entries, bytes: self.budget.bytes })
    }

    /// Counts an entry and checks its name.
    fn enter(&mut self, name: &str) -> Result<PathBuf, Refusal> {
        self.budget.add_entry().map_err(Refusal::whole)?;
        if self.watch.should_stop() {
            return Err(Refusal::whole(ArchiveProblem::Stopped));
        }
        entry_path(name).map_err(|problem| Refusal::entry(name, problem))
    }

    fn create(&self, name: &str, path: &Path) -> Result<File, Refusal> {
        if path.as_os_str().is_empty() {
            return Err(Refusal::entry(name, ArchiveProblem::OddName));
        }
        if let Some(parent) = path.parent() {
            self.make_folders(name, parent)?;
        }
        let file = OpenOptions::new().write(true).create_new(true).open(self.root.join(path));
        file.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Refusal::entry(name, ArchiveProblem::Duplicate),
            _ => Refusal::unwritable(name, &error),
        })
    }

    fn make_folders(&self, name: &str, path: &Path) -> Result<(), Refusal> {
        fs::create_dir_all(self.root.join(path)).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
                Refusal::entry(name, ArchiveProblem::ParentNotFolder)
            }
            _ => Refusal::unwritable(name, &error),
        })
    }

    fn show_progress(&mut self) -> Result<(), Refusal> {
        if self.budget.bytes - self.shown_bytes < PROGRESS_BYTES {
            return Ok(());
        }
        self.shown_bytes = self.budget.bytes;
        self.watch.goes_on(StepProgress { bytes: self.budget.bytes, total_bytes: None });
        if self.watch.should_stop() {
            return Err(Refusal::whole(ArchiveProblem::Stopped));
        }
        Ok(())
    }
}

fn link_outside(target: &str) -> ArchiveProblem {
    let target = target.chars().take(200).flat_map(char::escape_debug).collect();
    ArchiveProblem::LinkOutside { target }
}
