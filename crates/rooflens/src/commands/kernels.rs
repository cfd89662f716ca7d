//! `rooflens kernels`: kernels one by one.

use std::path::PathBuf;

use clap::builder::TypedValueParser;
use clap::{Subcommand, ValueEnum, ValueHint};
use rooflens_core::exit::Exit;
use rooflens_core::kernels::{self, ProfileRequest, ProfiledKernels, ProfiledRequest, TopRequest};
use rooflens_schema::tables::PhaseKind;

use crate::args::{OutputFormat, one_of};
use crate::console::Console;
use crate::error::CliError;
use crate::interrupt::exit_of;
use crate::output::{self, Page};
use crate::progress;

const EXAMPLES: &str = "\
Examples:
  rooflens kernels top runs/first --phase decode -o top.yaml   which kernels take the time
  rooflens kernels profile --from top.yaml -o kernels/ -- python serve.py
  rooflens kernels analyze profile.ncu-rep                     what limits their launches
  rooflens kernels analyze ncu/ --timeline runs/first -o kernels/";

/// Profile single kernels: which take the most time, and what limits their launches
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    Analyze(AnalyzeArgs),
    Profile(ProfileArgs),
    Top(TopArgs),
}

const ANALYZE_EXAMPLES: &str = "\
Examples:
  rooflens kernels analyze profile.ncu-rep
  rooflens kernels analyze ncu/ -o kernels/                 table, roofline, page, JSON
  rooflens kernels analyze ncu/ --timeline run.sqlite       weighted by real time
  rooflens kernels analyze workloads/serve/MI300X           a folder of rocprof-compute
  rooflens kernels analyze x.ncu-rep --columns lts__t_sectors.sum,dram__bytes.sum
  ncu --import x.ncu-rep --csv --page raw > x.csv && rooflens kernels analyze x.csv";

/// Show what limits profiled launches, from Nsight Compute or rocprof-compute
#[derive(clap::Args)]
#[command(after_help = ANALYZE_EXAMPLES)]
struct AnalyzeArgs {
    /// .ncu-rep file, what `ncu --csv` printed (raw, details, sections), a folder of such, or a folder that
    /// `rocprof-compute profile` wrote
    #[arg(value_name = "INPUT", required = true, value_hint = ValueHint::AnyPath)]
    inputs: Vec<PathBuf>,
    /// Weight by the real time of each kernel: run directory, trace, or CSV of nsys stats
    #[arg(long, value_name = "INPUT")]
    timeline: Option<PathBuf>,
    /// Device whose peaks are used where the counters have none; that of the report by default
    #[arg(long, value_name = "DEVICE")]
    hardware: Option<String>,
    /// Add metrics of the report as columns, by name; a name without its suffix, as dram__bytes,
    /// adds every suffix of it
    #[arg(long, value_name = "METRIC,…", value_delimiter = ',', help_heading = "Output")]
    columns: Vec<String>,
    /// Write a page (index.html), tables (Parquet, CSV, JSON, Markdown), every metric (metrics.csv,
    /// metrics.parquet) and figures to this folder
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value = "text", help_heading = "Output")]
    format: OutputFormat,
    /// Rows of each table on the screen
    #[arg(long, value_name = "N", default_value_t = 10, help_heading = "Output")]
    limit: usize,
}

const PROFILE_EXAMPLES: &str = "\
Examples:
  rooflens kernels top runs/first --phase decode -o top.yaml
  rooflens kernels profile --from top.yaml --dry-run -- python generate.py
  rooflens kernels profile --from top.yaml -o kernels/ --timeline runs/first -- python generate.py
  rooflens kernels profile --kernel 'flash_fwd|gemm' --launches 3 -- python generate.py";

