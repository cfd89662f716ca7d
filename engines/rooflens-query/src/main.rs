//! `rooflens-query`: one SQL query over a Rooflens store, run by Apache DataFusion.
//!
//! `rooflens query` starts it: a process of its own keeps DataFusion's hundreds of crates out of the main tool. It
//! reads one [`request::Request`] from standard input, writes the result to standard output as an Arrow IPC stream, and
//! reports on standard error, one [`Event`] per line. It only reads: see [`statement`] for what is refused.
//!
//! Which files count is decided by `rooflens-store`; [`table`] turns that into scans that skip days, tenants, row
//! groups and pages that a query does not need.

use std::process::ExitCode;

mod damage;
mod fault;
mod interrupt;
mod memory;
mod names;
mod notes;
mod output;
mod partitions;
mod pool;
mod progress;
mod query;
mod reader;
mod request;
mod session;
mod spill;
mod statement;
mod table;
mod types;

use progress::Scanned;
use rooflens_engine_protocol::{Event, Fault, Kind, emit};

const HELP: &str = "\
Run one SQL query over a Rooflens store with Apache DataFusion.

This is an engine that `rooflens query` starts; use that command instead.
The request is one JSON object on standard input, the result an Arrow IPC
stream on standard output, and progress one JSON object per line on
standard error.

Usage: rooflens-query [--help | --version]
";

/// Stack of each worker.
const STACK_BYTES: usize = 16 << 20;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    match arguments.first().and_then(|argument| argument.to_str()) {
        None if arguments.is_empty() => run(),
        Some("--version" | "-V") => output::text(&format!("rooflens-query {}\n", env!("CARGO_PKG_VERSION"))),
        Some("--help" | "-h") => output::text(HELP),
        _ => {
            let fault =
                Fault::new(Kind::Engine, "rooflens-query takes no arguments but --help and --version");
            failed(fault.hint("use `rooflens query`, which starts it"))
        }
    }
}

/// Runs the request until it is answered or a signal arrives.
fn run() -> ExitCode {
    // Signals and clocks are watched by this thread alone: the others may compute for seconds before they look.
    let watch = tokio::runtime::Builder::new_current_thread().enable_all().build();
    // Plans are walked by recursion, and large queries nest deeply: two megabytes of stack, tokio's default, overflowed
    // where the engine is built without optimisation.
    let workers =
        tokio::runtime::Builder::new_multi_thread().enable_all().thread_stack_size(STACK_BYTES).build();
    let (watch, workers) = match (watch, workers) {
        (Ok(watch), Ok(workers)) => (watch, workers),
        (Err(error), _) | (_, Err(error)) => {
            return failed(Fault::new(Kind::Engine, format!("cannot start threads: {error}")));
        }
    };
    let spill = spill::Registry::default();
    let ended = watch.block_on(async {
        tokio::select! {
            // A signal that comes together with the end of the query wins: its sender expects to see it obeyed.
            biased;
            stopped = interrupt::wait() => Err(stopped),
            ended = query::spawn(workers.handle(), spill.clone()) => ended,
        }
    });
    // Threads that decode or write are not waited for: they end with the process, and an interrupt must not depend
    // on how far they are. Nor are they let go one by one: glibc's pthread_detach reads a thread's memory after it may
    // have ended and, with stacks as large as these, been unmapped (glibc bug 19951).
    std::mem::forget(workers);
    spill.clear();
    match ended {
        Ok(done) => {
            emit(&done);
            ExitCode::SUCCESS
        }
        Err(fault) => failed(fault),
    }
}

fn failed(fault: Fault) -> ExitCode {
    let code = fault.kind.exit_code();
    emit::<Scanned>(&Event::Error(fault));
    ExitCode::from(code)
}
