//! A composed config, and the ways to look at it: as YAML, as the tables of `--info`, as the folder and the files of a
//! job.

use std::fmt::Write;
use std::path::{Component, Path, PathBuf};

use indexmap::IndexMap;

use crate::defaults::{DefaultEntry, DefaultsTree};
use crate::error::ComposeError;
use crate::making::{Parts, hydra_key, set};
use crate::request::{AppliedOverrides, ComposeWarning};
use crate::resolve::{EvaluationSettings, Evaluator, Found, ResolveError};
use crate::sources::{SearchPath, Texts};
use crate::value::{Key, Map, Node, Value, python_str};
use crate::yaml;

/// Which part of a composition is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CompositionView {
    /// The config of the job.
    #[default]
    Job,
    /// The `hydra` node, without its help texts.
    Hydra,
    /// Everything.
    All,
}

/// A composed config. Its interpolations are still to be resolved.
#[derive(Debug, Clone)]
pub struct Composition {
    /// The config of the job.
    pub config: Node,
    /// The `hydra` node.
    pub hydra: Node,
    /// The configs it was made of, in the order of merging, Hydra's own first.
    pub defaults: Vec<DefaultEntry>,
    pub(crate) tree: DefaultsTree,
    /// What was chosen for each group, by the key that overrides it. Null is none.
    pub choices: IndexMap<String, Option<String>>,
    /// The overrides, as they were typed.
    pub overrides: AppliedOverrides,
    /// What was odd.
    pub warnings: Vec<ComposeWarning>,
    pub(crate) search_path: SearchPath,
    pub(crate) settings: EvaluationSettings,
    texts: Texts,
}

impl Composition {
    pub(crate) fn new(
        parts: Parts,
        search_path: SearchPath,
        texts: Texts,
        settings: EvaluationSettings,
    ) -> Self {
        let Parts { mut root, defaults, overrides, warnings } = parts;
        let hydra = root.shift_remove(&hydra_key());
        Self {
            config: Node::new(Value::Map(root)),
            hydra: hydra.unwrap_or(Node::new(Value::Null)),
            defaults: defaults.entries,
            tree: defaults.tree,
            choices: defaults.choices,
            overrides,
            warnings,
            search_path,
            settings,
            texts,
        }
    }

    /// The config of the job as YAML, as `--cfg job` prints it and `.hydra/config.yaml` holds it.
    pub fn job_yaml(&self) -> String {
        yaml::dump(&self.config)
    }

    /// A part of the composition as one config.
    pub fn view(&self, view: CompositionView) -> Node {
        let mut map = Map::new();
        if view != CompositionView::Job {
            let mut hydra = self.hydra.clone();
            if view == CompositionView::Hydra
                && let Some(fields) = hydra.as_map_mut()
            {
                fields.shift_remove(&Key::from("help"));
                fields.shift_remove(&Key::from("hydra_help"));
            }
            map.insert(hydra_key(), hydra);
        }
        if view != CompositionView::Hydra
            && let Some(config) = self.config.as_map()
        {
            map.extend(config.iter().map(|(key, node)| (key.clone(), node.clone())));
        }
        Node::new(Value::Map(map))
    }

    pub(crate) fn hydra_node(&self) -> Node {
        let mut map = Map::new();
        map.insert(hydra_key(), self.hydra.clone());
        Node::new(Value::Map(map))
    }

    /// The config of the job with every interpolation resolved, as `--cfg job --resolve` has it.
    pub fn resolved(&self) -> Result<Node, ComposeError> {
        self.resolved_view(CompositionView::Job)
    }

    /// A part of the composition with every interpolation resolved.
    pub fn resolved_view(&self, view: CompositionView) -> Result<Node, ComposeError> {
        let (asked, whole) = (self.view(view), self.view(CompositionView::All));
        let resolved = Evaluator::new(&asked, Some(&whole), &self.settings).resolve_all();
        resolved.map_err(|error| self.located(error, &asked))
    }

    /// The value at a path of the whole config, resolved, for whoever needs one value:
    /// `hydra.run.dir`. Nothing if it is missing or left open.
    pub fn value_at(&self, path: &str) -> Result<Option<Node>, ComposeError> {
        let whole = self.view(CompositionView::All);
        let found = Evaluator::new(&whole, Some(&whole), &self.settings).resolve_at(path);
        found.map_err(|error| self.located(error, &whole))
    }

