//! `rooflens bench`: what load a server holds, and where latency goes.

use std::path::PathBuf;

use clap::ValueHint;
use rooflens_core::bench::{self, BenchOutcome};
use rooflens_core::exit::Exit;
use rooflens_core::project::from_here;

use crate::args::bench::{BenchArgs, ConnectionArgs, LoadArgs, LowerBoundArgs, ServerArgs, WorkloadArgs};
use crate::args::format::OutputFormat;
use crate::console::Console;
use crate::error::CliError;
use crate::output::{self, Page};
use crate::progress;

const EXAMPLES: &str = "\
Examples:
  rooflens bench http://127.0.0.1:8000 --concurrency 16 --requests 64 --input-tokens 100 --output-tokens 64
  rooflens bench http://127.0.0.1:8000 --rate 1,2,4,8 --duration 60s -o runs/sweep
                                            latency over throughput, one level after the other
  rooflens bench http://127.0.0.1:8000 --find-rate --slo 'ttft_p99<500ms,tpot_p99<50ms'
                                            the highest request rate within the SLO
  rooflens bench http://127.0.0.1:8000 --dataset mooncake_trace.jsonl --replay
  rooflens bench runtime=vllm_server --model models/qwen3-0.6b server.max_num_seqs=16,64 --concurrency 64
                                            starts the server once per value of the flag

Latency of an open loop (--rate) counts from the scheduled arrival, not from when the request could be sent. A \
run in which this client was the bottleneck is marked invalid and exits with 4.";

/// Load-test a server that speaks the OpenAI API
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// URL of the server, or runtime=vllm_server (sglang_server, llamacpp_server, trtllm_server) to start one, with
    /// server.FLAG=VALUE
    #[arg(value_name = "SERVER", required = true, num_args = 1..)]
    server: Vec<String>,
    /// Model name in the requests; the first one that the server lists by default. With runtime=…, the model to serve
    #[arg(long, short = 'm', value_name = "NAME")]
    model: Option<String>,
    /// Service-level objectives, as in 'ttft_p99<500ms,tpot_p99<50ms,error_rate<1%'
    #[arg(long, value_name = "SLO")]
    slo: Option<String>,
    /// Exit with 1 if this holds: slo (missed), errors, client (the bottleneck), METRIC>20ms, METRIC<100; may be repeated
    #[arg(long, value_name = "GATE")]
    fail_on: Vec<String>,
    #[command(flatten)]
    load: LoadArgs,
    #[command(flatten)]
    workload: WorkloadArgs,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    server_side: ServerArgs,
    #[command(flatten)]
    lower_bound: LowerBoundArgs,
    /// Save the run: tables of every request and token, numbers and an HTML report
    #[arg(long, short, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Output")]
    output: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value = "text", help_heading = "Output")]
    format: OutputFormat,
}

/// Runs the command.
pub fn run(args: Args, console: &Console) -> Result<Exit, CliError> {
    let resolved = BenchArgs {
        load: args.load,
        workload: args.workload,
        connection: args.connection,
        server: args.server_side,
        model: args.lower_bound,
    };
    let request = resolved.request(&args.server, args.model, args.slo, args.fail_on, args.output)?;
    let observer = progress::observer(console, progress::MEASURING);
    let done = bench::bench(&request, &observer)?;
    show(&done, args.format, console)?;
    if observer.is_stopped() {
        return Ok(Exit::Interrupted);
    }
    Ok(judge(&done, console))
}

fn show(done: &BenchOutcome, format: OutputFormat, console: &Console) -> Result<(), CliError> {
    let facts = done.facts();
    let screen = || rooflens_report::bench::screen(&facts);
    let whole = || rooflens_report::bench::page(&facts);
    let document = done.document();
    let page = Page { title: "Load test", limit: usize::MAX, screen: &screen, whole: &whole, document };
    output::page(&page, format, console)?;
    match &done.page {
        Some(page) => console.say(&format!("report: {}", from_here(page).display())),
        None => console.say("nothing was saved: -o DIR keeps every request and token, and an HTML report"),
    }
    Ok(())
}

/// What the exit code is about: gates first, then whether anything was measured, then whether it can be trusted.
fn judge(done: &BenchOutcome, console: &Console) -> Exit {
    for gate in &done.failed_gates {
        console.say(&format!("failed: {gate}"));
    }
    if !done.failed_gates.is_empty() {
        return Exit::Gate;
    }
    if let Some((fact, hint)) = done.failure() {
        console.failure(&fact, hint.as_deref());
        return Exit::Workload;
    }
    Exit::Fine
}
