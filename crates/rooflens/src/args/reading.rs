//! How traces are read, for the commands that take them.

use std::path::PathBuf;

use rooflens_core::input::ReadOptions;

/// How traces are read.
#[derive(clap::Args)]
#[group(id = "reading")]
pub(crate) struct ReadingArgs {
    /// Trace of the CUDA graph capture: gives the kernels of replayed graphs their module names. One for all
    /// ranks, or one per rank
    #[arg(long, value_name = "TRACE")]
    capture: Vec<PathBuf>,
    /// Keep paths, addresses, environment values and keys found in names; by default they are removed
    #[arg(long)]
    keep_private: bool,
}

impl ReadingArgs {
    /// As the library takes it.
    pub(crate) fn options(self) -> ReadOptions {
        ReadOptions { captures: self.capture, keep_private: self.keep_private, gemms: Vec::new() }
    }
}
