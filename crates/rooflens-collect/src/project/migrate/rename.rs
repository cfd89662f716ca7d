//! One file in today's words.

use std::collections::BTreeSet;

use super::document::{Document, WrittenValue, YamlEntry};
use super::packages::{self, Packages};
use super::{Migrated, Renamed};
use crate::project::names::{self, MatchedName};

struct Moved {
    path: String,
    entry: YamlEntry,
}

/// The file, and a second one where settings must leave it and its defaults list holds its package in place.
pub(crate) fn file(
    path: &str,
    text: &str,
    packages: &Packages,
    made: &mut Migrated,
) -> Vec<(String, String)> {
    // Most files have nothing to change, and every run asks.
    if !packages.is_old(path) && !text.contains("${") {
        return vec![(path.to_owned(), text.to_owned())];
    }
    let package = packages.package(path, text);
    let Some(mut document) = Document::read(text) else { return vec![(path.to_owned(), text.to_owned())] };
    let interpolated = interpolations(&mut document);
    let mut work = Work { file: path, set: packages.set(), made, moved: Vec::new(), touched: false };
    work.visit(&mut document, &package);
    if !work.touched && !interpolated {
        return vec![(path.to_owned(), text.to_owned())];
    }
    let moved = std::mem::take(&mut work.moved);
    let (inside, outside): (Vec<Moved>, Vec<Moved>) =
        moved.into_iter().partition(|moved| below(&moved.path, &package).is_some());
    for moved in inside {
        put(&mut document, below(&moved.path, &package).unwrap_or_default(), moved.entry);
    }
    prune(&mut document);
    if outside.is_empty() {
        return vec![(path.to_owned(), document.text())];
    }
    // Where other configs are mounted relative to this file, or this file by another one, its package must stay.
    let mounts = packages::defaults(text).iter().any(|key| key != "_self_");
    if (mounts || packages.is_mounted(path)) && !package.is_empty() {
        return with_companion(path, document, outside);
    }
    vec![(path.to_owned(), global(document, &package, outside))]
}

fn global(mut document: Document, package: &str, outside: Vec<Moved>) -> String {
    let (header, comment) = head(&mut document);
    let defaults = document.entries.iter().position(|entry| entry.key == "defaults");
    let defaults = defaults.map(|at| document.entries.remove(at));
    let mut whole =
        Document { entries: defaults.into_iter().collect(), tail: std::mem::take(&mut document.tail) };
    let inner = std::mem::take(&mut document.entries);
    for entry in inner {
        let names: Vec<&str> = package.split('.').filter(|name| !name.is_empty()).collect();
        whole.put(&names, entry);
    }
    for moved in outside {
        put(&mut whole, &moved.path, moved.entry);
    }
    prune(&mut whole);
    let header = if package.is_empty() { header } else { vec!["# @package _global_".to_owned()] };
    let lines = header.into_iter().chain(comment).map(|line| line + "\n");
    lines.collect::<String>() + &whole.text()
}

fn with_companion(path: &str, mut document: Document, outside: Vec<Moved>) -> Vec<(String, String)> {
    let stem = path.trim_end_matches(".yaml");
    let name = stem.rsplit('/').next().unwrap_or(stem);
    let mut beside = Document::default();
    for moved in outside {
        put(&mut beside, &moved.path, moved.entry);
    }
    if let Some(entry) = document.entries.iter_mut().find(|entry| entry.key == "defaults")
        && let WrittenValue::Text(lines) = &mut entry.value
    {
        let margin =
            lines.get(1).map_or("  ", |line| &line[..line.len() - line.trim_start().len()]).to_owned();
        lines.push(format!("{margin}- {name}-moved@_global_"));
    } else {
        let lines = [String::new(), format!("  - {name}-moved@_global_"), "  - _self_".to_owned()];
        let entry = YamlEntry { value: WrittenValue::Text(lines.into()), ..YamlEntry::new("defaults", "") };
        document.entries.insert(0, entry);
    }
    let moved = format!("# @package _global_\n{}", beside.text());
    vec![(path.to_owned(), document.text()), (format!("{stem}-moved.yaml"), moved)]
}

