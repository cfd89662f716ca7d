//! `rooflens hardware`: devices whose figures are measured here.

use std::path::PathBuf;

use clap::Subcommand;

use crate::commands::AnswerFormat;
use crate::console::Console;
use crate::error::CliError;
use crate::exit::Exit;
use crate::hardware::{self, Wish};

const EXAMPLES: &str = "\
Examples:
  rooflens hardware measure                         peak rates of this machine, into hardware/ of the project
  rooflens hardware measure --device cuda:0 --seconds 30 --name my-gpu
  rooflens list hardware                            all known devices, with those of the project
  rooflens explain my-gpu                           its figures";

/// Measure the peak rates of a device
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Measure matrix multiplications and bandwidth with PyTorch, and write hardware/NAME.toml
    #[command(after_help = MEASURE_EXAMPLES)]
    Measure(MeasureArgs),
}

const MEASURE_EXAMPLES: &str = "\
Examples:
  rooflens hardware measure
  rooflens hardware measure --python .venv/bin/python --device cpu --seconds 5
  rooflens hardware measure --name my-gpu --force    measured anew
  rooflens cost MODEL --hardware my-gpu --context 4k";

#[derive(clap::Args)]
struct MeasureArgs {
    /// Python interpreter with torch; that of the project's config by default
    #[arg(long, value_name = "PYTHON", help_heading = "Measuring")]
    python: Option<String>,
    /// Device, as PyTorch calls it: auto, cpu, cuda:0
    #[arg(long, default_value = "auto", help_heading = "Measuring")]
    device: String,
    /// Seconds to measure
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600), help_heading = "Measuring")]
    seconds: u64,
    /// Name of the device; the name the machine reports by default
    #[arg(long, help_heading = "Output")]
    name: Option<String>,
    /// File to write; hardware/NAME.toml of the surrounding project by default
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long, help_heading = "Output")]
    force: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "text", help_heading = "Output")]
    format: AnswerFormat,
}

/// Runs the command.
pub fn run(args: Args, console: &Console) -> Result<Exit, CliError> {
    let What::Measure(args) = args.what;
    let wish = Wish {
        python: args.python,
        device: args.device,
        seconds: args.seconds,
        name: args.name,
        output: args.output,
        force: args.force,
        json: args.format == AnswerFormat::Json,
    };
    hardware::measure(&wish, console)
}
