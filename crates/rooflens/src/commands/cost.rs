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
  rooflens cost config.json --hardware h100 --batch 8 --context 4k       one decode step
  rooflens cost config.json --hardware h100 --prefill 2k --operators     a prefill, by operator
  rooflens cost config.json --hardware h200 --set num_key_value_heads=4  the effect of a change
  rooflens cost a/config.json b/config.json --hardware h200              one design against another
  rooflens cost config.json --hardware h100 --tpot 30ms --context 8k     what a TPOT target requires
  rooflens cost config.json --hardware h100,mi300x --batch 1..256 --context 4k --figures plots/

Lists: 1,2,4 · 1..64 (doubling) · 1..1000:x10 · 0..100:+10 · k, M, G are powers of 1024
Names: rooflens list hardware, rooflens list families; numbers: rooflens explain flops.useful";

/// Compute FLOPs, bytes, memory and lower bounds of time of a model
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// config.json of a model, the folder it is in, or - for standard input; two are compared
    #[arg(value_name = "CONFIG", required = true, num_args = 1..=2)]
    configs: Vec<PathBuf>,

    /// Batch size, over all replicas together
    #[arg(long, value_name = "LIST", default_value = "1", help_heading = "Workload")]
    batch: Numbers,
    /// Prefill length in tokens
    #[arg(long, value_name = "LIST", help_heading = "Workload")]
    prefill: Option<Numbers>,
    /// Tokens already in the KV cache before the prompt
    #[arg(long, value_name = "N", value_parser = whole, default_value = "0", requires = "prefill", help_heading = "Workload")]
    prefix: u64,
    /// Chunk size of chunked prefill in tokens
    #[arg(long, value_name = "N", value_parser = whole, requires = "prefill", help_heading = "Workload")]
    chunk: Option<u64>,
    /// Decode with this many tokens already in the KV cache
    #[arg(long, value_name = "LIST", help_heading = "Workload")]
    context: Option<Numbers>,
    /// Number of decode steps
    #[arg(long, value_name = "N", value_parser = whole, default_value = "1", help_heading = "Workload")]
    steps: u64,
    /// Draft tokens that each decode step verifies (speculative decoding)
    #[arg(long, value_name = "N", value_parser = whole, default_value = "0", help_heading = "Workload")]
    draft: u64,
    /// Images per sequence
    #[arg(long, value_name = "N", value_parser = whole, help_heading = "Workload")]
    images: Option<u64>,
    /// Size of each image in pixels
    #[arg(long, value_name = "WxH", help_heading = "Workload")]
    image_size: Option<String>,
    /// Crops per image, for models that cut images
    #[arg(long, value_name = "LIST", help_heading = "Workload")]
    crops: Option<Numbers>,

    /// Devices; several are swept over. Your own: TOML files in hardware/
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = "Devices")]
    hardware: Vec<String>,
    /// Tensor-parallel size
    #[arg(long, value_name = "LIST", default_value = "1", help_heading = "Devices")]
    tp: Numbers,
    /// Pipeline-parallel size
    #[arg(long, value_name = "LIST", default_value = "1", help_heading = "Devices")]
    pp: Numbers,
    /// Expert-parallel size
    #[arg(long, value_name = "LIST", default_value = "1", help_heading = "Devices")]
    ep: Numbers,
    /// Data-parallel size
    #[arg(long, value_name = "LIST", default_value = "1", help_heading = "Devices")]
    dp: Numbers,
    /// Share of device memory that may be used
    #[arg(long, value_name = "SHARE", default_value_t = 0.9, help_heading = "Devices")]
    usable: f64,

    /// Weight dtype, instead of the checkpoint's: fp32, bf16, fp16, fp8, int8, int4, mxfp4, nvfp4
    #[arg(long, value_name = "FORMATS", value_delimiter = ',', help_heading = "Design")]
    dtype: Vec<String>,
    /// KV-cache dtype: fp32, bf16, fp16, fp8, int8, fp4
    #[arg(long, value_name = "FORMAT", help_heading = "Design")]
    kv_dtype: Option<String>,
    /// Set a key of the config and compare with the original; a list is swept over
    #[arg(long, value_name = "KEY=VALUE", help_heading = "Design")]
    set: Vec<Setting>,
    /// Keep this total constant by adjusting another key (see --by)
    #[arg(long, value_enum, value_name = "WHAT", help_heading = "Design")]
    hold: Option<HeldArg>,
    /// Key to adjust for --hold
    #[arg(long, value_name = "KEY", requires = "hold", help_heading = "Design")]
    by: Option<String>,
    /// How tokens choose experts: uniform, balanced, power:ALPHA, or a JSON file with token counts per expert
    #[arg(long, value_name = "HOW", default_value = "uniform", help_heading = "Design")]
    routing: String,
    /// Order of GEMMs in latent attention (MLA)
    #[arg(long, value_enum, value_name = "ORDER", default_value = "auto", help_heading = "Design")]
    mla: MlaArg,

    /// Target time to first token
    #[arg(long, value_name = "TIME", value_parser = seconds, help_heading = "Targets")]
    ttft: Option<f64>,
    /// Target time per output token
    #[arg(long, value_name = "TIME", value_parser = seconds, help_heading = "Targets")]
    tpot: Option<f64>,

    /// Output format: one screen, JSON, CSV of operators or sweep points, or a Markdown page
    #[arg(long, value_enum, default_value = "text", help_heading = "Output")]
    format: Format,
    /// Show every operator of each kind of layer
    #[arg(long, help_heading = "Output")]
    operators: bool,
    /// Write figures to this folder as SVG
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
