//! The vocabulary of Rooflens: what a run's tables are called, which columns they have, in which
//! unit, and how they lie on disk.
//!
//! This crate holds no analysis. Readers (`rooflens-ingest`) fill the tables, passes and questions
//! (`rooflens-analyze`) read them, and nobody else needs to know where a row came from.
//!
//! * [`tables`]: every column carries its unit and meaning, and the reference
//!   documentation is generated from them.
//! * [`format`](mod@format): every number that a person reads is rounded there.
//! * [`Names`] and [`Interner`]: names stand once, columns hold ids.
//! * [`Notes`]: every problem met on the way is a counted row with a severity.
//! * [`exposition`]: Prometheus' text, of servers under load and of saved pages.
//! * [`RunId`]: what a run is called, wherever it is kept.
//! * [`parquet_io`] and [`RunDir`]: the same tables as Parquet that any engine reads.
//!
//! A table in memory is a struct of plain `Vec` columns; Arrow arrays are made only at the edge to
//! Parquet. Times are `i64` nanoseconds since the run's clock base; a missing value is an [`Opt`].
//!
//! ```
//! use rooflens_schema::{Notes, Severity, Stage};
//!
//! let notes = Notes::default();
//! notes.add(Stage::Ingest, Severity::DataLoss, "truncated", "trace.json", "the file ends early".to_owned());
//! assert_eq!(notes.rows()[0].code, "truncated");
//! ```

pub mod cell;
pub mod document;
pub(crate) mod error;
pub mod exposition;
pub mod format;
pub mod names;
pub(crate) mod note;
pub mod parquet_io;
pub(crate) mod run_dir;
pub mod run_id;
pub mod table;
pub mod tables;

pub use cell::Opt;
pub use document::{DocumentSchema, SchemaTag};
pub use error::SchemaError;
pub use names::{Interner, NameId, Names, stable_id};
pub use note::{Note, Notes, Severity, Stage};
pub use run_dir::RunDir;
pub use run_id::{ContentHash, RunId};
pub use tables::{RankTables, TraceMeta};

/// Version of the tables and of every JSON document. Minor versions only add nullable columns or
/// fields; a major version may remove or re-define one.
pub const SCHEMA_VERSION: &str = "1.0";
