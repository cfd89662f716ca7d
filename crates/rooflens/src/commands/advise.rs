//! `rooflens advise`: what to change, and what it would bring.

use std::path::PathBuf;

use clap::ValueHint;
use rooflens_core::advise::{AdviceRequest, advise};
use rooflens_core::cost::amount::seconds;
use rooflens_core::exit::Exit;

use crate::args::{ModelArgs, OutputFormat};
use crate::console::Console;
use crate::error::CliError;
use crate::interrupt::exit_of;
use crate::output::{self, Page};
use crate::progress;

const EXAMPLES: &str = "\
Examples:
  rooflens advise runs/first                                  a run records its model
  rooflens advise trace.json --model config.json --hardware h100 --context 4k
  rooflens advise runs/first --what-if num_key_value_heads=4  the ledger with a changed model
  rooflens advise cuda_gpu_kern_sum.csv --wall 707ms --steps 64 --model config.json --hardware rtx-5090

Rules: rooflens list rules. Rules about the model need its lower bound: --model and --hardware, or a run.";

/// Recommend what to change, with the expected gain and the reason
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Run directory, traces of one job, or the table of kernels that nsys stats prints as CSV
    #[arg(value_name = "INPUT", required = true, value_hint = ValueHint::AnyPath)]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    floor: ModelArgs,
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
    #[arg(long, value_parser = OutputFormat::without_csv(), default_value = "text", help_heading = "Output")]
    format: OutputFormat,
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

pub(crate) fn run(args: Args, console: &Console) -> Result<Exit, CliError> {
    let request = AdviceRequest {
        inputs: args.inputs,
        model: args.floor.request(),
        wall_ns: args.wall.map(|seconds| (seconds * 1e9).round() as i64),
        steps: args.steps.map(|steps| steps as usize),
        what_if: args.what_if,
    };
    let advice = advise(&request, &progress::observer(console, progress::READING))?;
    let parts = || advice.parts(args.limit);
    let document = advice.document();
    let page = Page { title: "Advice", limit: args.limit, screen: &parts, whole: &parts, document };
    output::page(&page, args.format, console)?;
    Ok(exit_of(advice.stopped))
}
