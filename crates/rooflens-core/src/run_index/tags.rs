//! Tags of a run directory: words that people give it, in a small file of its own.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::IndexedRun;
use super::folders::{is_plain_file, is_plain_folder};
use super::scan::{FoundRun, find, is_link};
use crate::config::folders::OWN_FOLDER;
use crate::document::SchemaTag;
use crate::error::Error;

const FILE: &str = "tags.json";
const MOST_BYTES: u64 = 1 << 20;
const LONGEST: usize = 64;

/// The JSON document: `.rooflens/tags.json` of a run directory.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TagsDocument {
    /// `rooflens.tags`.
    pub(crate) schema: SchemaTag,
    /// The tags, in alphabetical order.
    pub(crate) tags: BTreeSet<String>,
}

pub(super) fn read(run: &Path) -> (Vec<String>, Option<String>) {
    let (folder, path) = (run.join(OWN_FOLDER), run.join(OWN_FOLDER).join(FILE));
    if !is_plain_folder(&folder) || !is_plain_file(&path) {
        return (Vec::new(), None);
    }
    let read = || -> Result<TagsDocument, String> {
        let size = fs::metadata(&path).map_err(|error| error.to_string())?.len();
        if size > MOST_BYTES {
            return Err(format!("it has {size} bytes"));
        }
        let bytes = fs::read(&path).map_err(|error| error.to_string())?;
        serde_json::from_slice(&bytes).map_err(|error| error.to_string())
    };
    match read() {
        Ok(found) => (found.tags.into_iter().filter(|tag| is_tag(tag)).collect(), None),
        Err(why) => (Vec::new(), Some(format!("{OWN_FOLDER}/{FILE} cannot be read: {why}"))),
    }
}

/// Whether a word can be a tag: letters, digits and `. _ - : / + @`, and no `-` in front, so that it can be typed as an
/// argument and shown anywhere.
pub fn is_tag(word: &str) -> bool {
    let is_allowed = |letter: char| letter.is_alphanumeric() || "._-:/+@".contains(letter);
    !word.is_empty()
        && word.chars().count() <= LONGEST
        && !word.starts_with('-')
        && word.chars().all(is_allowed)
}

pub(crate) fn not_a_tag(word: &str) -> Error {
    Error::usage(format!("{word:?} cannot be a tag"))
        .words("write up to 64 letters, digits and . _ - : / + @, as in release-3")
}

/// Gives runs of a folder a tag, each named as in `find`; answers the runs as they are now. All are found before any is
/// changed.
pub fn tag(root: &Path, names: &[String], tag: &str) -> Result<Vec<IndexedRun>, Error> {
    if !is_tag(tag) {
        return Err(not_a_tag(tag));
    }
    change(root, names, |tags| tags.insert(tag.to_owned()))
}

/// Takes a tag from runs of a folder, likewise. A run that does not have it stays as it is.
pub fn untag(root: &Path, names: &[String], tag: &str) -> Result<Vec<IndexedRun>, Error> {
    change(root, names, |tags| tags.remove(tag))
}

fn change(
    root: &Path,
    names: &[String],
    change: impl Fn(&mut BTreeSet<String>) -> bool,
) -> Result<Vec<IndexedRun>, Error> {
    let found = names.iter().map(|name| find(root, name)).collect::<Result<Vec<FoundRun>, _>>()?;
    let mut changed = Vec::new();
    for FoundRun { path, mut run } in found {
        let mut tags: BTreeSet<String> = run.tags.iter().cloned().collect();
        if change(&mut tags) {
            run.tags = tags.iter().cloned().collect();
            write(&path, tags)?;
        }
        changed.push(run);
    }
    Ok(changed)
}

/// Writes the tags of a run in place of those that it had; without any, the file goes.
fn write(run: &Path, tags: BTreeSet<String>) -> Result<(), Error> {
    let (folder, path) = (run.join(OWN_FOLDER), run.join(OWN_FOLDER).join(FILE));
    let unwritable = |source| Error::unwritable(&path, source);
    if folder.is_symlink() {
        return Err(is_link(&folder));
    }
    if tags.is_empty() {
        return crate::saved::remove(&path);
    }
    fs::create_dir_all(&folder).map_err(unwritable)?;
    // Readers see the old tags or the new ones. A link in the place of the file is replaced, not followed.
    let document = TagsDocument { schema: SchemaTag::new("tags"), tags };
    let mut file = tempfile::NamedTempFile::new_in(&folder).map_err(unwritable)?;
    serde_json::to_writer(&mut file, &document).map_err(|error| unwritable(error.into()))?;
    file.write_all(b"\n").map_err(unwritable)?;
    // A temporary file is its owner's alone; tags are as readable as the run.
    use std::os::unix::fs::PermissionsExt;
    file.as_file().set_permissions(fs::Permissions::from_mode(0o644)).map_err(unwritable)?;
    file.persist(&path).map(drop).map_err(|error| unwritable(error.error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_words() {
        for word in ["release-3", "v1.2", "feature/fp8", "größer", "a"] {
            assert!(is_tag(word), "{word}");
        }
        for word in ["", "-x", "two words", "a,b", "a=b", "<b>", "\u{1b}[31m", &"x".repeat(65)] {
            assert!(!is_tag(word), "{word:?}");
        }
    }

    #[test]
    fn tags_are_kept_in_the_run_and_go_without_a_trace() {
        let folder = tempfile::tempdir().expect("a folder");
        let run = folder.path();
        assert_eq!(read(run), (vec![], None));
        write(run, ["b", "a"].map(str::to_owned).into()).expect("written");
        assert_eq!(read(run), (vec!["a".to_owned(), "b".to_owned()], None));
        write(run, BTreeSet::new()).expect("removed");
        assert_eq!(read(run), (vec![], None));
        fs::write(run.join(".rooflens/tags.json"), "{").expect("a file");
        assert!(read(run).1.is_some_and(|problem| problem.contains("tags.json cannot be read")));
    }
}
