//! What the tests of several readers need.

use std::path::{Path, PathBuf};

use rooflens_schema::{NameId, Notes, RankTables};

use crate::artefact::{Artefact, InputSource, no_progress};
use crate::error::IngestError;

pub(crate) fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(path)
}

pub(crate) fn read(bytes: &[u8]) -> (Result<RankTables, IngestError>, Notes) {
    let notes = Notes::default();
    (Artefact::from_bytes("made", bytes).and_then(|from| crate::read(from, &notes)), notes)
}

/// Bytes that give tables, and the codes and counts of their notes.
pub(crate) fn read_whole(bytes: &[u8]) -> (RankTables, Vec<String>) {
    let (tables, notes) = read(bytes);
    (tables.unwrap(), codes(&notes))
}

/// A file, with what stands beside it.
pub(crate) fn read_file(path: PathBuf) -> (RankTables, Notes) {
    let notes = Notes::default();
    let from = Artefact::open(&InputSource::File(path), no_progress()).unwrap();
    (crate::read(from, &notes).unwrap(), notes)
}

/// Code and count of each note, the worst first.
pub(crate) fn codes(notes: &Notes) -> Vec<String> {
    notes.rows().into_iter().map(|note| format!("{} {}", note.code, note.count)).collect()
}

pub(crate) fn names<'t>(tables: &'t RankTables, ids: &[NameId]) -> Vec<&'t str> {
    ids.iter().map(|id| tables.names.get(*id)).collect()
}

/// Bytes that end early: at every `step`th place.
pub(crate) fn cuts(whole: &[u8], step: usize) -> impl Iterator<Item = Vec<u8>> {
    (0..whole.len()).step_by(step).map(|cut| whole[..cut].to_vec())
}

/// Bytes with bits turned at one place: at every `step`th one.
pub(crate) fn turned(whole: &[u8], step: usize, bits: u8) -> impl Iterator<Item = Vec<u8>> {
    (0..whole.len()).step_by(step).map(move |at| {
        let mut bytes = whole.to_vec();
        bytes[at] ^= bits;
        bytes
    })
}

/// Asserts that no word of the tables and notes holds one of these.
pub(crate) fn assert_without(tables: &RankTables, notes: &Notes, secrets: &[&str]) {
    let mut words: Vec<String> = tables.names.iter().map(|(_, name)| name.to_owned()).collect();
    words.extend(notes.rows().into_iter().map(|note| note.message));
    words.push(format!("{:?} {:?}", tables.meta, tables.devices.name));
    for (word, secret) in words.iter().flat_map(|word| secrets.iter().map(move |secret| (word, secret))) {
        assert!(!word.contains(secret), "{word}");
    }
}
