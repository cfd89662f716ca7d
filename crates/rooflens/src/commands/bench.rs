//! `rooflens bench`: what load a server holds, and where latency goes.

use std::path::PathBuf;

use clap::ValueHint;
use rooflens_core::bench::{self, BenchOutcome, BenchRequest, OtherServer};
use rooflens_core::compare::Gate;
use rooflens_core::error::Hint;
use rooflens_core::exit::Exit;
use rooflens_core::project::from_here;

use crate::args::OutputFormat;
use crate::args::bench::{BenchArgs, server_url};
use crate::args::store::StoreArgs;
use crate::commands::compare;
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
  rooflens bench http://old:8000 --against http://new:8000 --concurrency 16 --fail-on 'tpot_p50>+3%'
                                            two servers in turns: is the new one slower?

Latency of an open loop (--rate) counts from the scheduled arrival, not from when the request could be sent. A \
run in which this client was the bottleneck is marked invalid and exits with 4.";

/// Load-test a server that speaks the OpenAI API
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
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
    /// Exit with 1 if this holds: slo (missed), errors, client (the bottleneck), METRIC>20ms, METRIC<100; with
    /// --against errors, METRIC>20ms, METRIC>+3%; may be repeated
    #[arg(long, value_name = "GATE")]
    fail_on: Vec<String>,
    /// Compare with a second server (B): both take turns, so that what else happens on the machine is in both
    #[arg(long, value_name = "URL", conflicts_with_all = ["find_rate", "slo"])]
    against: Option<String>,
    /// Rounds that each server gets with --against, after one to warm up, at least 10; --requests and --duration are per
    /// round
    #[arg(long, value_name = "N", default_value_t = 16, requires = "against", value_parser = clap::value_parser!(u16).range(10..))]
    rounds: u16,
    #[command(flatten)]
    bench: BenchArgs,
    /// Save the run: tables of every request and token, numbers and an HTML report
    #[arg(long, short, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Output")]
    output: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
    /// Output format
    #[arg(long, value_enum, default_value = "text", help_heading = "Output")]
    format: OutputFormat,
}

pub(crate) fn run(args: Args, console: &Console) -> Result<Exit, CliError> {
    let resolved = if args.against.is_some() { args.bench.with_short_rounds() } else { args.bench };
    let folder = args.output.clone();
    if args.store.is_given() && folder.is_none() {
        let hint = Hint::words("-o keeps every request and token; the store keeps the requests");
        return Err(CliError::usage("--store needs -o DIR in a load test", hint));
    }
    let request = resolved.request(&args.server, args.model, args.slo, args.fail_on, args.output)?;
    if let Some(url) = args.against {
        let other = OtherServer { url: server_url(&url), rounds: usize::from(args.rounds) };
        return run_against(&request, &other, args.format, console);
    }
    let observer = progress::observer(console, progress::MEASURING);
    let done = bench::bench(&request, &observer)?;
    show(&done, args.format, console)?;
    if observer.is_stopped() {
        return Ok(Exit::Interrupted);
    }
    args.store.add(folder.into_iter().collect(), &observer, console)?;
    Ok(judge(&done, console))
}

fn run_against(
    request: &BenchRequest,
    other: &OtherServer,
    format: OutputFormat,
    console: &Console,
) -> Result<Exit, CliError> {
    let gate = |text: &String| Gate::parse(if text == "errors" { "error_rate>0" } else { text });
    let gates = request.fail_on.iter().map(gate).collect::<Result<Vec<_>, _>>()?;
    let observer = progress::observer(console, progress::MEASURING);
    let done = bench::bench_against(request, other, &gates, &observer)?;
    compare::show(&done.comparison, usize::MAX, format, console)?;
    match &done.page {
        Some(page) => console.say(&format!("report: {}", from_here(page).display())),
        None => console.say("nothing was saved: -o DIR keeps every round, and an HTML report"),
    }
    compare::judge(&done.comparison, console);
    if observer.is_stopped() {
        return Ok(Exit::Interrupted);
    }
    if done.comparison.is_failed() {
        return Ok(Exit::Gate);
    }
    if done.invalid_rounds == 0 {
        return Ok(Exit::Fine);
    }
    let fact =
        format!("the client was the bottleneck in {} of {} rounds", done.invalid_rounds, 2 * done.rounds);
    // A few do no harm: a pair counts once, whatever its size.
    if done.invalid_rounds * 10 <= 2 * done.rounds {
        console.warn(&fact);
        return Ok(Exit::Fine);
    }
    console.failure(&fact, Some("use a machine of its own for the client, or a lower load"));
    Ok(Exit::Workload)
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
        console.judged(&format!("failed: {gate}"));
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
