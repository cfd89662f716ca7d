//! Zip archives.

use std::io::{Read, Seek, SeekFrom};

use zip::ZipArchive;
use zip::read::ZipFile;

use super::budget::Limits;
use super::gate::{Gate, Latch};
use super::problem::{ArchiveProblem, Refusal};
use super::tree::{MAX_LINK_BYTES, Tree};

/// Bytes of the list of entries for each entry, on average: 46, a path, times and owners.
const DIRECTORY_BYTES_AN_ENTRY: u64 = 256;
/// What is read to find the list.
const DIRECTORY_BYTES: u64 = 1 << 20;

/// Unpacks a zip.
pub(super) fn unpack<R: Read + Seek>(
    mut reader: R,
    limits: Limits,
    tree: &mut Tree<'_>,
) -> Result<(), Refusal> {
    // The crate reads the whole list into memory, so its length is looked at before.
    if claimed_entries(&mut reader).is_some_and(|entries| entries > limits.max_entries) {
        return Err(Refusal::whole(ArchiveProblem::TooManyEntries { limit: limits.max_entries }));
    }
    let latch = Latch::default();
    let most = limits.max_entries.saturating_mul(DIRECTORY_BYTES_AN_ENTRY).saturating_add(DIRECTORY_BYTES);
    latch.close_after(most);
    let archive = ZipArchive::new(Gate::new(reader, latch.clone()));
    if latch.is_shut() {
        return Err(Refusal::whole(ArchiveProblem::LongDirectory));
    }
    latch.open();
    let mut archive = archive.map_err(|error| Refusal::malformed(None, error))?;
    // The crate keeps the last of several entries with one name.
    if archive.has_duplicate_names() {
        return Err(Refusal::whole(ArchiveProblem::DuplicateNames));
    }
    if archive.has_overlapping_entries().map_err(|error| Refusal::malformed(None, error))? {
        return Err(Refusal::whole(ArchiveProblem::Overlapping));
    }
    for index in 0..archive.len() {
        let mut file = archive.by_index(index).map_err(|error| Refusal::malformed(None, error))?;
        let name = name_of(&file)?;
        unpack_entry(&mut file, &name, tree)?;
    }
    Ok(())
}

fn unpack_entry<R: Read>(file: &mut ZipFile<'_, R>, name: &str, tree: &mut Tree<'_>) -> Result<(), Refusal> {
    // The type bits of `st_mode`; writers on systems without modes leave them 0.
    let kind = file.unix_mode().unwrap_or(0) & 0o170_000;
    match kind {
        0o120_000 => {
            let mut target = String::new();
            file.by_ref()
                .take(MAX_LINK_BYTES)
                .read_to_string(&mut target)
                .map_err(|error| Refusal::malformed(Some(name), error))?;
            tree.add_link(name, &target)
        }
        0 | 0o100_000 | 0o040_000 => {
            if kind == 0o040_000 || name.ends_with('/') {
                return tree.add_folder(name);
            }
            tree.add_file(name, file).map(drop)
        }
        _ => Err(Refusal::entry(name, ArchiveProblem::SpecialFile)),
    }
}

/// UTF-8 where it can be that, since many writers forget the flag, else what the flag says.
fn name_of<R: Read>(file: &ZipFile<'_, R>) -> Result<String, Refusal> {
    if let Ok(name) = std::str::from_utf8(file.name_raw()) {
        return Ok(name.to_owned());
    }
    let name = file
        .name()
        .map_err(|_| Refusal::entry(&String::from_utf8_lossy(file.name_raw()), ArchiveProblem::OddName))?;
    Ok(name.into_owned())
}

/// How many entries the record at the end of a zip claims; none where there is no such record,
/// which the crate will say better.
fn claimed_entries<R: Read + Seek>(reader: &mut R) -> Option<u64> {
    // The record is 22 bytes and a comment of at most 65,535; the one of zip64 stands before it.
    let length = reader.seek(SeekFrom::End(0)).ok()?;
    let start = length.saturating_sub(22 + 0xffff + 20);
    reader.seek(SeekFrom::Start(start)).ok()?;
    let mut tail = Vec::new();
    reader.by_ref().take(length - start).read_to_end(&mut tail).ok()?;
    let record = tail.windows(4).rposition(|window| window == b"PK\x05\x06")?;
    let entries = u16::from_le_bytes(bytes_at(&tail, record + 10)?);
    if entries != u16::MAX {
        return Some(u64::from(entries));
    }
    let locator = record.checked_sub(20)?;
    if tail.get(locator..locator + 4)? != b"PK\x06\x07" {
        return Some(u64::from(entries));
    }
    let large = u64::from_le_bytes(bytes_at(&tail, locator + 8)?);
    reader.seek(SeekFrom::Start(large)).ok()?;
    let mut record = [0; 56];
    reader.read_exact(&mut record).ok()?;
    if !record.starts_with(b"PK\x06\x06") {
        return None;
    }
    Some(u64::from_le_bytes(bytes_at(&record, 32)?))
}

fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}
