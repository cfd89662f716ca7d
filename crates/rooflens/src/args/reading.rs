//! How traces are read, for the commands that take them.

use std::path::PathBuf;

use rooflens_core::input::ReadOptions;

/// How traces are read.
#[derive(clap::Args)]
#[group(id = "reading")]
pub struct ReadingArgs {
    /// Trace recorded while the replayed graphs were captured, to name their modules: one for all ranks, or
    /// one per rank
    #[arg(long, value_name = "TRACE")]
    capture: Vec<PathBuf>,
    /// Keep paths, addresses and environment values found in names of the trace
    #[arg(long)]
    keep_private: bool,
}

impl ReadingArgs {
    /// As the library takes it.
    pub fn options(self) -> ReadOptions {
        ReadOptions { captures: self.capture, keep_private: self.keep_private, gemms: Vec::new() }
    }
}
