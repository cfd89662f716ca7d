//! The command line: parse, resolve, call the line, print, exit.
//!
//! * `args`: what may be typed; resolved into plain settings, clap goes no further.
//! * `commands`: one file a command, at most about 100 lines each.
//! * `inputs`, `job`, `ranks`: from paths to findings, rank by rank; nothing here prints.
//! * `cost`, `config`, `assets`, `externals`: from a question in plain data to its answer.
//! * `run`: from a config to a run: plan, steps, analysis, summary.
//! * `kernels`: kernels one by one, from Nsight Compute and from timelines.
//! * `monitor`: what devices and the machine do, as it happens.
//! * `project`: which project a command is about.
//! * `saved`, `document`: a run directory and the JSON document.
//! * `console`, `output`, `progress`: the only places that print. Standard output is data, standard
//!   error is talk.
//! * `error`, `exit`: what can go wrong, what helps, and which code says so.

mod advise;
mod args;
mod assets;
mod bug;
mod commands;
mod compare;
mod config;
mod console;
mod cost;
mod doctor;
mod document;
mod environment;
mod error;
mod exit;
mod externals;
mod floors;
mod gemm_log;
mod glossary;
mod hardware;
mod in_order;
mod inputs;
mod interrupt;
mod job;
mod kernels;
mod links;
mod monitor;
mod output;
mod peaks;
mod perfetto;
mod progress;
mod project;
mod ranks;
mod run;
mod saved;
mod shell;
mod table;
mod trace_device;
mod trend;

use std::process::ExitCode;

use crate::exit::Exit;

fn main() -> ExitCode {
    bug::install_hook();
    // The hook has told of the bug; only the code is left to give.
    std::panic::catch_unwind(run).unwrap_or(Exit::Bug).into()
}

fn run() -> Exit {
    let (command, console) = match args::parse() {
        Ok(parsed) => parsed,
        Err(exit) => return exit,
    };
    match command.run(&console) {
        Ok(exit) => exit,
        Err(error) => {
            console.error(&error);
            error.exit()
        }
    }
}
