//! Tar archives.

use std::borrow::Cow;
use std::io::Read;

use tar::{Archive, EntryType};

use super::gate::{Gate, Latch};
use super::problem::{ArchiveProblem, Refusal};
use super::tree::Tree;

/// The most bytes between two entries: padding, long names, extended attributes. The crate keeps
/// them in memory.
const MAX_HEADER_BYTES: u64 = 1 << 20;

/// Unpacks a tar.
pub(super) fn unpack<R: Read>(reader: R, tree: &mut Tree<'_>) -> Result<(), Refusal> {
    let latch = Latch::default();
    let mut archive = Archive::new(Gate::new(reader, latch.clone()));
    let mut entries = archive.entries().map_err(|error| Refusal::malformed(None, error))?;
    loop {
        latch.close_after(MAX_HEADER_BYTES);
        let Some(entry) = entries.next() else { break };
        let mut entry = entry.map_err(|error| Refusal::malformed(None, error))?;
        latch.open();
        let kind = entry.header().entry_type();
        // Comments of `git archive` and the like, not entries.
        if kind == EntryType::XGlobalHeader {
            continue;
        }
        let name = text(entry.path_bytes())?;
        match kind {
            EntryType::Directory => tree.add_folder(&name)?,
            // Old tars know folders by their names only.
            EntryType::Regular | EntryType::Continuous if name.ends_with('/') => tree.add_folder(&name)?,
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                let size = entry.size();
                let written = tree.add_file(&name, &mut entry)?;
                if written != size {
                    return Err(Refusal::malformed(Some(&name), "it ends early"));
                }
            }
            EntryType::Symlink => {
                let target = entry.link_name_bytes().unwrap_or_default();
                let target = text(target)?;
                tree.add_link(&name, &target)?;
            }
            EntryType::Link => return Err(Refusal::entry(&name, ArchiveProblem::HardLink)),
            _ => return Err(Refusal::entry(&name, ArchiveProblem::SpecialFile)),
        }
    }
    latch.close_after(MAX_HEADER_BYTES);
    read_out(archive.into_inner())
}

/// Reads what follows the last entry: padding only, and behind it the checksum of a gzip. A second
/// archive there would otherwise be left out in silence.
fn read_out<R: Read>(mut reader: R) -> Result<(), Refusal> {
    let mut buffer = [0; 8 << 10];
    loop {
        let count = reader.read(&mut buffer).map_err(|error| Refusal::malformed(None, error))?;
        if count == 0 {
            return Ok(());
        }
        if buffer[..count].iter().any(|byte| *byte != 0) {
            return Err(Refusal::malformed(None, "there is data after its end"));
        }
    }
}

fn text(bytes: Cow<'_, [u8]>) -> Result<String, Refusal> {
    String::from_utf8(bytes.into_owned())
        .map_err(|error| Refusal::entry(&String::from_utf8_lossy(error.as_bytes()), ArchiveProblem::OddName))
}