fn head(document: &mut Document) -> (Vec<String>, Vec<String>) {
    let lines = match document.entries.first_mut() {
        Some(first) => std::mem::take(&mut first.before),
        None => Vec::new(),
    };
    let last = lines.iter().rposition(String::is_empty);
    // A comment that an empty line follows is the file's own; another belongs to the first key.
    let (own, of_key) = lines.split_at(last.map_or(0, |at| at + 1));
    let (headers, of_key): (Vec<&String>, Vec<&String>) =
        of_key.iter().partition(|line| line.trim_start_matches('#').trim_start().starts_with("@package"));
    if let Some(first) = document.entries.first_mut() {
        first.before = of_key.into_iter().cloned().collect();
    }
    let is_header = |line: &&String| line.trim_start_matches('#').trim_start().starts_with("@package");
    let header = own.iter().filter(is_header).chain(headers).cloned().collect();
    (header, own.iter().filter(|line| !is_header(line)).cloned().collect())
}

pub(super) const SWEEP: &str = "hydra.sweeper.params";
pub(super) const PICTURES: &str = "model.preprocess";

fn is_off(entry: &YamlEntry) -> bool {
    let WrittenValue::Map(inner, _) = &entry.value else { return false };
    inner.get(&["enable"]).and_then(YamlEntry::scalar).is_some_and(|value| value == "false")
}

struct Work<'a> {
    file: &'a str,
    set: &'a BTreeSet<String>,
    made: &'a mut Migrated,
    moved: Vec<Moved>,
    touched: bool,
}

impl Work<'_> {
    fn visit(&mut self, document: &mut Document, path: &str) {
        let mut kept = Vec::new();
        for mut entry in std::mem::take(&mut document.entries) {
            let full = if path.is_empty() { entry.key.clone() } else { format!("{path}.{}", entry.key) };
            // Two names for one setting, where one referred to the other.
            if matches!(&entry.value, WrittenValue::Text(lines) if lines.len() == 1 && lines[0] == format!("${{{full}}}"))
            {
                self.touched = true;
                continue;
            }
            if full == SWEEP {
                self.sweep(&mut entry);
            }
            if full == PICTURES && is_off(&entry) {
                self.touched = true;
                let (file, line, old) = (self.file.to_owned(), entry.line, full);
                let new = "not needed: it is switched off".to_owned();
                self.made.renamed.push(Renamed { file, line, old, new });
                continue;
            }
            match names::table().find(&full).filter(|found| applies(found, &entry)) {
                Some(found) => {
                    self.touched = true;
                    // In its own place, where only the last name changes and the value with it.
                    if let Some(entry) = self.change(&found, &full, entry, path) {
                        // Two old names may have become one: the later wins, as in a file.
                        kept.retain(|other: &YamlEntry| other.key != entry.key);
                        kept.push(entry);
                    }
                }
                None => {
                    if let WrittenValue::Map(inner, _) = &mut entry.value {
                        self.visit(inner, &full);
                    }
                    kept.push(entry);
                }
            }
        }
        document.entries = kept;
    }

    fn sweep(&mut self, entry: &mut YamlEntry) {
        let WrittenValue::Map(inner, _) = &mut entry.value else { return };
        for swept in &mut inner.entries {
            let Some(new) =
                names::table().find(&swept.key).filter(MatchedName::is_rename).and_then(|found| found.new)
            else {
                continue;
            };
            self.touched = true;
            let (file, old) = (self.file.to_owned(), std::mem::replace(&mut swept.key, new.clone()));
            self.made.renamed.push(Renamed { file, line: swept.line, old, new });
        }
    }

    fn change(
        &mut self,
        found: &MatchedName<'_>,
        full: &str,
        mut entry: YamlEntry,
        parent: &str,
    ) -> Option<YamlEntry> {
        let tell = |made: &mut Vec<Renamed>, new: String| {
            made.push(Renamed { file: self.file.to_owned(), line: entry.line, old: full.to_owned(), new });
        };
        let Some(new) = &found.new else {
            let why = found.row.why.clone().unwrap_or_default();
            tell(&mut self.made.renamed, format!("not needed: {why}"));
            return None;
        };
        if found.row.unless_set && self.set.contains(new) {
            tell(&mut self.made.renamed, format!("not needed: {new} is set"));
            return None;
        }
        if found.is_rename() {
            tell(&mut self.made.renamed, new.clone());
            if let WrittenValue::Map(inner, _) = &mut entry.value {
                self.visit(inner, new);
            }
            return self.settle(parent, new, entry);
        }
        let changed = entry.scalar().ok_or_else(|| "only a plain value can be translated".to_owned());
        let changed = changed.and_then(|value| found.change(&value));
        match changed {
            Err(problem) => {
                tell(&mut self.made.problems, format!("{new}, but {problem}"));
                Some(entry)
            }
            Ok(changed) => {
                let shown: Vec<String> =
                    changed.iter().map(|(key, value)| format!("{key}={value}")).collect();
                let why = found.row.why.clone().unwrap_or_default();
                let shown = if shown.is_empty() { format!("not needed: {why}") } else { shown.join(" ") };
                tell(&mut self.made.renamed, shown);
                let mut stays = None;
                for (key, value) in changed {
                    let value = WrittenValue::Text(vec![value]);
                    let entry = YamlEntry { value, ..entry.clone() };
                    stays = self.settle(parent, &key, entry).or(stays);
                }
                stays
            }
        }
    }

    fn settle(&mut self, parent: &str, new: &str, mut entry: YamlEntry) -> Option<YamlEntry> {
        let (section, name) = new.rsplit_once('.').unwrap_or(("", new));
        entry.key = name.to_owned();
        if section == parent {
            return Some(entry);
        }
        self.moved.push(Moved { path: new.to_owned(), entry });
        None
    }
}