/// Profile the kernels of a list with Nsight Compute, in one process, and analyze the report
#[derive(clap::Args)]
#[command(after_help = PROFILE_EXAMPLES)]
struct ProfileArgs {
    /// List of kernels: as kernels top -o writes it, or `kernels: [{name, regex, description}]`, where
    /// regex selects kernels by their demangled name
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, required_unless_present = "kernel")]
    from: Option<PathBuf>,
    /// Only kernels whose demangled name this matches anywhere, as Python's re.search; several: any of them.
    /// With --from it filters that list; without --from it selects among all kernels
    #[arg(long, value_name = "REGEX")]
    kernel: Vec<String>,
    /// The workload: a program and its arguments
    #[arg(value_name = "CMD", required = true, last = true)]
    command: Vec<String>,
    /// Print the command and its estimated cost without running it
    #[arg(long)]
    dry_run: bool,
    /// What to collect: more takes more passes over each launch
    #[arg(long, value_name = "SET", default_value = "detailed", value_parser = ["basic", "detailed", "full", "roofline"])]
    set: String,
    /// Minimum number of launches per kernel
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    launches: u64,
    /// base locks the clocks, so that results repeat; none leaves them as in production
    #[arg(long, value_name = "HOW", default_value = "base", value_parser = ["base", "none"])]
    clock_control: String,
    /// Only launches inside this NVTX range, as rooflens.decode
    #[arg(long, value_name = "RANGE")]
    nvtx: Option<String>,
    /// The ncu program
    #[arg(long, value_name = "PATH", default_value = "ncu")]
    ncu: String,
    /// Weight by the real time of each kernel: run directory, trace, or CSV of nsys stats
    #[arg(long, value_name = "INPUT")]
    timeline: Option<PathBuf>,
    /// Folder for the report and the files of the analysis
    #[arg(short, long, value_name = "DIR", default_value = "kernels", help_heading = "Output")]
    output: PathBuf,
}

const TOP_EXAMPLES: &str = "\
Examples:
  rooflens kernels top runs/first --k 10
  rooflens kernels top report.sqlite --phase decode -o top.yaml
  rooflens kernels top report.sqlite --by range                what launched them
  rooflens kernels top summary_cuda_gpu_kern_sum.csv --format json";

/// List the kernels that take the most time, with the statistics of nsys stats
#[derive(clap::Args)]
#[command(after_help = TOP_EXAMPLES)]
struct TopArgs {
    /// Run directory, trace (Kineto, nsys SQLite), or CSV of nsys stats; several traces are the ranks of
    /// one job
    #[arg(value_name = "INPUT", required = true, value_hint = ValueHint::AnyPath)]
    inputs: Vec<PathBuf>,
    /// Only the kernels of this kind of phase
    #[arg(long, value_name = "PHASE", value_parser = phases())]
    phase: Option<PhaseKind>,
    /// Only kernels whose name this regular expression matches anywhere; several: any of them
    #[arg(long, value_name = "REGEX", conflicts_with = "by")]
    kernel: Vec<String>,
    /// Group by kernel, or by the NVTX range that launched it and kernel
    #[arg(long, value_enum, default_value = "kernel")]
    by: By,
    /// Number of rows
    #[arg(short, long, value_name = "N", default_value_t = 20)]
    k: usize,
    /// Write the list as YAML: names, launches, and which launch is a typical one
    #[arg(short, long, value_name = "FILE", help_heading = "Output", conflicts_with = "by")]
    output: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value = "text", help_heading = "Output")]
    format: OutputFormat,
    /// Print the typical launches as ncu --kernel-id takes them, instead
    #[arg(long, help_heading = "Output")]
    ncu_filter: bool,
    /// Typical launches of each kernel in --ncu-filter
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Output", requires = "ncu_filter", value_parser = clap::value_parser!(u64).range(1..=1000))]
    launches: u64,
}

/// What the time of kernels is summed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    Kernel,
    Range,
}

fn phases() -> impl TypedValueParser<Value = PhaseKind> {
    one_of(PhaseKind::ALL.iter().map(|kind| (kind.as_str(), *kind)))
}

