//! Problems, as a table.

use crate::note::{Severity, Stage};
use crate::table::table;

table! {
    /// A problem found on the way, with its count.
    NotesTable(NoteRow) = "notes", per_rank: false {
        /// Stage that met it.
        stage: Stage => "word" Dictionary,
        /// How bad it is.
        severity: Severity => "word" Dictionary,
        /// Stable word for programs.
        code: String => "word" Dictionary,
        /// File it was met in; empty where it concerns the whole run.
        source: String => "text" Dictionary,
        /// How often.
        count: i64 => "count" Dictionary,
        /// A sentence for people.
        message: String => "text" Dictionary,
    }
}
