//! Which paths may be read.

use std::path::{Path, PathBuf};

/// No folder of traces and no run directory has more.
const MOST_FILES: usize = 20_000;

/// Folders below which everything may be read, and nothing else.
#[derive(Debug, Clone)]
pub(crate) struct Roots {
    folders: Vec<PathBuf>,
}

impl Roots {
    /// These folders, as they really are: links are followed once, now.
    pub(crate) fn new(folders: &[PathBuf]) -> Result<Self, String> {
        let failed = |path: &PathBuf, source| format!("{} cannot be read: {source}", path.display());
        let real = |path: &PathBuf| path.canonicalize().map_err(|source| failed(path, source));
        Ok(Roots { folders: folders.iter().map(real).collect::<Result<_, _>>()? })
    }

    pub(crate) fn words(&self) -> String {
        self.folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(", ")
    }

    /// A path that may be read. Relative ones begin at the first folder that has them.
    pub(crate) fn allowed(&self, typed: &str) -> Result<PathBuf, String> {
        let path = Path::new(typed);
        let candidates: Vec<PathBuf> = match path.is_absolute() {
            true => vec![path.to_owned()],
            false => self.folders.iter().map(|folder| folder.join(path)).collect(),
        };
        for candidate in &candidates {
            if let Ok(real) = candidate.canonicalize() {
                // Whether a file outside exists is not told.
                if !self.contains(&real) {
                    return Err(self.refusal(typed));
                }
                if !real.is_file() && !real.is_dir() {
                    return Err(format!("{typed} is neither a file nor a folder"));
                }
                self.check_folder(&real, typed, &mut 0)?;
                return Ok(real);
            }
        }
        let is_inside = |path: &PathBuf| self.folders.iter().any(|folder| path.starts_with(folder));
        let has_parent = path.components().any(|part| part == std::path::Component::ParentDir);
        match candidates.iter().any(is_inside) && !has_parent {
            true => Err(format!("{typed} does not exist below {}", self.words())),
            false => Err(self.refusal(typed)),
        }
    }

    pub(crate) fn all_allowed(&self, typed: &[String]) -> Result<Vec<PathBuf>, String> {
        typed.iter().map(|path| self.allowed(path)).collect()
    }

    /// Fails where something in a folder is a link out of the roots: folders of traces and runs are read as a whole.
    fn check_folder(&self, folder: &Path, typed: &str, seen: &mut usize) -> Result<(), String> {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            *seen += 1;
            if *seen > MOST_FILES {
                return Err(format!("{typed} has more than {MOST_FILES} files: name a folder or file in it"));
            }
            let path = entry.path();
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_symlink() && path.canonicalize().is_ok_and(|real| !self.contains(&real)) {
                return Err(format!(
                    "{typed} has a link, {}",
                    self.refusal(&entry.file_name().to_string_lossy())
                ));
            }
            if kind.is_dir() {
                self.check_folder(&path, typed, seen)?;
            } else if !path.is_file() && !path.is_dir() && path.exists() {
                // Reading a pipe may never end.
                return Err(format!("{typed} has something that is neither a file nor a folder"));
            }
        }
        Ok(())
    }

    fn contains(&self, real: &Path) -> bool {
        self.folders.iter().any(|folder| real.starts_with(folder))
    }

    fn refusal(&self, typed: &str) -> String {
        format!("{typed} is outside of what this server may read: {}", self.words())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn nothing_outside_of_the_roots_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let (inside, outside) = (folder.path().join("inside"), folder.path().join("outside"));
        fs::create_dir_all(inside.join("deep")).expect("a folder");
        fs::create_dir_all(&outside).expect("a folder");
        fs::write(inside.join("deep/trace.json"), "{}").expect("a file");
        fs::write(outside.join("secret.json"), "{}").expect("a file");
        std::os::unix::fs::symlink(outside.join("secret.json"), inside.join("link.json")).expect("a link");
        let roots = Roots::new(std::slice::from_ref(&inside)).expect("a folder");
        assert!(roots.allowed("deep/trace.json").is_ok());
        assert!(roots.allowed(&inside.join("deep/../deep/trace.json").display().to_string()).is_ok());
        let outside = outside.join("secret.json").display().to_string();
        let refused = ["../outside/secret.json", "link.json", &outside, "/etc/passwd", "../none", "/none"];
        for path in refused {
            let error = roots.allowed(path).expect_err("refused");
            assert!(error.contains("outside of what this server may read"), "{path}: {error}");
        }
        // A run whose tables are elsewhere.
        fs::create_dir_all(inside.join("run")).expect("a folder");
        std::os::unix::fs::symlink(folder.path().join("outside"), inside.join("run/tables")).expect("a link");
        let error = roots.allowed("run").expect_err("refused");
        assert!(error.contains("outside of what this server may read"), "{error}");
        assert!(roots.allowed("none.json").expect_err("not there").contains("does not exist"));
    }
}
