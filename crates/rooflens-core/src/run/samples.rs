//! Where the samples of a run are: the config as a workload reads it, with the folder and list of `dataset.variant`,
//! and with the kind of the files where `dataset.kind` leaves that to them.

use std::path::{Path, PathBuf};

use rooflens_collect::project::ProjectError;
use rooflens_collect::project::assets::variants::{VariantFiles, locate_variant};
use rooflens_collect::settings::Dataset;
use rooflens_compose::value::{Key, Node, Value};

const KINDS: &[(&str, &[&str])] = &[
    ("image", &["jpg", "jpeg", "png", "webp", "bmp", "tif", "tiff"]),
    ("jsonl", &["jsonl", "jsonl.gz"]),
    ("text", &["txt", "md"]),
];

/// Files that are looked at, and how deep folders may be.
const MOST: usize = 10_000;
const DEPTH: usize = 4;

/// The config with nothing about its samples left to find out.
pub(crate) fn located(config: &Node, dataset: &Dataset, project: &Path) -> Result<Node, ProjectError> {
    let mut config = config.clone();
    let path = |path: &Path| Value::Str(path.to_string_lossy().into_owned());
    let (mut root, mut list) = (PathBuf::from(&dataset.root), dataset.filelist.as_ref().map(PathBuf::from));
    if let Some(variant) = &dataset.variant {
        let files: VariantFiles = locate_variant(project, &root, variant)?;
        (root, list) = (files.root, files.list);
        set(&mut config, "root", path(&root));
        set(&mut config, "filelist", list.as_deref().map_or(Value::Null, path));
        set(&mut config, "variant", Value::Null);
    }
    if dataset.kind == "auto" {
        let (kind, endings) =
            kind_of(&names(&project.join(root), list.map(|list| project.join(list)).as_deref()));
        set(&mut config, "kind", Value::Str(kind.to_owned()));
        if !dataset.has_patterns {
            let pattern = |ending: &&str| Node::new(Value::Str(format!("**/*.{ending}")));
            set(&mut config, "patterns", Value::List(endings.iter().map(pattern).collect()));
        }
    }
    Ok(config)
}

fn set(config: &mut Node, key: &str, value: Value) {
    if let Value::Map(keys) = &mut config.value
        && let Some(Value::Map(keys)) = keys.get_mut(&Key::from("dataset")).map(|node| &mut node.value)
    {
        keys.insert(Key::from(key), Node::new(value));
    }
}

/// The samples of a list, or the files of a folder. What cannot be read has none: the workload says why.
fn names(root: &Path, list: Option<&Path>) -> Vec<String> {
    if let Some(list) = list {
        let text = std::fs::read_to_string(list).unwrap_or_default();
        return text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect();
    }
    let mut found = Vec::new();
    let mut open = vec![(root.to_owned(), 0)];
    while let Some((folder, depth)) = open.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() && depth < DEPTH {
                open.push((path, depth + 1));
            } else if found.len() < MOST {
                found.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
    }
    found
}

/// The kind that most files are of; text where none is of any.
fn kind_of(names: &[String]) -> (&'static str, &'static [&'static str]) {
    let count = |endings: &[&str]| {
        let is_one = |name: &&String| {
            let name = name.to_ascii_lowercase();
            endings.iter().any(|ending| name.strip_suffix(ending).is_some_and(|stem| stem.ends_with('.')))
        };
        names.iter().filter(is_one).count()
    };
    // The last of several is taken where they are as many: text.
    let most = KINDS.iter().copied().max_by_key(|(_, endings)| count(endings));
    most.unwrap_or(("text", &["txt"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_files_decide_the_kind() {
        let kind = |names: &[&str]| kind_of(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>()).0;
        assert_eq!(kind(&["a.PNG", "b.jpg", "README.md"]), "image");
        assert_eq!(kind(&["train.jsonl.gz"]), "jsonl");
        assert_eq!(kind(&["a.txt", "b.txt", "c.png"]), "text");
        assert_eq!(kind(&[]), "text");
        assert_eq!(kind(&["notes.xjpg"]), "text");
    }
}
