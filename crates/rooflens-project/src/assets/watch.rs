//! Looking on while something takes long.

use super::step::AssetStep;

/// How far a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepProgress {
    /// Bytes done.
    pub bytes: u64,
    /// Bytes in all, where that is known.
    pub total_bytes: Option<u64>,
}

/// Someone who looks on, and may say stop.
pub trait AssetObserver {
    /// A step begins.
    fn begins(&mut self, _step: &AssetStep) {}

    /// A step goes on. Called every megabyte or so.
    fn goes_on(&mut self, _progress: StepProgress) {}

    /// Whether to stop. What is half done is undone.
    fn should_stop(&self) -> bool {
        false
    }
}

/// Nobody looks on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unwatched;

impl AssetObserver for Unwatched {}
