//! Unpacking archives that nobody has looked at.
//!
//! An archive is unpacked into a new folder beside the one it becomes, and renamed once all of it
//! is there; whatever goes wrong, the new folder is removed. Files get the modes and times of newly
//! made ones. Symbolic links that stay inside are kept; hard links and devices are refused.

mod budget;
mod entry_name;
mod gate;
mod problem;
mod staging;
mod tarball;
mod tree;
mod zipped;

use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use budget::Limits;
pub use problem::ArchiveProblem;

use super::error::{AssetError, AssetFault};
use super::files::FileSystem;
use super::watch::AssetObserver;
use budget::Budget;
use problem::Refusal;
pub(super) use staging::Staging;
pub(super) use staging::{is_leftover, staging_name};
use tree::Tree;

/// What came out of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Extracted {
    /// Files, folders and links.
    pub entries: u64,
    /// Bytes of the files.
    pub bytes: u64,
}

/// The note in an extracted folder that says what it was made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The version of this document.
    pub schema_version: u32,
    /// The archive's file name.
    pub archive: String,
    /// The archive's size.
    pub archive_bytes: u64,
    /// Files, folders and links.
    pub entries: u64,
    /// Bytes of the files.
    pub bytes: u64,
}

impl Record {
    /// The name of the note. No archive may have an entry of this name at its top.
    pub const FILE: &'static str = ".rooflens-extracted.json";

    /// The note of a folder, where there is one.
    pub(super) fn read(folder: &Path, files: &dyn FileSystem) -> Option<Self> {
        let bytes = files.head(&folder.join(Self::FILE), 64 << 10).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Whether it is of an archive, as far as name and size tell.
    pub(super) fn is_of(&self, archive: &Path, bytes: u64) -> bool {
        self.archive == file_name(archive) && self.archive_bytes == bytes
    }
}

/// Unpacks a zip, tar or tar.gz archive, told apart by its first bytes, into a folder that is not
/// there yet. The folder around it must be.
///
/// # Errors
/// When the archive is damaged, holds what it must not, or the folder cannot be written. Nothing is
/// left behind then.
pub fn extract(
    archive: &Path,
    into: &Path,
    limits: Limits,
    watch: &mut dyn AssetObserver,
) -> Result<Extracted, AssetError> {
    let unreadable = |error| AssetError::unreadable(archive, error);
    let mut file = File::open(archive).map_err(unreadable)?;
    let archive_bytes = file.metadata().map_err(unreadable)?.len();
    let mut head = Vec::new();
    file.by_ref().take(512).read_to_end(&mut head).map_err(unreadable)?;
    file.rewind().map_err(unreadable)?;

    let staging = Staging::beside(into)?;
    let mut tree = Tree::new(staging.folder(), Budget::new(limits, archive_bytes), watch);
    let reader = BufReader::new(file);
    let unpacked = match &head[..] {
        [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => zipped::unpack(reader, limits, &mut tree),
        [0x1f, 0x8b, ..] => tarball::unpack(MultiGzDecoder::new(reader), &mut tree),
        head if head.get(257..262) == Some(b"ustar") => tarball::unpack(reader, &mut tree),
        _ => Err(Refusal::whole(ArchiveProblem::UnknownFormat)),
    };
    let extracted = unpacked.and_then(|()| tree.finish()).map_err(|refusal| match refusal.problem {
        ArchiveProblem::Stopped => AssetError::new(AssetFault::Stopped),
        problem => {
            let (archive, entry) = (archive.to_owned(), refusal.entry);
            AssetError::new(AssetFault::Archive { archive, entry, problem })
        }
    })?;
    let record = Record {
        schema_version: super::SCHEMA_VERSION,
        archive: file_name(archive),
        archive_bytes,
        entries: extracted.entries,
        bytes: extracted.bytes,
    };
    staging.commit(into, &record)?;
    Ok(extracted)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
