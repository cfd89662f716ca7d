//! The command line, from its own help.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};

use crate::workspace;

pub fn page(program: &Path) -> Result<String> {
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

/// The commands under the heading `Commands:`.
fn commands(help: &str) -> Vec<&str> {
    let lines = help.lines().skip_while(|line| line.trim() != "Commands:").skip(1);
    let list = lines.take_while(|line| !line.trim().is_empty());
    // A command begins at the indent of the list; what is further in continues a description.
    let named = list.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    named.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_in_help() {
        let help = "Where the time goes.\n\nUsage: rooflens <COMMAND>\n\nCommands:\n  analyze  Analyze\n           a trace\n  list     List\n  help     Print\n\nOptions:\n  -h\n";
        assert_eq!(commands(help), ["analyze", "list"]);
    }
}
