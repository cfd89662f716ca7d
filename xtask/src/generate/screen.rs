//! What README.md shows of the terminal: the block behind its mark is what the program prints.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::workspace;

const FIXTURE: &str = "fixtures/kineto/decode.json";
const MARK: &str = "<!-- What `rooflens analyze` prints, kept so by `cargo xtask generate`. -->\n";

pub fn page(program: &Path) -> Result<String> {
    let screen = workspace::output(
        Command::new(program).args(["analyze", FIXTURE, "--quiet"]).current_dir(workspace::root()),
    )?;
    replace(&workspace::read("README.md")?, &screen)
        .context("README.md has no block behind its mark for the screen")
}

/// The text with `screen` in the block behind the mark.
fn replace(text: &str, screen: &str) -> Option<String> {
    let (before, rest) = text.split_once(MARK)?;
    let (_, after) = rest.strip_prefix("```text\n")?.split_once("```\n")?;
    let screen = screen.trim_end();
    Some(format!("{before}{MARK}```text\n{screen}\n```\n{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_block_behind_the_mark_changes() {
        let text = format!("a\n{MARK}```text\nold\n```\nb\n```text\nkept\n```\n");
        let new = replace(&text, "new\n\n").unwrap();
        assert_eq!(new, format!("a\n{MARK}```text\nnew\n```\nb\n```text\nkept\n```\n"));
        assert_eq!(replace("no mark", "x"), None);
    }
}
