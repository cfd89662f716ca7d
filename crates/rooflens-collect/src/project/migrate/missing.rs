//! What a tree lacks for a run: files and values of the skeleton.

use super::document::{Document, WrittenValue, YamlEntry};
use super::packages::defaults;
use super::{ConfigTree, Migrated};
use crate::project::skeleton;

pub(crate) const BASE: &str = "rooflens.yaml";

const OF_THE_EXAMPLE: &[&str] = &["model/", "dataset/starter", "experiment/", "config.yaml"];

pub(crate) fn lacks(files: &ConfigTree, primary: &str) -> bool {
    files.get(primary).is_some_and(|text| !keys(text).iter().any(|key| key.starts_with("pipeline/")))
}

/// Adds what the tree has not: values that every run needs, settings of its runtimes, and the options of Rooflens.
pub(crate) fn complete(made: &mut Migrated, primary: &str) {
    let before = made.files.clone();
    for (path, text) in skeleton_configs() {
        let is_example = OF_THE_EXAMPLE.iter().any(|start| path.starts_with(start));
        if !is_example && !before.contains_key(path) {
            made.files.insert(path.to_owned(), text.to_owned());
            made.added.push(path.to_owned());
        }
    }
    made.files.insert(BASE.to_owned(), base());
    made.added.push(BASE.to_owned());
    for (path, text) in &before {
        if path.starts_with("runtime/")
            && let Some(whole) = runtime(text)
        {
            made.files.insert(path.clone(), whole);
        }
    }
    if let Some(text) = before.get(primary) {
        made.files.insert(primary.to_owned(), with_defaults(text, &before));
    }
    made.added.sort();
}

fn skeleton_configs() -> impl Iterator<Item = (&'static str, &'static str)> {
    let files = skeleton::files(&skeleton::SkeletonOptions::default());
    files.into_iter().filter_map(|file| {
        let path = file.path.strip_prefix("conf/").filter(|path| path.ends_with(".yaml"))?;
        Some((path, file.contents))
    })
}

fn skeleton_document(path: &str) -> Document {
    let found = skeleton_configs().find(|(name, _)| *name == path);
    found.and_then(|(_, text)| Document::read(text)).unwrap_or_default()
}

fn base() -> String {
    let mut root = skeleton_document("config.yaml");
    root.entries.retain(|entry| entry.key != "defaults");
    let mut below = |path: &[&str], file: &str, left: &[&str]| {
        for entry in skeleton_document(file).entries {
            if !left.contains(&entry.key.as_str()) {
                root.put(path, entry);
            }
        }
    };
    below(&["model"], "model/tiny-random/arch/default.yaml", &["name", "path"]);
    below(&["infer"], "model/tiny-random/infer/greedy.yaml", &[]);
    below(&["dataset"], "dataset/starter.yaml", &["name", "root", "kind", "patterns"]);
    below(&["dataset", "sampling"], "dataset/sampling/all.yaml", &[]);
    below(&["hardware"], "hardware/auto.yaml", &[]);
    // Such trees do not say what their files are.
    root.put(&["dataset"], YamlEntry::new("kind", "auto"));
    root.put(&["dataset"], YamlEntry::new("patterns", "[]"));
    // Answers end where the model ends them, as they did.
    root.put(&["infer"], YamlEntry::new("ignore_eos", "false"));
    format!(
        "# @package _global_\n# Values that every run needs. What other files set wins.\n\n{}",
        root.text().trim_start()
    )
}

/// A runtime with the settings of its own that it does not set; nothing where it is none of ours.
fn runtime(text: &str) -> Option<String> {
    let mut document = Document::read(text)?;
    let is_global = document.get(&["runtime"]).is_some();
    let name = document.get(if is_global { &["runtime", "name"] } else { &["name"] })?.scalar()?;
    let known = skeleton_document(&format!("runtime/{name}.yaml"));
    if known.entries.is_empty() {
        return None;
    }
    let more = if is_global {
        Document { entries: vec![YamlEntry::map("runtime", known)], tail: Vec::new() }
    } else {
        known
    };
    document.complete(&more);
    Some(document.text())
}

fn with_defaults(text: &str, files: &ConfigTree) -> String {
    let Some(mut document) = Document::read(text) else { return text.to_owned() };
    let own: Vec<String> = keys(text);
    let mut lines = vec![String::new(), format!("  - {}", BASE.trim_end_matches(".yaml"))];
    let skeleton = skeleton_configs().find(|(path, _)| *path == "config.yaml").map_or("", |(_, text)| text);
    for line in skeleton
        .lines()
        .skip_while(|line| *line != "defaults:")
        .skip(1)
        .take_while(|line| line.starts_with(' ') || line.is_empty())
    {
        let item = line.trim_start().trim_start_matches("- ").trim_start_matches("optional ");
        let Some((key, rest)) = item.split_once(": ").filter(|_| !item.starts_with('#')) else { continue };
        let option = rest.split_whitespace().next().unwrap_or_default();
        let group = key.split('@').next().unwrap_or(key);
        let is_example = OF_THE_EXAMPLE.iter().any(|start| format!("{group}/{option}").starts_with(start));
        let is_there =
            own.iter().any(|own| own == key || own.starts_with(&format!("{group}/")) && group == "model");
        let is_own = group == "profiling" && has_profiling(files);
        if !(is_there || is_example || is_own) {
            lines.push(format!("  {}", line.trim_start().split(" #").next().unwrap_or_default().trim_end()));
        }
    }
    match document.entries.iter_mut().find(|entry| entry.key == "defaults") {
        Some(YamlEntry { value: WrittenValue::Text(there), .. }) => {
            let items = there.iter().skip(1).filter(|line| !line.trim().is_empty());
            lines.extend(items.map(|line| format!("  {}", line.trim_start())));
            *there = lines;
        }
        _ => {
            lines.push("  - _self_".to_owned());
            let entry = YamlEntry { value: WrittenValue::Text(lines), ..YamlEntry::new("defaults", "") };
            document.entries.insert(0, entry);
        }
    }
    document.text()
}

fn has_profiling(files: &ConfigTree) -> bool {
    files.keys().any(|path| path.starts_with("profiling/") || path == "profiling.yaml")
}

fn keys(text: &str) -> Vec<String> {
    let plain = |key: String| key.trim_start_matches("optional ").trim_start_matches('/').to_owned();
    defaults(text).into_iter().map(plain).collect()
}
