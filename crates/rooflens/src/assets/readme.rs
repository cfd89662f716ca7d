//! `rooflens assets readme`: the first level of a dataset's source data, in its README.

use std::path::Path;

use indicatif::DecimalBytes;
use rooflens_core::document::assets::AssetsReadmeDocument;
use rooflens_core::exit::Exit;
use rooflens_core::text::counted;
use rooflens_project::assets::readme::{DatasetTree, TreeEntry, first_level, plan_readme, write_readme};
use rooflens_project::assets::{Disk, Project};

use crate::console::Console;
use crate::error::CliError;
use crate::output;

/// So many entries are listed: a flat dataset has a million.
const SHOWN: usize = 40;

/// Writes the block, or only compares it.
pub fn answer(
    root: &Path,
    dataset: &str,
    check: bool,
    json: bool,
    console: &Console,
) -> Result<Exit, CliError> {
    let project = Project::open(root, &Disk)?;
    let tree = first_level(&project, dataset)?;
    let readme = plan_readme(&project, dataset, &lines(&tree))?;
    if !check {
        write_readme(&project, &readme)?;
    }
    let path = readme.path.display();
    if json {
        output::json(&AssetsReadmeDocument::new(check, &readme, &tree), console.is_read_by_people())?;
    } else {
        let state = match (readme.is_current, check) {
            (true, _) => "up to date",
            (false, true) => "not up to date",
            (false, false) => "written",
        };
        output::text(&format!("{path}: {state}\n"))?;
    }
    if check && !readme.is_current {
        console.say(&format!("next: rooflens assets readme{}", super::as_words([dataset])));
        return Ok(Exit::Gate);
    }
    Ok(Exit::Fine)
}

/// The lines of the block.
fn lines(tree: &DatasetTree) -> Vec<String> {
    let shown = &tree.entries[..tree.entries.len().min(SHOWN)];
    let name = |entry: &TreeEntry| format!("{}{}", entry.name, if entry.is_folder { "/" } else { "" });
    let width = shown.iter().map(|entry| name(entry).chars().count()).max().unwrap_or_default();
    let rest = &tree.entries[shown.len()..];
    let mut lines = vec!["```text".to_owned(), format!("{}/", tree.folder)];
    for (number, entry) in (1..).zip(shown) {
        let branch = if number == tree.entries.len() { "└──" } else { "├──" };
        let size = match entry.is_folder {
            true => format!("{}, {}", counted(entry.files, "file"), DecimalBytes(entry.bytes)),
            false => DecimalBytes(entry.bytes).to_string(),
        };
        lines.push(format!("{branch} {:width$}  {size}", name(entry)));
    }
    if !rest.is_empty() {
        let (files, bytes) = rest.iter().fold((0, 0), |sum, one| (sum.0 + one.files, sum.1 + one.bytes));
        let (files, bytes) = (counted(files, "file"), DecimalBytes(bytes));
        lines.push(format!("└── … and {} more ({files}, {bytes})", rest.len()));
    }
    let least = if tree.size.is_complete { "" } else { "At least " };
    let total = format!("{least}{}, {}.", counted(tree.size.files, "file"), DecimalBytes(tree.size.bytes));
    lines.extend(["```".to_owned(), String::new(), total]);
    lines
}

#[cfg(test)]
mod tests {
    use rooflens_project::assets::AssetSize;

    use super::*;

    #[test]
    fn a_flat_dataset_is_cut() {
        let entry =
            |number: usize| TreeEntry { name: number.to_string(), is_folder: false, files: 1, bytes: 10 };
        let size = AssetSize { files: 100, bytes: 1000, is_complete: true };
        let tree = DatasetTree { folder: "source-data".into(), entries: (0..100).map(entry).collect(), size };
        let lines = lines(&tree);
        assert_eq!(lines.len(), 2 + SHOWN + 1 + 3);
        assert_eq!(lines[1 + SHOWN], "├── 39  10 B");
        assert_eq!(lines[2 + SHOWN], "└── … and 60 more (60 files, 600 B)");
        assert_eq!(lines.last().unwrap(), "100 files, 1.00 kB.");
    }
}
