//! Unpacks archives that are not trusted.
//!
//! An archive is unpacked into a new folder next to its final place, and renamed once all of it is there; after any
//! failure, the new folder is removed. Files get the modes and times of new files. Symbolic links that stay inside are
//! kept; hard links and devices are refused. Limits apply to bytes that are written, not to what headers claim.

use std::borrow::Cow;
use std::cell::Cell;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::read::MultiGzDecoder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tar::EntryType;
use zip::ZipArchive;
use zip::read::ZipFile;

use super::AssetObserver;
use crate::project::error::{FaultClass, ProjectError, Result};

/// Below this size nothing is a bomb, however dense: a single file of zeros can be.
const RATIO_FLOOR_BYTES: u64 = 16 << 20;
const MAX_DEPTH: usize = 64;
const MAX_LINK_BYTES: u64 = 4096;
const PROGRESS_BYTES: u64 = 1 << 20;
/// The most bytes between two entries of a tar: padding, long names, extended attributes. The crate keeps them in
/// memory.
const MAX_TAR_HEADER_BYTES: u64 = 1 << 20;
const STAGING_MARK: &str = ".rooflens-partial-";

/// How much an archive can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of all files.
    pub max_bytes: u64,
    /// Files, folders and links.
    pub max_entries: u64,
    /// Bytes of all files per byte of the archive.
    pub max_ratio: u64,
}

impl Default for Limits {
    /// Generous for datasets: deflated text reaches 20:1, masks and label images 100:1, while bombs need deflate's limit
    /// of 1032:1.
    fn default() -> Self {
        Self { max_bytes: 100_000_000_000, max_entries: 500_000, max_ratio: 200 }
    }
}

/// What came out of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Extracted {
    /// Files, folders and links.
    pub entries: u64,
    /// Bytes of the files.
    pub bytes: u64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Record {
    schema_version: u32,
    archive: String,
    archive_bytes: u64,
    entries: u64,
    bytes: u64,
}

impl Record {
    /// The name of the note. No archive can have an entry of this name at its top.
    const FILE: &'static str = ".rooflens-extracted.json";

    pub(super) fn read(folder: &Path) -> Option<Self> {
        let mut text = Vec::new();
        File::open(folder.join(Self::FILE)).ok()?.take(64 << 10).read_to_end(&mut text).ok()?;
        serde_json::from_slice(&text).ok()
    }

