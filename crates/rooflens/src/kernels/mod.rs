//! Kernels one by one: which take the time, and what their launches lose.

mod analyze;
mod by_range;
mod device;
mod estimate;
mod follow;
mod list;
mod profile;
mod save;
mod timeline;
mod top;

use rooflens_collect::kernel_regex::KernelRegex;

use crate::error::CliError;

pub use analyze::{Question, analyze, save_profile};
pub use by_range::by_range;
pub use profile::{Wish, exit_of, profile};
pub use timeline::{is_table, read as read_timeline};
pub use top::{Choice, filter, matching, top};

/// The values of `--kernel`.
pub fn regexes(texts: &[String]) -> Result<Vec<KernelRegex>, CliError> {
    let read = |text: &String| {
        let place = "--kernel".to_owned();
        KernelRegex::new(text).map_err(|error| CliError::KernelRegex { place, regex: text.clone(), error })
    };
    texts.iter().map(read).collect()
}

/// What the time of kernels is summed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum By {
    /// Kernel
    Kernel,
    /// NVTX range of the program that launched it, and kernel
    Range,
}

/// What is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    Text,
    Json,
    Csv,
    Md,
}
