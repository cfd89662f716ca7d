//! Files and folders, with errors that name them.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use rooflens_schema::RunDir;
use serde_json::Value as Json;

use crate::error::Error;

/// A folder for a run that is not kept; it goes when this is dropped.
pub fn scratch() -> Result<tempfile::TempDir, Error> {
    tempfile::tempdir().map_err(|source| Error::unwritable(std::env::temp_dir(), source))
}

/// Whether two paths lead to the same folder.
pub fn same_folder(a: &Path, b: &Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}

pub(crate) fn make(folder: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(folder).map_err(|source| Error::unwritable(folder, source))
}

/// Writes a file.
pub fn write(path: PathBuf, bytes: &[u8]) -> Result<(), Error> {
    std::fs::write(&path, bytes).map_err(|source| Error::unwritable(path, source))
}

/// Reads a JSON document; null where there is none, or it is damaged.
pub(crate) fn read_json(path: &Path) -> Json {
    std::fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

/// Removes a file, where there is one.
pub fn remove(path: &Path) -> Result<(), Error> {
    match std::fs::remove_file(path) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => Err(Error::unwritable(path, source)),
        _ => Ok(()),
    }
}

pub(crate) fn write_json(path: PathBuf, document: &impl serde::Serialize) -> Result<(), Error> {
    let written = File::create(&path).and_then(|file| {
        let mut file = BufWriter::new(file);
        serde_json::to_writer(&mut file, document).map_err(std::io::Error::from)?;
        file.write_all(b"\n")?;
        file.flush()
    });
    written.map_err(|source| Error::unwritable(path, source))
}

/// The run directory at `folder`, if one may be written there: a new or empty folder, an older run,
/// or what an interrupted one left.
pub fn destination(folder: &Path) -> Result<RunDir, Error> {
    if folder.exists() && !folder.is_dir() {
        return Err(Error::not_a_folder(folder));
    }
    let names: Vec<OsString> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name()).collect();
    let ours = ["tables", "findings", "report"];
    let left_over =
        folder.join("tables").is_dir() && names.iter().all(|name| ours.iter().any(|own| name == own));
    if !names.is_empty() && !left_over && !RunDir::has_trace(folder) {
        return Err(Error::not_ours(folder));
    }
    Ok(RunDir::new(folder))
}

/// Whether a report may be written to `folder`: a new or empty folder, or one that holds a report.
pub(crate) fn report_destination(folder: &Path) -> Result<(), Error> {
    if folder.exists() && !folder.is_dir() {
        return Err(Error::not_a_folder(folder));
    }
    let empty = std::fs::read_dir(folder).map_or(true, |mut entries| entries.next().is_none());
    let mut beginning = [0; REPORT_MARK.len()];
    let report = File::open(folder.join(METRICS)).and_then(|mut file| file.read_exact(&mut beginning));
    if empty || (report.is_ok() && beginning == REPORT_MARK) { Ok(()) } else { Err(Error::not_ours(folder)) }
}

pub(crate) const METRICS: &str = "metrics.json";
const REPORT_MARK: [u8; 27] = *b"{\"schema\":{\"name\":\"rooflens";