    pub(super) fn is_of(&self, archive: &Path, bytes: u64) -> bool {
        self.archive == file_name(archive) && self.archive_bytes == bytes
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn escaped(text: &str) -> String {
    text.chars().take(200).flat_map(char::escape_debug).collect()
}

fn whole(problem: impl std::fmt::Display) -> ProjectError {
    ProjectError::data(format!("it {problem}"))
}

/// The error of a limit; `key` raises it in `bootstrap.yaml`.
fn over(key: &str, problem: String) -> ProjectError {
    whole(problem).hint(format!("if the archive is trusted, raise its {key} in bootstrap.yaml"))
}

fn entry(name: &str, problem: impl std::fmt::Display) -> ProjectError {
    ProjectError::data(format!("'{}' {problem}", escaped(name)))
}

fn malformed(error: impl std::fmt::Display) -> ProjectError {
    whole(format!("is damaged or of an unknown kind: {error}"))
}

fn malformed_entry(name: &str, error: impl std::fmt::Display) -> ProjectError {
    entry(name, format!("is damaged or of an unknown kind: {error}"))
}

fn unwritable(name: &str, error: &io::Error) -> ProjectError {
    entry(name, format!("cannot be written: {error}"))
}

/// Unpacks a zip, tar or tar.gz archive, recognized by its first bytes, into a folder that does not exist yet. The
/// folder around it must exist. After an error, nothing is left behind.
pub fn extract(
    archive: &Path,
    into: &Path,
    limits: Limits,
    watch: &mut dyn AssetObserver,
) -> Result<Extracted> {
    let unreadable = |error| ProjectError::unreadable(archive, error);
    let mut file = File::open(archive).map_err(unreadable)?;
    let archive_bytes = file.metadata().map_err(unreadable)?.len();
    let mut head = Vec::new();
    Read::by_ref(&mut file).take(512).read_to_end(&mut head).map_err(unreadable)?;
    file.rewind().map_err(unreadable)?;

    let staging = Staging::next_to(into)?;
    // The size of the whole archive counts, so that entries which share bytes gain nothing.
    let most_by_ratio = archive_bytes.saturating_mul(limits.max_ratio).max(RATIO_FLOOR_BYTES);
    let extracted = Extracted { entries: 0, bytes: 0 };
    let mut tree = Tree {
        root: staging.folder(),
        limits,
        most_by_ratio,
        extracted,
        shown_bytes: 0,
        links: Vec::new(),
        watch,
    };
    let reader = BufReader::new(file);
    let unpacked = match &head[..] {
        [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => unpack_zip(reader, &mut tree),
        [0x1f, 0x8b, ..] => unpack_tar(MultiGzDecoder::new(reader), &mut tree),
        head if head.get(257..262) == Some(b"ustar") => unpack_tar(reader, &mut tree),
        _ => Err(whole("is neither a zip, a tar nor a tar.gz")),
    };
    let extracted = unpacked.and_then(|()| tree.finish()).map_err(|error| match error.class {
        FaultClass::Data => {
            let message = format!("the archive '{}' was not extracted: {}", archive.display(), error.message);
            ProjectError { message, ..error }
        }
        _ => error,
    })?;
    let Extracted { entries, bytes } = extracted;
    let record = Record { schema_version: 1, archive: file_name(archive), archive_bytes, entries, bytes };
    let text = serde_json::to_string_pretty(&record).map_err(io::Error::from);
    text.and_then(|text| fs::write(staging.folder().join(Record::FILE), text + "\n"))
        .map_err(|error| ProjectError::unwritable(into, error))?;
    staging.become_folder(into)?;
    Ok(extracted)
}

/// Writes entries below a folder that nothing else writes to. While it is filled it has no links, so no path in it can
/// lead out; links are made at the end.
struct Tree<'a> {
    root: &'a Path,
    limits: Limits,
    most_by_ratio: u64,
    extracted: Extracted,
    shown_bytes: u64,
    links: Vec<(PathBuf, String)>,
    watch: &'a mut dyn AssetObserver,
}

impl Tree<'_> {
    fn add_folder(&mut self, name: &str) -> Result<()> {
        let path = self.enter(name)?;
        self.make_folders(name, &path)
    }

    fn add_file(&mut self, name: &str, content: &mut dyn Read) -> Result<u64> {
        let path = self.enter(name)?;
        let mut file = self.create(name, &path)?;
        let mut buffer = vec![0; 64 << 10];
        let mut written = 0;
        loop {
            let count = match content.read(&mut buffer) {
                Ok(0) => return Ok(written),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(malformed_entry(name, error)),
            };
            self.count_bytes(count as u64)?;
            file.write_all(&buffer[..count]).map_err(|error| unwritable(name, &error))?;
            written += count as u64;
        }
    }

    fn add_link(&mut self, name: &str, target: &str) -> Result<()> {
        let path = self.enter(name)?;
        let depth = path.components().count().saturating_sub(1);
        let climbed = target.split('/').filter(|part| *part == "..").count();
        if target.is_empty() || target.starts_with('/') || climbed > depth {
            return Err(link_outside(name, target));
        }
        // A file keeps the place, so that no later entry can take it or be below it.
        self.create(name, &path)?;
        self.links.push((path, target.to_owned()));
        Ok(())
    }

    /// Makes the links, and checks where each leads. A link that leads nowhere or in a circle is useless, and could
    /// lead somewhere later.
    fn finish(self) -> Result<Extracted> {
        for (path, target) in &self.links {
            let place = self.root.join(path);
            fs::remove_file(&place)
                .and_then(|()| symlink(target, &place))
                .map_err(|error| unwritable(&path.to_string_lossy(), &error))?;
        }
        let root = self.root.canonicalize().map_err(|error| unwritable("", &error))?;
        for (path, target) in &self.links {
            if !self.root.join(path).canonicalize().is_ok_and(|to| to.starts_with(&root)) {
                return Err(link_outside(&path.to_string_lossy(), target));
            }
        }
        Ok(self.extracted)
    }

    fn enter(&mut self, name: &str) -> Result<PathBuf> {
        self.extracted.entries += 1;
        self.check_entries(self.extracted.entries)?;
        self.check_stop()?;
        entry_path(name).map_err(|problem| entry(name, problem))
    }

    fn check_entries(&self, entries: u64) -> Result<()> {
        let most = self.limits.max_entries;
        match entries > most {
            true => Err(over("max_entries", format!("has more than {most} entries"))),
            false => Ok(()),
        }
    }

    fn check_stop(&self) -> Result<()> {
        if self.watch.should_stop() { Err(ProjectError::stopped()) } else { Ok(()) }
    }

    fn count_bytes(&mut self, more: u64) -> Result<()> {
        let bytes = self.extracted.bytes.saturating_add(more);
        self.extracted.bytes = bytes;
        let Limits { max_bytes, max_ratio, .. } = self.limits;
        if bytes > max_bytes {
            return Err(over("max_bytes", format!("unpacks to more than {max_bytes} bytes")));
        }
        if bytes > self.most_by_ratio {
            return Err(over("max_ratio", format!("unpacks to more than {max_ratio} times its size")));
        }
        if bytes - self.shown_bytes >= PROGRESS_BYTES {
            self.shown_bytes = bytes;
            self.watch.goes_on(bytes, None);
            self.check_stop()?;
        }
        Ok(())
    }

    fn create(&self, name: &str, path: &Path) -> Result<File> {
        if path.as_os_str().is_empty() {
            return Err(entry(name, ODD_NAME));
        }
        if let Some(parent) = path.parent() {
            self.make_folders(name, parent)?;
        }
        let file = OpenOptions::new().write(true).create_new(true).open(self.root.join(path));
        file.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => entry(name, "is listed twice"),
            _ => unwritable(name, &error),
        })
    }

    fn make_folders(&self, name: &str, path: &Path) -> Result<()> {
        fs::create_dir_all(self.root.join(path)).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
                entry(name, "is inside something that is not a folder")
            }
            _ => unwritable(name, &error),
        })
    }
}

