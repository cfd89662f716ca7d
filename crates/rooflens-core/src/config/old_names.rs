//! Configs and overrides with old names: read as what they mean, with a line for each that says the new name.

use std::collections::BTreeSet;
use std::path::Path;

use rooflens_collect::project::migrate::{self, ConfigTree, Renamed};
use rooflens_collect::project::names;
use rooflens_compose::sources::{ConfigSource, GroupContent, SearchPath};
use rooflens_compose::{Composition, nearest};

use crate::error::Error;
use crate::observer::SharedObserver;
use crate::project::from_here;
use crate::shell::word;

/// A tree and overrides in today's words.
pub struct Today {
    /// Where configs are looked for.
    pub search_path: SearchPath,
    /// The overrides.
    pub overrides: Vec<String>,
}

/// A tree and overrides as they are.
pub fn as_written(folder: &Path, overrides: &[String]) -> Today {
    // Hydra tells the whole path of its sources.
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    Today { search_path: SearchPath::new(ConfigSource::folder(folder)), overrides: overrides.to_vec() }
}

/// Reads a tree and overrides as what they mean today, and says what was called otherwise.
pub fn today(
    folder: &Path,
    name: &str,
    overrides: &[String],
    observer: &SharedObserver,
) -> Result<Today, Error> {
    let tree = migrate::read(folder).unwrap_or_default();
    let migrated = migrate::migrate(&tree, &primary(name));
    if let Some(problem) = migrated.problems.first() {
        return Err(old_name(format!("{}: {}", place(folder, problem), told(problem))));
    }
    let is_old = !migrated.renamed.is_empty();
    let mut told_of = BTreeSet::new();
    for renamed in migrated.renamed.iter().filter(|renamed| told_of.insert(renamed.old.as_str())) {
        observer.info(&format!("note: {}: {}", place(folder, renamed), told(renamed)));
    }
    if is_old {
        let folder = word(&from_here(folder));
        observer
            .info(&format!("note: rooflens config migrate {folder} writes the new names into these files"));
    }
    let search_path = match is_old {
        // What is not YAML of this tree is not looked at: composition reads nothing else.
        true => SearchPath::new(ConfigSource::memory(migrated.files.clone())),
        false => as_written(folder, &[]).search_path,
    };
    let overrides = translated(overrides, &search_path, &migrated.files, observer)?;
    Ok(Today { search_path, overrides })
}

fn old_name(problem: String) -> Error {
    Error::usage(problem).words("docs/migrating.md lists the old names")
}

fn translated(
    overrides: &[String],
    search_path: &SearchPath,
    files: &ConfigTree,
    observer: &SharedObserver,
) -> Result<Vec<String>, Error> {
    // One that is nearly an option is a mistake in it, not a value of its own.
    let has_option = |group: &str, option: &str| {
        let options = search_path.list(group, GroupContent::Options);
        nearest(option, options.iter().map(String::as_str)).is_some()
    };
    let has_group =
        |key: &str| files.values().flat_map(|text| migrate::defaults(text)).any(|there| there == key);
    let mut today = Vec::new();
    for typed in overrides {
        let text = &migrate::interpolated(typed);
        if text != typed {
            observer.info(&format!("note: {typed} is called {text} in Rooflens"));
        }
        match names::translate(text, has_option, has_group).map_err(old_name)? {
            None => today.push(text.clone()),
            Some(translated) => {
                observer.info(&format!("note: {}", translated.note));
                today.extend(translated.overrides);
            }
        }
    }
    Ok(today)
}

/// The file that composition begins with.
pub fn primary(name: &str) -> String {
    format!("{}.yaml", name.trim_end_matches(".yaml"))
}

/// The file and line of an old name.
pub fn place(folder: &Path, renamed: &Renamed) -> String {
    format!("{}:{}", from_here(&folder.join(&renamed.file)).display(), renamed.line)
}

/// What became of an old name.
pub fn told(renamed: &Renamed) -> String {
    match renamed.new.starts_with("not needed") {
        true => format!("{} is {}", renamed.old, renamed.new),
        false => format!("{} is called {}", renamed.old, renamed.new),
    }
}

/// The files of a folder of configs.
pub fn read(folder: &Path) -> Result<ConfigTree, Error> {
    migrate::read(folder)
        .map_err(|(path, source)| Error::unreadable(rooflens_ingest::IngestError::Io { path, source }))
}

/// Says what was odd about a config.
pub fn warn(composition: &Composition, observer: &SharedObserver) {
    for warning in &composition.warnings {
        observer.info(&format!("warning: {warning}"));
    }
}
