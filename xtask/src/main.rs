//! Development tasks, run as `cargo xtask <task>`. Nothing here is shipped.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "tasks report to the developer's terminal")]

mod bench;
mod check;
#[cfg(feature = "reference")]
mod generate;
#[cfg(feature = "fleet")]
mod make_fleet;
#[cfg(feature = "reference")]
mod make_trace;
#[cfg(any(feature = "reference", feature = "fleet"))]
mod random;
mod workspace;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// Development tasks of Rooflens.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Check the tree's rules: layers, import cycles, dependencies, machine paths, words.
    Check,
    /// Write docs/reference from the registries it documents, and the screen in README.md.
    #[cfg(feature = "reference")]
    Generate(generate::Arguments),
    /// Make a trace with planted truth: what the time ledger must find in it.
    #[cfg(feature = "reference")]
    MakeTrace(make_trace::Arguments),
    /// Make a store of many runs with planted truth: what every named query must find in it.
    #[cfg(feature = "fleet")]
    MakeFleet(make_fleet::Arguments),
    /// Measure `rooflens analyze` against a bare JSON pass and HTA, in one interleaved run.
    Bench(bench::Arguments),
    /// Read a trace with serde_json and add up the fields that Rooflens reads: the bar for `bench`.
    #[command(hide = true)]
    Bare {
        /// The trace, uncompressed.
        file: std::path::PathBuf,
    },
}

fn main() -> ExitCode {
    match run(Arguments::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        // Without a backtrace: what failed is a check or a command, seldom a task itself.
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> Result<()> {
    match task {
        Task::Check => check::run(),
        #[cfg(feature = "reference")]
        Task::Generate(arguments) => generate::run(&arguments),
        #[cfg(feature = "reference")]
        Task::MakeTrace(arguments) => make_trace::run(&arguments),
        #[cfg(feature = "fleet")]
        Task::MakeFleet(arguments) => make_fleet::run(&arguments),
        Task::Bench(arguments) => bench::run(arguments),
        Task::Bare { file } => bench::bare::run(&file),
    }
}