fn link_outside(name: &str, target: &str) -> ProjectError {
    entry(name, format!("is a link to '{}', which is not inside the archive", escaped(target)))
}

const ODD_NAME: &str = "has a name that is empty, not UTF-8 or has control characters";
const SPECIAL_FILE: &str = "is neither a file, a folder nor a link";

/// The path of an entry below the folder it is unpacked into; empty for that folder itself (`./`).
///
/// Nothing is corrected: two readers could correct a name differently. Only `.` and empty parts are dropped, which tar
/// and zip write by habit.
fn entry_path(name: &str) -> std::result::Result<PathBuf, String> {
    if name.is_empty() || name.chars().any(char::is_control) {
        return Err(ODD_NAME.to_owned());
    }
    if name.starts_with('/') {
        return Err("has an absolute path".to_owned());
    }
    let has_drive = matches!(name.as_bytes(), [drive, b':', ..] if drive.is_ascii_alphabetic());
    if has_drive || name.contains('\\') {
        return Err("has a Windows path".to_owned());
    }
    let parts: Vec<&str> = name.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    if parts.contains(&"..") {
        return Err("has '..' in its path".to_owned());
    }
    if parts.len() > MAX_DEPTH {
        return Err(format!("is nested deeper than {MAX_DEPTH} folders"));
    }
    // Some file systems ignore case.
    if matches!(parts.as_slice(), [only] if only.eq_ignore_ascii_case(Record::FILE)) {
        return Err("has a name that is reserved for Rooflens".to_owned());
    }
    Ok(parts.iter().collect())
}

/// A reader that stops after a number of bytes. The crate that reads tars keeps headers in memory; this bounds what a
/// header can make it read.
struct Gate<R> {
    inner: R,
    left: Rc<Cell<u64>>,
}

impl<R: Read> Read for Gate<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.left.get();
        if left == 0 && !buffer.is_empty() {
            return Err(io::Error::other("a header is too long"));
        }
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        let count = self.inner.read(&mut buffer[..most])?;
        self.left.set(left - count as u64);
        Ok(count)
    }
}

fn unpack_tar<R: Read>(reader: R, tree: &mut Tree<'_>) -> Result<()> {
    let left = Rc::new(Cell::new(u64::MAX));
    let mut archive = tar::Archive::new(Gate { inner: reader, left: Rc::clone(&left) });
    let mut entries = archive.entries().map_err(malformed)?;
    loop {
        left.set(MAX_TAR_HEADER_BYTES);
        let Some(item) = entries.next() else { break };
        let mut item = item.map_err(malformed)?;
        left.set(u64::MAX);
        let kind = item.header().entry_type();
        // Comments of `git archive` and the like are no entries.
        if kind == EntryType::XGlobalHeader {
            continue;
        }
        let name = utf8(item.path_bytes())?;
        match kind {
            // In old tars, only the name shows that an entry is a folder.
            EntryType::Regular | EntryType::Continuous if name.ends_with('/') => tree.add_folder(&name)?,
            EntryType::Directory => tree.add_folder(&name)?,
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                let size = item.size();
                if tree.add_file(&name, &mut item)? != size {
                    return Err(malformed_entry(&name, "it ends early"));
                }
            }
            EntryType::Symlink => {
                let target = utf8(item.link_name_bytes().unwrap_or_default())?;
                tree.add_link(&name, &target)?;
            }
            EntryType::Link => return Err(entry(&name, "is a hard link")),
            _ => return Err(entry(&name, SPECIAL_FILE)),
        }
    }
    left.set(u64::MAX);
    // The checksum of a gzip follows the last entry.
    io::copy(&mut archive.into_inner(), &mut io::sink()).map(drop).map_err(malformed)
}

