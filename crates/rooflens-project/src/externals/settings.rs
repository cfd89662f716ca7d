//! What git must know about `third_party`, in marked blocks of `.gitignore` and `.gitattributes` there.

use std::fs;
use std::io;

use super::lock::{Lock, write_whole};
use super::project::Externals;
use super::{ExternalsError, SourceKind};
use crate::git::literal;
use crate::marked_block::{Position, with_block};

pub(super) const LABEL: &str = "rooflens externals";

impl Externals {
    /// Writes both files where they are not right yet, and says which.
    pub(super) fn write_settings(&self, lock: &Lock, dry_run: bool) -> Result<Vec<String>, ExternalsError> {
        let mut written = Vec::new();
        for (file, lines) in [(".gitignore", ignored(lock)), (".gitattributes", attributes(lock))] {
            let name = format!("third_party/{file}");
            let path = self.path(&name);
            let old = match fs::read_to_string(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
                read => read.map_err(ExternalsError::io(&path))?,
            };
            let new = with_block(&old, LABEL, &lines, Position::End);
            if new == old {
                continue;
            }
            if !dry_run {
                write_whole(&path, &new)?;
            }
            written.push(name);
        }
        Ok(written)
    }
}

fn of_kind(lock: &Lock, kind: SourceKind) -> impl Iterator<Item = &str> {
    lock.sources.values().filter(move |source| source.pin.kind == kind).map(|source| source.pin.name.as_str())
}

fn ignored(lock: &Lock) -> Vec<String> {
    let mut lines: Vec<String> = [
        "# Clones and links of their own, which the lock brings back, and notes about what is being made.",
        "/.*.partial*",
        "/*/.*.partial*",
        "/*/.*.unfinished",
        "/*/.*.copied",
    ]
    .map(str::to_owned)
    .into();
    lines.extend(of_kind(lock, SourceKind::Sparse).map(|name| format!("/github/{}/", literal(name))));
    // A pattern that ends in a slash matches no link.
    lines.extend(of_kind(lock, SourceKind::Link).map(|name| format!("/github/{}", literal(name))));
    lines
}

fn attributes(lock: &Lock) -> Vec<String> {
    if of_kind(lock, SourceKind::Hub).next().is_none() {
        return Vec::new();
    }
    // A changed line end would be an edit.
    ["# Copies stay as they are, byte for byte.", "/hf/** -text"].map(str::to_owned).into()
}
