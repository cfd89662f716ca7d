//! `rooflens config migrate`: a tree of configs, written anew in today's words.

use std::fs;
use std::path::{Path, PathBuf};

use rooflens_collect::project::migrate::{ConfigTree, Migrated, migrate as in_todays_words};
use rooflens_core::config::document::ConfigMigratedDocument;
use rooflens_core::config::old_names::{place, primary, read, told};
use rooflens_core::error::{Error, Hint};
use rooflens_core::project::from_here;
use rooflens_core::shell::word;
use rooflens_core::text::counted;

use crate::error::CliError;
use crate::output;

pub(crate) struct Migration {
    pub(crate) folder: PathBuf,
    pub(crate) name: String,
    /// Where to write it; in place by default.
    pub(crate) output: Option<PathBuf>,
    /// Whether to show only what would change.
    pub(crate) dry_run: bool,
    pub(crate) json: bool,
}

pub(crate) fn migrate(asked: &Migration) -> Result<(), CliError> {
    if !asked.folder.is_dir() {
        return Err(Error::no_config_folder(&asked.folder).into());
    }
    let tree = read(&asked.folder)?;
    let made = in_todays_words(&tree, &primary(&asked.name));
    let output = asked.output.as_deref().unwrap_or(&asked.folder);
    let in_place = asked.output.is_none();
    let written: Vec<&String> = match in_place {
        true => {
            made.files.iter().filter(|(path, text)| tree.get(*path) != Some(text)).map(|it| it.0).collect()
        }
        false => made.files.keys().collect(),
    };
    let kept = (in_place && !written.is_empty() && !asked.dry_run).then(|| beside(&asked.folder));
    if !asked.dry_run {
        if !in_place && output.read_dir().is_ok_and(|mut inside| inside.next().is_some()) {
            let hint = format!("choose another folder than {}", word(output));
            let fact = format!("{} is not empty: nothing was written", output.display());
            return Err(CliError::usage(fact, Hint::words(hint)));
        }
        if let Some(kept) = &kept {
            write(kept, &tree, &tree.keys().collect::<Vec<_>>())?;
        }
        write(output, &made.files, &written)?;
    }
    if asked.json {
        let written = written.into_iter().cloned().collect();
        let document = ConfigMigratedDocument::new(&made.renamed, &made.problems, written, kept);
        return output::json(&document);
    }
    output::text(&text(asked, &made, &written, kept.as_deref()))
}

/// Where the files that are overwritten are kept.
fn beside(folder: &Path) -> PathBuf {
    let name = folder.file_name().map_or_else(|| "conf".into(), |name| name.to_string_lossy());
    let parent = folder.parent().unwrap_or_else(|| Path::new(""));
    let mut kept = parent.join(format!("{name}.before-migration"));
    let mut number = 2;
    while kept.exists() {
        kept = parent.join(format!("{name}.before-migration-{number}"));
        number += 1;
    }
    kept
}

fn write(folder: &Path, files: &ConfigTree, paths: &[&String]) -> Result<(), CliError> {
    for path in paths {
        let (file, text) = (folder.join(path), files.get(*path).map_or("", String::as_str));
        let parent = file.parent().unwrap_or(folder);
        let written = fs::create_dir_all(parent).and_then(|()| fs::write(&file, text));
        written.map_err(|source| Error::unwritable(file, source))?;
    }
    Ok(())
}

fn text(asked: &Migration, made: &Migrated, written: &[&String], kept: Option<&Path>) -> String {
    let mut lines: Vec<String> = Vec::new();
    for renamed in &made.renamed {
        lines.push(format!("{}: {}", place(&asked.folder, renamed), told(renamed)));
    }
    for problem in &made.problems {
        lines.push(format!("{}: change this by hand: {}", place(&asked.folder, problem), told(problem)));
    }
    if !made.added.is_empty() {
        lines.push(format!(
            "{} added by Rooflens: {}",
            counted(made.added.len(), "file"),
            made.added.join(", ")
        ));
    }
    let output = from_here(asked.output.as_deref().unwrap_or(&asked.folder));
    lines.push(match (written.len(), asked.dry_run) {
        (0, _) => format!("{}: no old names", output.display()),
        (count, true) => format!("{} would be written to {}", counted(count, "file"), output.display()),
        (count, false) => format!("{} written to {}", counted(count, "file"), output.display()),
    });
    if let Some(kept) = kept {
        lines.push(format!("the original files: {}", from_here(kept).display()));
    }
    lines.join("\n") + "\n"
}