    /// The text `--cfg` prints: YAML, or the bare value where a package is one.
    pub fn show(
        &self,
        view: CompositionView,
        package: Option<&str>,
        resolve: bool,
    ) -> Result<String, ComposeError> {
        let (asked, whole) = (self.view(view), self.view(CompositionView::All));
        let evaluator = Evaluator::new(&asked, Some(&whole), &self.settings);
        let Some(package) = package.filter(|package| *package != "_global_") else {
            let node = match resolve {
                true => evaluator.resolve_all().map_err(|error| self.located(error, &asked))?,
                false => asked.clone(),
            };
            return Ok(yaml::dump(&node));
        };
        let found = evaluator.look_up(package)?;
        let found = found.filter(|found| evaluator.value_of(found) != Value::Null);
        let Some(found) = found else {
            return Err(ComposeError::new(format!("there is no package '{package}' in the config")));
        };
        match evaluator.node_of(&found).filter(|_| matches!(found, Found::At(_))) {
            Some(node) if node.is_container() => {
                let node = if resolve { evaluator.resolve_at(package)?.unwrap_or(node) } else { node };
                Ok(format!("# @package {package}\n{}", yaml::dump(&node)))
            }
            _ => Ok(format!("{}\n", python_str(&evaluator.value_of(&found)))),
        }
    }

    fn located(&self, error: ResolveError, asked: &Node) -> ComposeError {
        let keys: Vec<&str> = error.key.split('.').collect();
        let origin = asked.get(&keys).map(|node| node.origin.clone());
        match origin {
            None => error.into(),
            Some(origin) => self.texts.show_place(ComposeError::from(error).placed(&origin)),
        }
    }

    /// The text of `--info defaults-tree`.
    pub fn defaults_tree_text(&self) -> String {
        let mut out = title("Defaults Tree");
        write_tree(&self.tree, 0, &mut out);
        out
    }

    /// The text of `--info defaults`.
    pub fn defaults_text(&self) -> String {
        let rows = self.defaults.iter().map(|entry| {
            let is_self = if entry.is_self { "True" } else { "False" };
            vec![entry.config_path.as_str(), &entry.package, is_self, &entry.parent]
        });
        let columns = ["Config path", "Package", "_self_", "Parent"];
        // The head of this table ends in a space, the rows do not.
        title("Defaults List") + &table(&columns, &rows.collect::<Vec<_>>(), " ")
    }

    /// The text of `--info searchpath`.
    pub fn search_path_text(&self) -> String {
        let entries = self.search_path.entries();
        let paths: Vec<String> = entries.iter().map(|entry| entry.source.to_string()).collect();
        let rows = entries.iter().zip(&paths);
        let rows = rows.map(|(entry, path)| vec![entry.provider.as_str(), path.as_str()]);
        title("Config search path") + &table(&["Provider", "Search path"], &rows.collect::<Vec<_>>(), "")
    }
}

fn title(text: &str) -> String {
    format!("\n{text}\n{}\n", "*".repeat(text.chars().count()))
}

fn write_tree(tree: &DefaultsTree, depth: usize, out: &mut String) {
    let colon = if tree.children().is_empty() { "" } else { ":" };
    // Writing to a text cannot fail.
    let _ = writeln!(out, "{}{}{colon}", "  ".repeat(depth), tree.label());
    for child in tree.children() {
        write_tree(child, depth + 1, out);
    }
}

fn table(head: &[&str], rows: &[Vec<&str>], head_end: &str) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.chain(head.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let line = |cells: &[&str]| {
        let padded = cells
            .iter()
            .enumerate()
            .map(|(column, cell)| format!("| {cell}{} ", " ".repeat(width(column) - cell.chars().count())));
        padded.collect::<String>() + "|"
    };
    let head = line(head) + head_end;
    let rule = "-".repeat(head.chars().count());
    let body: String = rows.iter().map(|row| line(row) + "\n").collect();
    format!("{head}\n{rule}\n{body}{rule}\n")
}

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
    /// `hydra.sweep.subdir`. Sets `hydra.runtime.output_dir` to it.
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

    pub(crate) fn folder_at(&self, key: &str) -> Result<PathBuf, ComposeError> {
        match self.value_at(key)? {
            // Python would take the word None for a folder.
            None | Some(Node { value: Value::Null, .. }) => {
                Err(ComposeError::of_key(key, "a folder", "nothing"))
            }
            Some(node) => Ok(PathBuf::from(python_str(&node.value))),
        }
    }
}

/// A path from the root, without `.` and `..`, as `os.path.abspath` writes it.
pub(crate) fn absolute(working_folder: &Path, path: &Path) -> PathBuf {
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
