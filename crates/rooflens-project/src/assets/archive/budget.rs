//! How much an archive may hold.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::problem::ArchiveProblem;

/// How much an archive may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// Bytes of all files.
    pub max_bytes: u64,
    /// Files, folders and links.
    pub max_entries: u64,
    /// Bytes of all files for each byte of the archive.
    pub max_ratio: u64,
}

impl Default for Limits {
    /// Generous for datasets: deflated text reaches 20:1, masks and label images 100:1, while bombs
    /// live off deflate's limit of 1032:1.
    fn default() -> Self {
        Self { max_bytes: 100_000_000_000, max_entries: 500_000, max_ratio: 200 }
    }
}

/// Below this many bytes nothing is a bomb, however dense: one file of zeros may be.
const RATIO_FLOOR_BYTES: u64 = 16 << 20;

/// What has come out so far. It counts bytes that are written, not what headers claim.
#[derive(Debug)]
pub(super) struct Budget {
    limits: Limits,
    most_by_ratio: u64,
    pub(super) entries: u64,
    pub(super) bytes: u64,
}

impl Budget {
    pub(super) fn new(limits: Limits, archive_bytes: u64) -> Self {
        // The whole archive's size, so that entries which share bytes gain nothing.
        let most_by_ratio = archive_bytes.saturating_mul(limits.max_ratio).max(RATIO_FLOOR_BYTES);
        Self { limits, most_by_ratio, entries: 0, bytes: 0 }
    }

    pub(super) fn add_entry(&mut self) -> Result<(), ArchiveProblem> {
        self.entries += 1;
        if self.entries > self.limits.max_entries {
            return Err(ArchiveProblem::TooManyEntries { limit: self.limits.max_entries });
        }
        Ok(())
    }

    /// To be called before the bytes are written.
    pub(super) fn add_bytes(&mut self, bytes: u64) -> Result<(), ArchiveProblem> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > self.limits.max_bytes {
            return Err(ArchiveProblem::TooManyBytes { limit: self.limits.max_bytes });
        }
        if self.bytes > self.most_by_ratio {
            return Err(ArchiveProblem::TooDense { limit: self.limits.max_ratio });
        }
        Ok(())
    }
}