fn utf8(bytes: Cow<'_, [u8]>) -> Result<String> {
    String::from_utf8(bytes.into_owned())
        .map_err(|error| entry(&String::from_utf8_lossy(error.as_bytes()), ODD_NAME))
}

fn unpack_zip<R: Read + Seek>(reader: R, tree: &mut Tree<'_>) -> Result<()> {
    let mut archive = ZipArchive::new(reader).map_err(malformed)?;
    tree.check_entries(archive.len() as u64)?;
    // The crate keeps the last of several entries with one name.
    if archive.has_duplicate_names() {
        return Err(whole("has two entries with one name"));
    }
    if archive.has_overlapping_entries().map_err(malformed)? {
        return Err(whole("has overlapping entries, as in a zip bomb"));
    }
    for index in 0..archive.len() {
        let mut file = archive.by_index(index).map_err(malformed)?;
        let name = zip_name(&file)?;
        // The type bits of `st_mode`; writers on systems without modes leave them 0.
        match file.unix_mode().unwrap_or(0) & 0o170_000 {
            0o120_000 => {
                let mut target = String::new();
                let read = file.by_ref().take(MAX_LINK_BYTES).read_to_string(&mut target);
                read.map_err(|error| malformed_entry(&name, error))?;
                tree.add_link(&name, &target)?;
            }
            0o040_000 => tree.add_folder(&name)?,
            0 | 0o100_000 if name.ends_with('/') => tree.add_folder(&name)?,
            0 | 0o100_000 => drop(tree.add_file(&name, &mut file)?),
            _ => return Err(entry(&name, SPECIAL_FILE)),
        }
    }
    Ok(())
}

/// The name of an entry: UTF-8 if it is valid, since many writers forget the flag; else as the flag says.
fn zip_name<R: Read>(file: &ZipFile<'_, R>) -> Result<String> {
    if let Ok(name) = std::str::from_utf8(file.name_raw()) {
        return Ok(name.to_owned());
    }
    let name = file.name().map_err(|_| entry(&String::from_utf8_lossy(file.name_raw()), ODD_NAME))?;
    Ok(name.into_owned())
}

pub(super) fn staging_name(path: &Path) -> OsString {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!("{STAGING_MARK}{}-{count}", std::process::id()));
    name
}

pub(super) fn is_leftover(name: &str) -> bool {
    name.starts_with('.') && name.contains(STAGING_MARK)
}

/// A folder in the making, removed with its content unless it takes its place.
pub(super) struct Staging {
    folder: PathBuf,
    is_done: bool,
}

impl Staging {
    pub(super) fn next_to(path: &Path) -> Result<Self> {
        let folder = path.with_file_name(staging_name(path));
        fs::create_dir(&folder).map_err(|error| ProjectError::unwritable(path, error))?;
        Ok(Self { folder, is_done: false })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn become_folder(mut self, into: &Path) -> Result<()> {
        // Creating the folder fails if anything is there; renaming over it works only while it is empty. So nothing of
        // others is lost.
        fs::create_dir(into).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => ProjectError::changed(into),
            _ => ProjectError::unwritable(into, error),
        })?;
        fs::rename(&self.folder, into).map_err(|error| {
            // Succeeds only for the empty folder made above.
            let _ = fs::remove_dir(into);
            ProjectError::unwritable(into, error)
        })?;
        self.is_done = true;
        Ok(())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if !self.is_done {
            // Links are removed, not followed. `status` shows what cannot be removed.
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_are_kept() {
        for (name, path) in
            [("a/b c/ü.txt", "a/b c/ü.txt"), ("./a//b/", "a/b"), ("./", ""), ("a..b/..c", "a..b/..c")]
        {
            assert_eq!(entry_path(name), Ok(PathBuf::from(path)), "{name}");
        }
        assert!(entry_path(&"a/".repeat(65)).unwrap_err().contains("deeper than 64"));
    }
}
