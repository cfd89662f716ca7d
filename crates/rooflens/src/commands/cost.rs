//! `rooflens cost`: the cost of a model on a device.

use std::path::PathBuf;

use rooflens_core::cost::amount::{Numbers, positive, rate, seconds, whole};
use rooflens_core::cost::question::Setting;
use rooflens_core::cost::{CostQuestion, cost, destination};
use rooflens_core::exit::Exit;
use rooflens_cost::hold::Held;
use rooflens_cost::pass::LatentOrder;
use rooflens_cost::setup::VisionSharding;
use rooflens_report::cost::terminal;

use crate::args::{OutputFormat, one_of};
use crate::console::Console;
use crate::error::CliError;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  rooflens cost config.json --hardware h100 --batch 8 --context 4k       one decode step
  rooflens cost config.json --hardware h100 --prefill 2k --operators     a prefill, by operator
  rooflens cost config.json --hardware h200 --set num_key_value_heads=4  effect of a design change
  rooflens cost a/config.json b/config.json --hardware h200              compare two models
  rooflens cost config.json --hardware h100 --tpot 30ms --context 8k     can this target be met?
  rooflens cost config.json --hardware h100,mi300x --batch 1..256 --context 4k --figures plots/

Each time is given twice: a lower bound (≥), every operator at the device's peak rates and communication fully overlapped, and an estimate under stated assumptions, which --assume sets.

Lists: 1,2,4 · 1..64 (doubling) · 1..1000:x10 · 0..100:+10 · k, M, G are powers of 1024
Names: rooflens list hardware, rooflens list families; numbers: rooflens explain flops.useful";

/// Compute the cost of a model: FLOPs, bytes, memory, lower bound and estimate of the time
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// config.json of a model, its folder, or - for standard input; two are compared
    #[arg(value_name = "CONFIG", required = true, num_args = 1..=2)]
    configs: Vec<PathBuf>,

    /// Batch size: sequences over all data-parallel replicas
    #[arg(long, value_name = "LIST", default_value = "1", help_heading = "Workload")]
    batch: Numbers,
    /// Prompt length in text tokens; image tokens are added. Encoder-decoder models: length of the encoder's input.
    /// If neither --prefill nor --context is given, both are 2048
    #[arg(long, value_name = "LIST", help_heading = "Workload")]
    prefill: Option<Numbers>,
    /// Tokens already in the KV cache before the prefill
    #[arg(long, value_name = "N", value_parser = whole, default_value = "0", requires = "prefill", help_heading = "Workload")]
    prefix: u64,
    /// Chunked prefill: tokens per step of each sequence
    #[arg(long, value_name = "N", value_parser = whole, requires = "prefill", help_heading = "Workload")]
    chunk: Option<u64>,
    /// Decode with this many tokens already in the KV cache per sequence
    #[arg(long, value_name = "LIST", help_heading = "Workload")]
    context: Option<Numbers>,
    /// Encoder-decoder models: encoder positions that the decoder attends to; by default the prefill, else as
    /// many as the context
    #[arg(long, value_name = "N", value_parser = whole, help_heading = "Workload")]
    encoder_tokens: Option<u64>,
    /// Decode steps
    #[arg(long, value_name = "N", value_parser = whole, default_value = "1", help_heading = "Workload")]
    steps: u64,
    /// Speculative decoding: draft tokens verified per step
    #[arg(long, value_name = "N", value_parser = whole, default_value = "0", help_heading = "Workload")]
    draft: u64,
    /// Images per sequence; their tokens are added to the prefill
    #[arg(long, value_name = "N", value_parser = whole, help_heading = "Workload")]
    images: Option<u64>,
    /// Size of each image in pixels
    #[arg(long, value_name = "WxH", help_heading = "Workload")]
    image_size: Option<String>,
    /// Crops per image, where the model uses crops
    #[arg(long, value_name = "LIST", help_heading = "Workload")]
    crops: Option<Numbers>,

    /// Devices; several are swept over. Add your own as TOML files in the folder hardware/
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
    /// Devices per node; by default what the catalog says of the device
    #[arg(long, value_name = "N", value_parser = positive, help_heading = "Devices")]
    node_size: Option<u64>,
    /// Bandwidth per device between nodes, as 400Gb/s or 50GB/s [default: 400Gb/s]
    #[arg(long, value_name = "RATE", value_parser = rate, help_heading = "Devices")]
    inter_node: Option<f64>,
    /// How the vision tower is sharded over the tensor-parallel devices
    #[arg(long, value_parser = one_of([("tensor", VisionSharding::Tensor), ("data", VisionSharding::Data)]), value_name = "HOW", default_value = "tensor", help_heading = "Devices")]
    vision_parallel: VisionSharding,
    /// Fraction of device memory that may be used
    #[arg(long, value_name = "SHARE", default_value_t = 0.9, help_heading = "Devices")]
    usable: f64,

    /// Weight format, overriding the checkpoint's: fp32, bf16, fp16, fp8, int8, int4, mxfp4, nvfp4
    #[arg(long, value_name = "FORMATS", value_delimiter = ',', help_heading = "Design")]
    dtype: Vec<String>,
    /// KV cache format: fp32, bf16, fp16, fp8, int8, fp4
    #[arg(long, value_name = "FORMAT", help_heading = "Design")]
    kv_dtype: Option<String>,
    /// Format of recurrent states (Mamba, gated delta networks): fp32, bf16, fp16; by default the config's,
    /// else the model's
    #[arg(long, value_name = "FORMAT", help_heading = "Design")]
    state_dtype: Option<String>,
    /// Override a key of the config; a list is swept over. Compared with the unchanged config
    #[arg(long, value_name = "KEY=VALUE", help_heading = "Design")]
    set: Vec<Setting>,
    /// Keep this total constant by adjusting another key (see --by)
    #[arg(long, value_parser = one_of([("params", Held::Params), ("flops", Held::Flops), ("kv", Held::Kv)]), value_name = "WHAT", help_heading = "Design")]
    hold: Option<Held>,
    /// Key to adjust for --hold
    #[arg(long, value_name = "KEY", requires = "hold", help_heading = "Design")]
    by: Option<String>,
    /// Expert routing: uniform, balanced, power:ALPHA, or a JSON file with the visits of each expert
    #[arg(long, value_name = "HOW", default_value = "uniform", help_heading = "Design")]
    routing: String,
    /// MLA: absorbed or expanded up-projection; auto is absorbed in decode, expanded in prefill
    #[arg(long, value_parser = orders(), value_name = "ORDER", default_value = "auto", help_heading = "Design")]
    mla: LatentOrder,

    /// Target time to first token
    #[arg(long, value_name = "TIME", value_parser = seconds, help_heading = "Targets")]
    ttft: Option<f64>,
    /// Target time per output token
    #[arg(long, value_name = "TIME", value_parser = seconds, help_heading = "Targets")]
    tpot: Option<f64>,

    /// Set assumptions of the estimate, as gemm=0.8,bandwidth=0.85: gemm, attention, bandwidth, link, launch,
    /// latency, overlap, all-reduce, sequence-parallel, dispatch, activations
    #[arg(long, value_name = "KEY=VALUE", value_delimiter = ',', help_heading = "Estimate")]
    assume: Vec<String>,

    /// Output format
    #[arg(long, value_enum, default_value = "text", help_heading = "Output")]
    format: OutputFormat,
    /// Show every operator of every layer kind
    #[arg(long, help_heading = "Output")]
    operators: bool,
    /// Write figures to this folder as SVG
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    figures: Option<PathBuf>,
    /// Save JSON, Markdown, figures and the table model_ops to this run directory
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    output: Option<PathBuf>,
}

