//! `rooflens self-test`: the whole line on built-in traces.

use std::path::PathBuf;

use rooflens_core::doctor::{self, Diagnosis, Machine};
use rooflens_core::exit::Exit;
use rooflens_core::self_test::{self, SelfTest};
use rooflens_core::text::printable;

use crate::args::OutputFormat;
use crate::commands::doctor::text as machine;
use crate::console::Console;
use crate::error::CliError;
use crate::{output, progress};

const EXAMPLES: &str = "\
Examples:
  rooflens self-test
  rooflens self-test --write-example example/   two small traces and a config to try commands on";

/// Run Rooflens on built-in traces, and show what works on this machine
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Only write the built-in traces and their model's config to this folder
    #[arg(long, value_name = "DIR")]
    write_example: Option<PathBuf>,
    /// Output format
    #[arg(long, value_parser = OutputFormat::text_or_json(), default_value = "text", help_heading = "Output")]
    format: OutputFormat,
}

pub(crate) fn run(args: &Args, console: &Console) -> Result<Exit, CliError> {
    if let Some(folder) = &args.write_example {
        for path in self_test::write_examples(folder)? {
            console.say(&format!("wrote {}", path.display()));
        }
        return Ok(Exit::Fine);
    }
    let here = Machine::here(console.screen(0), console.is_read_by_people(), None, false);
    let observer = progress::observer(console, progress::READING);
    let tested = self_test::self_test(Diagnosis::new(doctor::checks(&here)), &observer)?;
    output::answer(args.format.is_json(), &tested, || text(&tested))?;
    Ok(if tested.is_whole() { Exit::Fine } else { Exit::Bug })
}

fn text(tested: &SelfTest) -> String {
    let mut text = String::new();
    for part in &tested.parts {
        let word = if part.works { "ok" } else { "FAILED" };
        let found = printable(&part.found);
        text.push_str(&format!("{word:8}{:30}{:>6.0} ms  {found}\n", part.name, part.ms));
    }
    text.push_str(match tested.is_whole() {
        true => "\nRooflens works here: traces can be analysed and compared, and models costed.\n",
        false => "\nRooflens does not work here. Please report it with the lines above.\n",
    });
    text.push_str("\nTo record on this machine:\n");
    text.push_str(&machine(&tested.machine));
    text
}
