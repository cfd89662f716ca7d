//! The commands, one a file. Adding one: a file here, a `mod` line, and a variant of [`Command`],
//! whose order is that of the help.

mod advise;
mod analyze;
mod assets;
mod bench;
pub(crate) mod bench_worker;
mod compare;
mod completions;
mod config;
mod cost;
mod doctor;
mod explain;
mod export;
mod externals;
mod hardware;
mod import;
mod init;
mod kernels;
mod list;
mod man;
mod mcp;
mod query;
mod report;
mod run;
mod runs;
mod schema;
mod self_test;
mod serve;
mod store;
mod trend;

use clap::Subcommand;
use rooflens_core::exit::Exit;

use crate::console::Console;
use crate::error::CliError;
use crate::{monitor, plot, top};

/// A command with its arguments.
#[derive(Subcommand)]
pub(crate) enum Command {
    Run(run::Args),
    Analyze(analyze::Args),
    Advise(advise::Args),
    Import(import::Args),
    Export(export::Args),
    Report(report::Args),
    Plot(plot::Args),
    Top(top::Args),
    Kernels(kernels::Args),
    Bench(Box<bench::Args>),
    Compare(compare::Args),
    Trend(trend::Args),
    Store(store::Args),
    Runs(runs::Args),
    Serve(serve::Args),
    Query(Box<query::Args>),
    Cost(Box<cost::Args>),
    Hardware(hardware::Args),
    Config(config::Args),
    Init(init::Args),
    Assets(assets::Args),
    Externals(externals::Args),
    List(list::Args),
    Explain(explain::Args),
    Monitor(monitor::Args),
    Doctor(doctor::Args),
    SelfTest(self_test::Args),
    Mcp(mcp::Args),
    Schema(schema::Args),
    Completions(completions::Args),
    Man(man::Args),
    BenchWorker(bench_worker::Args),
}

impl Command {
    /// Runs the command; `whole` makes the command line that manuals and completions are of.
    pub(crate) fn run(self, whole: fn() -> clap::Command, console: &Console) -> Result<Exit, CliError> {
        match self {
            Command::Run(args) => run::run(args, console),
            Command::Analyze(args) => analyze::run(args, console),
            Command::Advise(args) => advise::run(args, console),
            Command::Import(args) => import::run(args, console),
            Command::Export(args) => export::run(args, console),
            Command::Report(args) => report::run(&args, console),
            Command::Plot(args) => plot::run(args, console),
            Command::Top(args) => top::run(args, console),
            Command::Kernels(args) => kernels::run(args, console),
            Command::Bench(args) => bench::run(*args, console),
            Command::Compare(args) => compare::run(args, console),
            Command::Trend(args) => trend::run(args, console),
            Command::Store(args) => store::run(args, console),
            Command::Runs(args) => runs::run(args, console),
            Command::Serve(args) => serve::run(args, console),
            Command::Query(args) => query::run(*args, console),
            Command::Cost(args) => cost::run(*args, console),
            Command::Hardware(args) => hardware::run(args, console),
            Command::Config(args) => config::run(args, console),
            Command::Init(args) => init::run(&args, console),
            Command::Assets(args) => assets::run(args, console),
            Command::Externals(args) => externals::run(args, console),
            Command::List(args) => list::run(&args, console),
            Command::Explain(args) => explain::run(&args, console),
            Command::Monitor(args) => monitor::run(&args, console),
            Command::Doctor(args) => doctor::run(&args, console),
            Command::SelfTest(args) => self_test::run(&args, console),
            Command::Mcp(args) => mcp::run(args, console),
            Command::Schema(args) => schema::run(&args),
            Command::Completions(args) => completions::run(&args, whole),
            Command::Man(args) => man::run(&args, whole, console),
            Command::BenchWorker(args) => bench_worker::run(args, console),
        }
    }
}