/// A name that also is a group's stands for a value only where it has one; a name that stays, only where its value is
/// of another kind.
fn applies(found: &MatchedName<'_>, entry: &YamlEntry) -> bool {
    match found.keeps_name() {
        true => entry.scalar().is_some_and(|value| value != "null"),
        false => found.row.test.is_none() || matches!(entry.value, WrittenValue::Text(_)),
    }
}

fn put(document: &mut Document, path: &str, entry: YamlEntry) {
    let names: Vec<&str> = path.split('.').filter(|name| !name.is_empty()).collect();
    match (names.split_last(), entry.value) {
        (None, WrittenValue::Map(inner, _)) => {
            inner.entries.into_iter().for_each(|entry| document.put(&[], entry))
        }
        (Some((name, section)), value) => {
            document.put(section, YamlEntry { key: (*name).to_owned(), value, ..entry })
        }
        (None, WrittenValue::Text(_)) => {}
    }
}

fn prune(document: &mut Document) {
    document.entries.retain_mut(|entry| match &mut entry.value {
        WrittenValue::Map(inner, _) => {
            prune(inner);
            !inner.entries.is_empty()
        }
        WrittenValue::Text(_) => true,
    });
}

fn below<'a>(path: &'a str, package: &str) -> Option<&'a str> {
    match path.strip_prefix(package)? {
        "" => Some(""),
        rest if package.is_empty() => Some(rest),
        rest => rest.strip_prefix('.'),
    }
}

/// `${experiment}` and its like, wherever they are written. Whether there was one.
fn interpolations(document: &mut Document) -> bool {
    let mut changed = false;
    for entry in &mut document.entries {
        match &mut entry.value {
            WrittenValue::Map(inner, _) => changed |= interpolations(inner),
            WrittenValue::Text(lines) => {
                for line in lines {
                    let new = interpolated(line);
                    changed |= new != *line;
                    *line = new;
                }
            }
        }
    }
    changed
}

/// A text with today's names in its interpolations.
pub fn interpolated(line: &str) -> String {
    // Most lines have none.
    if !line.contains("${") {
        return line.to_owned();
    }
    let renames = names::table().renames().filter(|(old, _)| !old.contains('*'));
    renames.fold(line.to_owned(), |line, (old, new)| {
        line.replace(&format!("${{{old}}}"), &format!("${{{new}}}"))
    })
}
