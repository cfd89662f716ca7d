//! `rooflens completions`: the Tab key.

use rooflens_core::exit::Exit;

use crate::error::CliError;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  rooflens completions bash > ~/.local/share/bash-completion/completions/rooflens
  rooflens completions zsh > ~/.zfunc/_rooflens
  rooflens completions fish > ~/.config/fish/completions/rooflens.fish";

/// Print a shell completion script
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The shell
    #[arg(value_name = "SHELL", value_enum)]
    shell: clap_complete::Shell,
}

pub(crate) fn run(args: &Args, whole: fn() -> clap::Command) -> Result<Exit, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut whole(), "rooflens", &mut script);
    output::with(|out| out.write_all(&script))?;
    Ok(Exit::Fine)
}
