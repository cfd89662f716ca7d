//! Files of a step's folder.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::event::visible;
use crate::package::hex;

/// A file as it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct FileFacts {
    /// From the step's folder.
    pub(crate) path: String,
    /// Its length.
    pub(crate) bytes: u64,
    /// Digest of its bytes.
    pub(crate) sha256: String,
}

pub(super) fn facts(folder: &Path, but: &str) -> std::io::Result<Vec<FileFacts>> {
    let mut paths = Vec::new();
    walk(folder, &mut paths)?;
    paths.sort();
    let mut facts = Vec::new();
    for path in paths {
        let name = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().into_owned();
        if name != but {
            let (bytes, sha256) = digest(&path)?;
            facts.push(FileFacts { path: name, bytes, sha256 });
        }
    }
    Ok(facts)
}

/// Links are not followed: they lead to what others wrote.
fn walk(folder: &Path, into: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            walk(&entry.path(), into)?;
        } else if kind.is_file() {
            into.push(entry.path());
        }
    }
    Ok(())
}

/// The length of a file, and the SHA-256 of its bytes in hexadecimal.
pub fn digest(path: &Path) -> std::io::Result<(u64, String)> {
    digest_while(path, |_| true).map(Option::unwrap_or_default)
}

/// The same, as long as `goes_on`, which gets the number of bytes so far; `None` if it ended early.
pub(crate) fn digest_while(
    path: &Path,
    mut goes_on: impl FnMut(u64) -> bool,
) -> std::io::Result<Option<(u64, String)>> {
    let mut file = File::open(path)?;
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    let mut bytes = 0;
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(Some((bytes, hex(&digest.finalize())))),
            read => {
                bytes += read as u64;
                digest.update(&buffer[..read]);
            }
        }
        if !goes_on(bytes) {
            return Ok(None);
        }
    }
}

/// Whether something expected is there: a file, or a folder with something in it. A table may have no
/// rows, but what is compressed has at least a header: without it, it was never written.
pub(super) fn is_there(path: &Path) -> bool {
    let least = if path.extension().is_some_and(|kind| kind == "gz") { 1 } else { 0 };
    match fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_some(),
        Err(_) => path.metadata().is_ok_and(|data| data.is_file() && data.len() >= least),
    }
}

/// Bytes of a log's end that are looked at.
const TAIL_BYTES: u64 = 1 << 14;

pub(crate) fn tail(path: &Path, lines: usize) -> Vec<String> {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
        let mut bytes = Vec::new();
        file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let all: Vec<String> = text
        .lines()
        .map(|line| {
            line.trim_end().chars().map(|char| if char == '\t' { ' ' } else { visible(char) }).collect()
        })
        .filter(|line: &String| !line.is_empty())
        .collect();
    all[all.len().saturating_sub(lines)..].to_vec()
}