fn orders() -> impl clap::builder::TypedValueParser<Value = LatentOrder> {
    one_of([
        ("auto", LatentOrder::ByPhase),
        ("absorbed", LatentOrder::Absorbed),
        ("expanded", LatentOrder::Expanded),
    ])
}

pub(crate) fn run(args: Args, console: &Console) -> Result<Exit, CliError> {
    let (format, operators) = (args.format, args.operators);
    let (figures, folder) = (args.figures.clone(), args.output.clone());
    let answer = cost(&args.question())?;
    // Nothing is printed where nothing can be saved.
    let run = folder.as_deref().map(destination).transpose()?;
    match format {
        OutputFormat::Json => output::json(&answer.document())?,
        OutputFormat::Csv => output::text(&answer.csv())?,
        OutputFormat::Md => output::text(&answer.markdown())?,
        OutputFormat::Text => {
            let (parts, rows) = answer.screen(operators);
            output::text(&terminal(&parts, &console.screen(rows)))?;
        }
    }
    if let Some(folder) = figures {
        match answer.write_figures(&folder)? {
            true => console.say(&format!("figures: {}", folder.display())),
            false => console.say("no figure: sweep over numbers, as in --batch 1..64"),
        }
    }
    if let Some(run) = run {
        answer.save(&run, true)?;
        console.say(&format!("saved: {}", run.root().display()));
    }
    Ok(Exit::Fine)
}

impl Args {
    fn question(self) -> CostQuestion {
        CostQuestion {
            configs: self.configs,
            batch: self.batch.0,
            prefill: self.prefill.map(|numbers| numbers.0),
            prefix: self.prefix,
            chunk: self.chunk,
            context: self.context.map(|numbers| numbers.0),
            encoder_tokens: self.encoder_tokens,
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
            node_size: self.node_size,
            inter_node: self.inter_node,
            vision: self.vision_parallel,
            usable: self.usable,
            dtype: self.dtype,
            kv_dtype: self.kv_dtype,
            state_dtype: self.state_dtype,
            assume: self.assume,
            set: self.set,
            hold: self.hold,
            by: self.by,
            routing: self.routing,
            latent: self.mla,
            ttft: self.ttft,
            tpot: self.tpot,
        }
    }
}
