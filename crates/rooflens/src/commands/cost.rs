//! `rooflens cost`: what a model must cost.

use std::path::PathBuf;

use clap::ValueEnum;
use rooflens_cost::hold::Held;
use rooflens_cost::pass::LatentOrder;

use crate::console::Console;
use crate::cost::amount::{Numbers, seconds, whole};
use crate::cost::answer::{self, Answer};
use crate::cost::question::{Question, Setting};
use crate::cost::show;
use crate::error::CliError;
use crate::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  rooflens cost config.json --hardware h100 --batch 8 --context 4k       a decoding step
  rooflens cost config.json --hardware h100 --prefill 2k --operators     a prompt, by operator
  rooflens cost config.json --hardware h200 --set num_key_value_heads=4  what a change would do
  rooflens cost a/config.json b/config.json --hardware h200              one design against another
  rooflens cost config.json --hardware h100 --tpot 30ms --context 8k     what it takes to be so fast
  rooflens cost config.json --hardware h100,mi300x --batch 1..256 --context 4k --figures plots/

Lists: 1,2,4 · 1..64 (doubling) · 1..1000:x10 · 0..100:+10 · k, M, G are powers of 1024
Names: rooflens list hardware, rooflens list families; numbers: rooflens explain flops.useful";

/// Compute what a model must cost: FLOPs, bytes, memory, least time
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// config.json of a model, the folder it is in, or - for standard input; two are compared
    #[arg(value_name = "CONFIG", required = true, num_args = 1..=2)]
    configs: Vec<PathBuf>,

    /// Sequences, in all replicas together
    #[arg(long, value_name = "LIST", default_value = "1", help_heading = "Workload")]
    batch: Numbers,
    /// Read prompts of so many tokens
    #[arg(long, value_name = "LIST", help_heading = "Workload")]
    prefill: Option<Numbers>,
    /// Tokens in the cache before the prompt
    #[arg(long, value_name = "N", value_parser = whole, default_value = "0", requires = "prefill", help_heading = "Workload")]
    prefix: u64,
    /// Read prompts in steps of so many tokens
    #[arg(long, value_name = "N", value_parser = whole, requires = "prefill", help_heading = "Workload")]
    chunk: Option<u64>,
    /// Make tokens, with so many in the cache before the first
    #[arg(long, value_name = "LIST", help_heading = "Workload")]
    context: Option<Numbers>,
    /// Steps of making tokens
    #[arg(long, value_name = "N", value_parser = whole, default_value = "1", help_heading = "Workload")]
    steps: u64,
    /// Further tokens that each step drafts and checks
    #[arg(long, value_name = "N", value_parser = whole, default_value = "0", help_heading = "Workload")]
    draft: u64,
    /// Images of each sequence
    #[arg(long, value_name = "N", value_parser = whole, help_heading = "Workload")]
    images: Option<u64>,
    /// Size of each image in pixels
    #[arg(long, value_name = "WxH", help_heading = "Workload")]
    image_size: Option<String>,
    /// Local views that each image is cut into, where the model does so
    #[arg(long, value_name = "LIST", help_heading = "Workload")]
    crops: Option<Numbers>,

    /// Devices; several are swept over. Own ones: TOML files in the folder hardware/
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "Devices")]
    hardware: Vec<String>,
    /// Devices that share heads and columns
    #[arg(long, value_name = "LIST", default_value = "1", help_heading = "Devices")]
    tp: Numbers,
    /// Stages that layers are dealt out over
    #[arg(long, value_name = "LIST", default_value = "1", help_heading = "Devices")]
    pp: Numbers,
    /// Devices that experts are dealt out over
    #[arg(long, value_name = "LIST", default_value = "1", help_heading = "Devices")]
    ep: Numbers,
    /// Replicas that sequences are dealt out over
    #[arg(long, value_name = "LIST", default_value = "1", help_heading = "Devices")]
    dp: Numbers,
    /// Part of a device's memory that may be used
    #[arg(long, value_name = "SHARE", default_value_t = 0.9, help_heading = "Devices")]
    usable: f64,

    /// Format of all weights, instead of the checkpoint's: fp32, bf16, fp16, fp8, int8, int4, mxfp4, nvfp4
    #[arg(long, value_name = "FORMATS", value_delimiter = ',', help_heading = "Design")]
    dtype: Vec<String>,
    /// Format of cached keys and values: fp32, bf16, fp16, fp8, int8, fp4
    #[arg(long, value_name = "FORMAT", help_heading = "Design")]
    kv_dtype: Option<String>,
    /// Set a key of the config; a list is swept over. The design is compared with the one before
    #[arg(long, value_name = "KEY=VALUE", help_heading = "Design")]
    set: Vec<Setting>,
    /// Make up for --set, or for the second config, so that this stays as it was
    #[arg(long, value_enum, value_name = "WHAT", help_heading = "Design")]
    hold: Option<HeldArg>,
    /// Key that makes up for it
    #[arg(long, value_name = "KEY", requires = "hold", help_heading = "Design")]
    by: Option<String>,
    /// How tokens choose experts: uniform, balanced, power:ALPHA, or a JSON file with visits of each expert
    #[arg(long, value_name = "HOW", default_value = "uniform", help_heading = "Design")]
    routing: String,
    /// Order of products in latent attention
    #[arg(long, value_enum, value_name = "ORDER", default_value = "auto", help_heading = "Design")]
    mla: MlaArg,

    /// Time in which a prompt shall be read: what does it take?
    #[arg(long, value_name = "TIME", value_parser = seconds, help_heading = "Targets")]
    ttft: Option<f64>,
    /// Time in which a token shall be made: what does it take?
    #[arg(long, value_name = "TIME", value_parser = seconds, help_heading = "Targets")]
    tpot: Option<f64>,

    /// Print one screen; every number; operators, their differences or points; or a page
    #[arg(long, value_enum, default_value = "text", help_heading = "Output")]
    format: Format,
    /// Show every operator of every kind of layer
    #[arg(long, help_heading = "Output")]
    operators: bool,
    /// Draw figures into this folder, as SVG
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    figures: Option<PathBuf>,
    /// Save document, page, figures and the table model_ops to this run directory
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    output: Option<PathBuf>,
}

