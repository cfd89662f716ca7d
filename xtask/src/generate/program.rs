//! What the program prints: its help, and the screens in README.md.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::workspace;

pub(crate) fn command_line(program: &Path) -> Result<String> {
    let whole = help(program, &[])?;
    let mut page = format!("# Command line\n\n```text\n{whole}```\n");
    let commands = commands(&whole);
    ensure!(!commands.is_empty(), "`rooflens --help` lists no commands");
    for command in commands {
        let own = help(program, &[command])?;
        write!(page, "\n## rooflens {command}\n\n```text\n{own}```\n")?;
        for inner in self::commands(&own) {
            let help = help(program, &[command, inner])?;
            write!(page, "\n### rooflens {command} {inner}\n\n```text\n{help}```\n")?;
        }
    }
    Ok(page)
}

fn help(program: &Path, command: &[&str]) -> Result<String> {
    let text = workspace::output(
        Command::new(program)
            .args(command)
            .arg("--help")
            // The width of the page; clap asks the environment before the terminal.
            .env("COLUMNS", "100")
            .env("NO_COLOR", "1")
            .stdin(std::process::Stdio::null()),
    )?;
    // Trailing blanks are clap's padding.
    Ok(text.lines().map(|line| format!("{}\n", line.trim_end())).collect())
}

fn commands(help: &str) -> Vec<&str> {
    let lines = help.lines().skip_while(|line| line.trim() != "Commands:").skip(1);
    let list = lines.take_while(|line| !line.trim().is_empty());
    // A command begins at the indent of the list; what is further in continues a description.
    let named = list.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    named.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").collect()
}

/// A block of README.md: the line in front of it, the command, and the word at which what is shown ends.
struct Screen {
    mark: &'static str,
    command: &'static str,
    until: &'static str,
}

const SCREENS: &[Screen] = &[
    Screen {
        mark: "<!-- Output of `rooflens analyze`, updated by `cargo xtask generate`. -->\n",
        command: "analyze fixtures/kineto/decode.json --quiet",
        until: "\nRoofline ",
    },
    Screen {
        mark: "<!-- Output of `rooflens cost`, updated by `cargo xtask generate`. -->\n",
        command: "cost fixtures/configs/tiny-moe.json --hardware h100 --batch 8 --context 4k --quiet",
        until: "\nModel ",
    },
];

/// README.md with the output of the program in the block after each mark.
pub(crate) fn readme(program: &Path) -> Result<String> {
    let mut text = workspace::read("README.md")?;
    for Screen { mark, command, until } in SCREENS {
        let screen = workspace::output(
            Command::new(program).args(command.split_whitespace()).current_dir(workspace::root()),
        )?;
        let shown = screen.split_once(until).map_or(&*screen, |(shown, _)| shown);
        text = replace(&text, mark, shown)
            .with_context(|| format!("README.md has no block behind {}", mark.trim_end()))?;
    }
    Ok(text)
}

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
    fn commands_are_found_in_help() {
        let help = "Where the time goes.\n\nUsage: rooflens <COMMAND>\n\nCommands:\n  analyze  Analyze\n           a trace\n  list     List\n  help     Print\n\nOptions:\n  -h\n";
        assert_eq!(commands(help), ["analyze", "list"]);
    }

    #[test]
    fn only_the_block_behind_the_mark_changes() {
        let mark = SCREENS[0].mark;
        let text = format!("a\n{mark}```text\nold\n```\nb\n```text\nkept\n```\n");
        let new = replace(&text, mark, "new\n\n").unwrap();
        assert_eq!(new, format!("a\n{mark}```text\nnew\n```\nb\n```text\nkept\n```\n"));
        assert_eq!(replace("no mark", mark, "x"), None);
    }
}
