//! The command line: parse, call the library, print, ask, exit.
//!
//! * `cli`, `args`: what may be typed; resolved into plain requests, clap goes no further.
//! * `commands`: one file per command. Those of `monitor`, `plot` and `top` are in modules of their own.
//! * `mcp`: the server for agents.
//! * `config`, `assets`, `externals`, `runs`, `show`: what is shown of longer answers.
//! * `console`, `output`, `progress`: the only places that print. Standard output is data, standard error is for
//!   people.
//! * `error`: what only a command line can meet; the rest is in `rooflens-core`.

mod answer;
mod args;
mod assets;
mod bug;
mod cli;
mod commands;
mod config;
mod console;
mod error;
mod externals;
mod interrupt;
#[cfg(feature = "mcp")]
mod mcp;
mod monitor;
mod output;
mod plot;
mod progress;
mod runs;
mod show;
mod top;

use std::process::ExitCode;

use rooflens_core::exit::Exit;

fn main() -> ExitCode {
    bug::install_hook();
    // The hook has told of the bug; only the code is left to give.
    std::panic::catch_unwind(run).unwrap_or(Exit::Bug).into()
}

fn run() -> Exit {
    let (command, console) = match cli::parse() {
        Ok(parsed) => parsed,
        Err(exit) => return exit,
    };
    match command.run(cli::whole, &console) {
        Ok(exit) => exit,
        Err(error) => {
            console.error(&error);
            error.exit()
        }
    }
}