/// What to print.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Text,
    Json,
    Csv,
    Md,
}

#[derive(Clone, Copy, ValueEnum)]
enum HeldArg {
    Params,
    Flops,
    Kv,
}

#[derive(Clone, Copy, ValueEnum)]
enum MlaArg {
    Auto,
    Absorbed,
    Expanded,
}

/// Runs the command.
pub fn run(args: Args, console: &Console) -> Result<Exit, CliError> {
    let output = show::Output {
        format: args.format,
        operators: args.operators,
        figures: args.figures.clone(),
        folder: args.output.clone(),
    };
    let answer: Answer = answer::answer(&args.question())?;
    show::show(&answer, &output, console)?;
    Ok(Exit::Fine)
}

impl Args {
    fn question(self) -> Question {
        Question {
            configs: self.configs,
            batch: self.batch.0,
            prefill: self.prefill.map(|numbers| numbers.0),
            prefix: self.prefix,
            chunk: self.chunk,
            context: self.context.map(|numbers| numbers.0),
            steps: self.steps,
            draft: self.draft,
            images: self.images,
            image_size: self.image_size,
            crops: self.crops.map(|numbers| numbers.0),
            hardware: self.hardware,
            tp: self.tp.0,
            pp: self.pp.0,
            ep: self.ep.0,
            dp: self.dp.0,
            usable: self.usable,
            dtype: self.dtype,
            kv_dtype: self.kv_dtype,
            set: self.set,
            hold: self.hold.map(|held| match held {
                HeldArg::Params => Held::Params,
                HeldArg::Flops => Held::Flops,
                HeldArg::Kv => Held::Kv,
            }),
            by: self.by,
            routing: self.routing,
            latent: match self.mla {
                MlaArg::Auto => LatentOrder::ByPhase,
                MlaArg::Absorbed => LatentOrder::Absorbed,
                MlaArg::Expanded => LatentOrder::Expanded,
            },
            ttft: self.ttft,
            tpot: self.tpot,
        }
    }
}
