//! What `rooflens export` writes beside Kineto's own events and keys.
//!
//! An export of one rank is a trace like any other: the tracks of the analysis are left out, the rest is read as the
//! profiler wrote it. What only the first reader knew, its notes, is in a key of its own.

use rooflens_schema::{Note, Severity};
use serde::{Deserialize, Serialize};

use crate::reading::Reading;

/// The category of events that show the analysis: ledger, phases, layers, counters. Reading derives them anew.
pub const ANALYSIS_CATEGORY: &str = "rooflens";

/// The key that marks a file as an export. `rooflens` alone is what a run writes into its trace.
pub const EXPORT_KEY: &str = "rooflens_export";

/// What an export says of the traces it was made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Export {
    /// Ranks in the file.
    pub ranks: usize,
    /// Format of the first rank's trace.
    pub format: String,
    /// What was met when the traces were read: an export of a damaged trace is as incomplete as the trace.
    pub notes: Vec<Note>,
}

/// More notes, or larger counts, no export has: a file that claims them must not make sums of counts overflow.
const MOST_NOTES: usize = 1000;
const LARGEST_COUNT: i64 = 1 << 40;

impl Export {
    /// Adds the notes of the traces, and one where this format has no place for all that they held.
    pub(super) fn tell(&self, reading: &Reading<'_>) {
        for note in self.notes.iter().take(MOST_NOTES) {
            let count = note.count.clamp(0, LARGEST_COUNT);
            let (code, source, message) = (plain(&note.code), plain(&note.source), plain(&note.message));
            reading.notes.add_many(note.stage, note.severity, &code, &source, count, message);
        }
        if self.format != "kineto" {
            let message = format!(
                "it was exported from a trace in format {:?}: what this format cannot represent is missing",
                self.format
            );
            reading.note(Severity::Warning, "exported", 1, message);
        }
    }
}

/// Without what could steer a terminal: the notes of this program have none of it, but any file may claim some.
fn plain(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(1000).collect()
}