pub(crate) fn run(args: Args, console: &Console) -> Result<Exit, CliError> {
    match args.what {
        What::Analyze(args) => analyze(args, console),
        What::Profile(args) => profile(args, console),
        What::Top(args) => match args.by {
            By::Kernel => top(args, console),
            By::Range => by_range(args, console),
        },
    }
}

fn analyze(args: AnalyzeArgs, console: &Console) -> Result<Exit, CliError> {
    let AnalyzeArgs { inputs, timeline, hardware, columns, output, format, limit } = args;
    let request = ProfiledRequest { inputs, timeline, hardware, output: output.clone(), columns };
    let found = kernels::analyze(&request, &progress::observer(console, progress::READING))?;
    show(&found, format, limit, console)?;
    if let Some(folder) = output {
        console.say(&format!("files: {}", folder.display()));
    }
    Ok(exit_of(found.stopped))
}

fn show(
    found: &ProfiledKernels,
    format: OutputFormat,
    limit: usize,
    console: &Console,
) -> Result<(), CliError> {
    let (screen, whole) = (|| found.parts(limit), || found.parts(usize::MAX));
    let (title, document) = (found.title(), found.document());
    output::page(&Page { title: &title, limit, screen: &screen, whole: &whole, document }, format, console)
}

/// Rows of each table on the screen after a profile.
const PROFILE_ROWS: usize = 10;

fn profile(args: ProfileArgs, console: &Console) -> Result<Exit, CliError> {
    let dry_run = args.dry_run;
    let request = ProfileRequest {
        from: args.from,
        kernel: args.kernel,
        output: args.output,
        set: args.set,
        launches: args.launches,
        clock_control: args.clock_control,
        range: args.nvtx,
        ncu: args.ncu,
        timeline: args.timeline,
        command: args.command,
    };
    let planned = kernels::profile(&request)?;
    if dry_run {
        output::text(&format!("{}\n{}\n", planned.summary, planned.command()))?;
        return Ok(Exit::Fine);
    }
    console.say(&planned.summary);
    let observer = progress::observer(console, progress::MEASURING);
    let Some(found) = planned.run(&observer)? else { return Ok(Exit::Interrupted) };
    show(&found, OutputFormat::Text, PROFILE_ROWS, console)?;
    console.say(&format!("files: {}", request.output.display()));
    Ok(exit_of(found.stopped))
}

fn top(args: TopArgs, console: &Console) -> Result<Exit, CliError> {
    let TopArgs { inputs, phase, kernel, k, output, format, ncu_filter, launches, .. } = args;
    let request = TopRequest { inputs, phase, kernel, most: k, output: output.clone() };
    let found = kernels::top(&request, &progress::observer(console, progress::READING))?;
    if ncu_filter {
        output::text(&format!("{}\n", found.ncu_filter(launches)))?;
        return Ok(exit_of(found.stopped));
    }
    let (parts, table) = (|| found.parts(), || found.table());
    let whole: &dyn Fn() -> _ = if format == OutputFormat::Csv { &table } else { &parts };
    let title = "Kernels by device time";
    let page = Page { title, limit: k, screen: &parts, whole, document: found.document() };
    output::page(&page, format, console)?;
    if let Some(path) = output {
        console.say(&format!("list: {}", path.display()));
    }
    Ok(exit_of(found.stopped))
}

fn by_range(args: TopArgs, console: &Console) -> Result<Exit, CliError> {
    let TopArgs { inputs, phase, kernel, k, format, .. } = args;
    let request = TopRequest { inputs, phase, kernel, most: k, output: None };
    let found = kernels::by_range(&request, &progress::observer(console, progress::READING))?;
    let (parts, document) = (|| found.parts(), found.document());
    let page = Page { title: "Kernels by range", limit: k, screen: &parts, whole: &parts, document };
    output::page(&page, format, console)?;
    Ok(exit_of(found.stopped))
}
