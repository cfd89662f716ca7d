//! The formats, one file (or folder) each. Adding one: a file here, a `mod` line, an entry in
//! [`ALL`], and a sample at `fixtures/<name>/`.

mod kineto;
mod nsys;
mod rocm;
mod rocpd;
mod rocprofv3;
mod torchmem;

pub use rocprofv3::{is_beside_a_set, keep_one_a_set};

use rooflens_schema::{Notes, RankTables};

use crate::artefact::{Artefact, Probe};
use crate::error::IngestError;

/// A tool's output that can be turned into tables.
pub trait Format: Sync {
    /// Name: on the command line, in manifests, in the documentation.
    fn name(&self) -> &'static str;
    /// What it is, in one line.
    fn about(&self) -> &'static str;
    /// Whether the input is in this format, by its name and first bytes; never by the extension alone.
    fn sniff(&self, probe: &Probe) -> bool;
    /// Reads the whole input. What cannot be read becomes a note; only an input that gives no record
    /// at all is an error.
    fn read(&self, from: Artefact, notes: &Notes) -> Result<RankTables, IngestError>;
}

/// Every format, in the order they are asked.
pub const ALL: &[&dyn Format] =
    &[&kineto::Kineto, &nsys::Nsys, &rocprofv3::Rocprofv3, &rocpd::Rocpd, &torchmem::Torchmem];
