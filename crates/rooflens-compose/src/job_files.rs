//! The folder of a job, and the files by which Hydra remembers how it was composed.

use std::path::{Component, Path, PathBuf};

use crate::composition::{Composition, CompositionView};
use crate::error::{ComposeError, Fault};
use crate::multirun::Multirun;
use crate::runtime::set;
use crate::value::{Node, Value, python_str};
use crate::yaml;

/// A file to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobFile {
    /// Where, from the folder it belongs to.
    pub path: PathBuf,
    /// What it holds.
    pub text: String,
}

impl Composition {
    /// Gives a job its folder: `hydra.run.dir`, or within a sweep `hydra.sweep.dir` and
    /// `hydra.sweep.subdir`. From then on `hydra.runtime.output_dir` says so.
    ///
    /// # Errors
    /// Where the config names no folder.
    pub fn begin(&mut self, in_sweep: bool) -> Result<PathBuf, ComposeError> {
        let folder = if in_sweep {
            self.folder_at("hydra.sweep.dir")?.join(self.folder_at("hydra.sweep.subdir")?)
        } else {
            self.folder_at("hydra.run.dir")?
        };
        let folder = absolute(&self.settings.host.working_folder, &folder);
        let text = folder.to_string_lossy().into_owned();
        set(&mut self.hydra, &["runtime", "output_dir"], Value::Str(text));
        Ok(folder)
    }

    /// The files that Hydra leaves in a job's folder: `config.yaml`, `hydra.yaml` and
    /// `overrides.yaml` in `hydra.output_subdir`; none where that is null.
    ///
    /// # Errors
    /// Where an interpolation in `hydra.output_subdir` has no answer.
    pub fn hydra_files(&self) -> Result<Vec<JobFile>, ComposeError> {
        let subfolder = match self.value_at("hydra.output_subdir")? {
            None | Some(Node { value: Value::Null, .. }) => return Ok(Vec::new()),
            Some(node) => PathBuf::from(python_str(&node.value)),
        };
        let lines = self.overrides.task.iter().map(|line| Node::new(Value::Str(line.clone())));
        let overrides = Node::new(Value::List(lines.collect()));
        let file = |name: &str, text| JobFile { path: subfolder.join(name), text };
        Ok(vec![
            file("config.yaml", self.job_yaml()),
            file("hydra.yaml", yaml::dump(&self.hydra_node())),
            file("overrides.yaml", yaml::dump(&overrides)),
        ])
    }

    fn folder_at(&self, key: &str) -> Result<PathBuf, ComposeError> {
        match self.value_at(key)? {
            // Python would take the word None for a folder.
            None | Some(Node { value: Value::Null, .. }) => {
                let (key, found) = (key.to_owned(), "nothing".to_owned());
                Err(Fault::FieldKind { key, expected: "a folder", found }.into())
            }
            Some(node) => Ok(PathBuf::from(python_str(&node.value))),
        }
    }
}

impl Multirun {
    /// The folder of the sweep: `hydra.sweep.dir`.
    ///
    /// # Errors
    /// Where the config names no folder.
    pub fn folder(&self) -> Result<PathBuf, ComposeError> {
        let folder = self.master.folder_at("hydra.sweep.dir")?;
        Ok(absolute(&self.master.settings.host.working_folder, &folder))
    }

    /// The file that Hydra leaves in the folder of a sweep.
    #[must_use]
    pub fn hydra_file(&self) -> JobFile {
        JobFile {
            path: PathBuf::from("multirun.yaml"),
            text: yaml::dump(&self.master.view(CompositionView::All)),
        }
    }
}

/// A path from the root, without `.` and `..`, as `os.path.abspath` writes it.
fn absolute(working_folder: &Path, path: &Path) -> PathBuf {
    let mut whole = PathBuf::new();
    for component in working_folder.join(path).components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(whole.pop()),
            other => whole.push(other),
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_one_name() {
        let here = Path::new("/a/b");
        assert_eq!(absolute(here, Path::new("./c/../d/")), Path::new("/a/b/d"));
        assert_eq!(absolute(here, Path::new("../../../x")), Path::new("/x"));
        assert_eq!(absolute(here, Path::new("/out")), Path::new("/out"));
    }
}
