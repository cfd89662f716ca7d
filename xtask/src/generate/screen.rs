//! What README.md shows of the terminal: the block behind each mark is what the program prints.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::workspace;

/// A block of README.md: the line in front of it, the command, and the word at which what is shown ends.
struct Screen {
    mark: &'static str,
    command: &'static [&'static str],
    until: Option<&'static str>,
}

const SCREENS: &[Screen] = &[
    Screen {
        mark: "<!-- Output of `rooflens analyze`, updated by `cargo xtask generate`. -->\n",
        command: &["analyze", "fixtures/kineto/decode.json", "--quiet"],
        until: None,
    },
    Screen {
        mark: "<!-- Output of `rooflens cost`, updated by `cargo xtask generate`. -->\n",
        command: &[
            "cost",
            "fixtures/configs/tiny-moe.json",
            "--hardware",
            "h100",
            "--batch",
            "8",
            "--context",
            "4k",
            "--quiet",
        ],
        // A page of assumptions follows, which the text speaks of.
        until: Some("\nAssumptions "),
    },
];

pub fn page(program: &Path) -> Result<String> {
    let mut text = workspace::read("README.md")?;
    for Screen { mark, command, until } in SCREENS {
        let screen = workspace::output(Command::new(program).args(*command).current_dir(workspace::root()))?;
        let shown = until.and_then(|until| screen.split_once(until)).map_or(&*screen, |(shown, _)| shown);
        text = replace(&text, mark, shown)
            .with_context(|| format!("README.md has no block behind {}", mark.trim_end()))?;
    }
    Ok(text)
}

/// The text with `screen` in the block behind the mark.
fn replace(text: &str, mark: &str, screen: &str) -> Option<String> {
    let (before, rest) = text.split_once(mark)?;
    let (_, after) = rest.strip_prefix("```text\n")?.split_once("```\n")?;
    let screen = screen.trim_end();
    Some(format!("{before}{mark}```text\n{screen}\n```\n{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_block_behind_the_mark_changes() {
        let mark = SCREENS[0].mark;
        let text = format!("a\n{mark}```text\nold\n```\nb\n```text\nkept\n```\n");
        let new = replace(&text, mark, "new\n\n").unwrap();
        assert_eq!(new, format!("a\n{mark}```text\nnew\n```\nb\n```text\nkept\n```\n"));
        assert_eq!(replace("no mark", mark, "x"), None);
    }
}
