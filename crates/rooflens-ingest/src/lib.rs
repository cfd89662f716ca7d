//! Bytes to rows: recognises a tool's output and turns it into tables. Nothing is interpreted here.
//!
//! What cannot be read becomes a note, never a panic and never silence: a cut-off or damaged file
//! gives what it still holds. To add a format, see [`formats`].
//!
//! ```
//! use rooflens_ingest::{Artefact, read};
//! use rooflens_schema::Notes;
//!
//! let text = br#"{"traceEvents": [
//!   {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 10.5, "dur": 2.25,
//!    "args": {"device": 0, "stream": 7}}]}"#;
//! let notes = Notes::default();
//! let tables = read(Artefact::from_bytes("trace.json", text)?, &notes)?;
//! assert_eq!(tables.kernels.dur_ns, [2250]);
//! # Ok::<(), rooflens_ingest::IngestError>(())
//! ```

pub(crate) mod artefact;
pub mod bench_results;
pub mod csv;
pub(crate) mod error;
pub mod folder;
pub mod formats;
mod guard;
mod lines;
pub mod ncu;
pub mod nsys_summary;
pub mod pickle;
pub mod privacy;
pub(crate) mod reading;
pub mod rocprof_compute;
mod sqlite;
#[cfg(test)]
mod testing;

pub use artefact::{Artefact, InputSource, Probe, ReadProgress, no_progress};
pub use error::IngestError;
pub use folder::{RankFile, rank_files, rank_in_name};
pub use formats::{ALL, keep_one_a_set};
pub use guard::is_guarded;
pub use reading::Format;

use rooflens_schema::{Notes, RankTables};

/// Recognises the input and reads it, without what is private in it.
pub fn read(from: Artefact, notes: &Notes) -> Result<RankTables, IngestError> {
    let mut tables = read_as_it_is(from, notes)?;
    privacy::remove(&mut tables, notes);
    Ok(tables)
}

/// Recognises the input and reads it, user names, paths and all.
pub fn read_as_it_is(from: Artefact, notes: &Notes) -> Result<RankTables, IngestError> {
    let Some(format) = recognise(from.probe()) else {
        let beginning = from.probe().head.iter().take(24).copied().collect::<Vec<u8>>();
        return Err(IngestError::Unknown {
            source_name: from.name().to_owned(),
            beginning: format!("\"{}\"", beginning.escape_ascii()),
        });
    };
    format.read(from, notes)
}

/// The format of an input, if any knows it.
pub fn recognise(probe: &Probe) -> Option<&'static Format> {
    ALL.iter().copied().find(|format| (format.sniff)(probe))
}
