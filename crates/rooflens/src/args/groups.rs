//! The commands of `--help`, by what one wants to do.

use clap::Command;
use clap::builder::StyledStr;

use crate::commands::list::columns;

/// Each group and its commands, in the order of the help.
const GROUPS: &[(&str, &[&str])] = &[
    ("Analyze traces and runs", &["analyze", "top", "advise", "report", "plot", "import", "export"]),
    ("Run and profile", &["run", "bench", "kernels", "monitor", "hardware", "bench-worker"]),
    ("Compare", &["compare", "trend"]),
    ("Many runs", &["store", "runs", "serve", "query"]),
    ("Model cost", &["cost"]),
    ("Projects and configs", &["init", "config", "assets", "externals"]),
    ("Agents and scripts", &["mcp", "schema"]),
    ("Help and setup", &["list", "explain", "doctor", "self-test", "completions", "man"]),
];

/// The program with its commands in groups.
pub(crate) fn grouped(command: Command, width: usize) -> Command {
    let header = command.get_styles().get_header();
    let widest = command.get_subcommands().map(|found| found.get_name().len()).max().unwrap_or(0);
    let mut text = format!("{header}Commands:{header:#}\n");
    for (heading, names) in GROUPS {
        let abouts: Vec<(String, String)> = names
            .iter()
            .filter_map(|name| command.find_subcommand(name))
            .map(|found| (format!("  {:widest$}", found.get_name()), about(found)))
            .collect();
        let rows: Vec<(&str, &str)> =
            abouts.iter().map(|(name, about)| (name.as_str(), about.as_str())).collect();
        text.push_str(&format!(" {heading}\n{}", columns(&rows, width)));
    }
    text.push('\n');
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}{header}Options:{header:#}\n{{options}}{{after-help}}",
        text.replace(['{', '}'], "")
    );
    command.help_template(StyledStr::from(template))
}

fn about(command: &Command) -> String {
    command.get_about().map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::Cli;

    #[test]
    fn every_command_is_in_one_group() {
        let mut named: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let command = Cli::command();
        let mut known: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        named.sort_unstable();
        known.sort_unstable();
        assert_eq!(named, known);
    }
}
