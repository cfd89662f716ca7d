//! Kernels one by one: which take the time, and what their launches lose.

mod analyze;
mod device;
mod save;
mod timeline;
mod top;

pub use analyze::{Question, analyze};
pub use top::{Choice, top};

/// What is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    Text,
    Json,
    Csv,
    Md,
}
