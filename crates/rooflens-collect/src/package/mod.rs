//! The Python package: it comes with the program, so that both always fit, and is unpacked where
//! Python can import it.

mod files;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use sha2::{Digest, Sha256};

pub(crate) use self::files::FILES;
use crate::error::ExecuteError;

/// Digits of a version's name: enough that two never meet.
const DIGITS: usize = 16;

/// The version: a digest of all files. Another text is another folder, so that two versions of the
/// program never disturb each other.
pub(crate) fn version() -> &'static str {
    static VERSION: LazyLock<String> =
        LazyLock::new(|| digest(FILES.iter().map(|file| (file.path, file.contents))));
    &VERSION
}

fn digest<'a>(files: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut digest = Sha256::new();
    for (path, contents) in files {
        for part in [path, contents] {
            digest.update(part.as_bytes());
            digest.update([0]);
        }
    }
    hex(&digest.finalize())[..DIGITS].to_owned()
}

/// The user's folder for what can be made again.
pub fn cache_folder() -> PathBuf {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    // A relative XDG_CACHE_HOME is to be ignored, says its specification.
    let cache = set("XDG_CACHE_HOME").filter(|path| path.is_absolute());
    let cache = cache.or_else(|| set("HOME").map(|home| home.join(".cache")));
    cache.unwrap_or_else(env::temp_dir).join("rooflens")
}

/// Where [`unpack`] puts the package below a cache folder.
pub fn folder(cache: &Path) -> PathBuf {
    cache.join("python").join(version())
}

/// Makes sure that the package stands below the cache folder as it is embedded, and tells where.
pub fn unpack(cache: &Path) -> Result<PathBuf, ExecuteError> {
    let folder = folder(cache);
    for file in FILES {
        keep(&folder.join(file.path), file.contents)?;
    }
    Ok(folder)
}

/// Makes sure that files stand as they are embedded, in a folder of their version below `above`, and tells where.
pub fn unpack_files(above: &Path, files: &[(&str, &str)]) -> Result<PathBuf, ExecuteError> {
    let folder = above.join(digest(files.iter().copied()));
    for (path, contents) in files {
        keep(&folder.join(path), contents)?;
    }
    Ok(folder)
}

/// Writes a file where it is not as it should be. It is read each time: it is little, and somebody may have tried
/// something out in it.
fn keep(path: &Path, contents: &str) -> Result<(), ExecuteError> {
    if fs::read(path).is_ok_and(|found| found == contents.as_bytes()) {
        return Ok(());
    }
    write_whole(path, contents).map_err(|source| ExecuteError::unwritable(path, source))
}

/// Another process may unpack at the same time: a file appears whole or not at all.
fn write_whole(path: &Path, contents: &str) -> std::io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let draft = path.with_extension(format!("draft-{}", std::process::id()));
    fs::write(&draft, contents)?;
    fs::rename(&draft, path)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_folder_is_embedded() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python");
        let mut found = Vec::new();
        walk(&folder.join("rooflens"), &mut found);
        let mut found: Vec<String> = found
            .iter()
            .map(|path| path.strip_prefix(&folder).unwrap().to_str().unwrap().to_owned())
            .collect();
        found.sort();
        let embedded: Vec<&str> = FILES.iter().map(|file| file.path).collect();
        assert_eq!(embedded, found, "mend the list in src/package/files.rs");
    }

    fn walk(folder: &Path, into: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("__pycache__") {
                walk(&path, into);
            } else if path.is_file() {
                into.push(path);
            }
        }
    }

    #[test]
    fn what_was_changed_is_mended() {
        let cache = tempfile::tempdir().unwrap();
        let folder = unpack(cache.path()).unwrap();
        let file = folder.join("rooflens/__init__.py");
        fs::write(&file, "raise SystemExit\n").unwrap();
        assert_eq!(unpack(cache.path()).unwrap(), folder);
        assert!(fs::read_to_string(&file).unwrap().contains("__version__"));
    }
}
