//! `rooflens advise`: what to change, and what it would bring.

use std::path::PathBuf;

use clap::ValueHint;

use crate::advise::{self, Format, Question};
use crate::commands::exit_of;
use crate::console::Console;
use crate::cost::amount::seconds;
use crate::error::CliError;
use crate::exit::Exit;
use crate::floors;

const EXAMPLES: &str = "\
Examples:
  rooflens advise runs/first                                  a run knows its model
  rooflens advise trace.json --model config.json --hardware h100 --context 4k
  rooflens advise runs/first --what-if num_key_value_heads=4  the ledger of a changed model beside the old one
  rooflens advise cuda_gpu_kern_sum.csv --wall 707ms --steps 64 --model config.json --hardware rtx-5090

Rules: rooflens list rules. Rules about the model need its floor: --model and --hardware, or a run.";

/// Recommend what to change, with the expected gain and the reason
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Run directory, traces of one job, or the table of kernels that nsys stats prints as CSV
    #[arg(value_name = "INPUT", required = true, value_hint = ValueHint::AnyPath)]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    floor: floors::Args,
    /// Wall time of all steps, for a table of kernels
    #[arg(long, value_name = "TIME", value_parser = seconds, requires = "steps")]
    wall: Option<f64>,
    /// Number of decode steps in that time
    #[arg(long, value_name = "N", requires = "wall", value_parser = clap::value_parser!(u32).range(1..))]
    steps: Option<u32>,
    /// Show the ledger after setting a key of the model's config; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    what_if: Vec<(String, String)>,
    /// Output format
    #[arg(long, value_enum, default_value = "text", help_heading = "Output")]
    format: Format,
    /// Maximum number of recommendations
    #[arg(long, value_name = "N", default_value_t = 8, help_heading = "Output")]
    limit: usize,
}

fn setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() && !value.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err(format!("{text:?} is not KEY=VALUE, as in num_key_value_heads=4")),
    }
}

/// Runs the command.
pub fn run(args: Args, console: &Console) -> Result<Exit, CliError> {
    let question = Question {
        inputs: args.inputs,
        floor: args.floor,
        wall_ns: args.wall.map(|seconds| (seconds * 1e9).round() as i64),
        steps: args.steps.map(|steps| steps as usize),
        what_if: args.what_if,
        format: args.format,
        limit: args.limit,
    };
    advise::advise(&question, console).map(exit_of)
}
