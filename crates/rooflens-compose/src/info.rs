//! The tables of `--info`.

use std::fmt::Write;

use crate::composition::Composition;
use crate::defaults::DefaultsTree;

impl Composition {
    /// The text of `--info defaults-tree`.
    #[must_use]
    pub fn defaults_tree_text(&self) -> String {
        let mut out = title("Defaults Tree");
        write_tree(&self.tree, 0, &mut out);
        out
    }

    /// The text of `--info defaults`.
    #[must_use]
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
    #[must_use]
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
