//! The formats, one file (or folder) each. Adding one: a file here, a `mod` line, an entry in
//! [`ALL`], and a sample at `fixtures/<name>/`.

mod blaslog;
mod kineto;
mod metrics;
mod nccl;
mod nsys;
mod rocm;
mod rocpd;
mod rocprofv3;
mod tensorrt;
mod torchmem;
pub mod workload;

use std::path::Path;

use rooflens_schema::{Interner, Notes, RankTables};

use crate::artefact::{Artefact, Probe};
use crate::error::IngestError;

pub use kineto::{ANALYSIS_CATEGORY, EXPORT_KEY, Export};

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

/// Keeps one item of each set of files that are read together.
pub fn keep_one_a_set<T>(items: &mut Vec<T>, path: impl Fn(&T) -> Option<&Path>) {
    rocprofv3::keep_one_a_set(items, &path);
    tensorrt::keep_one(items, &path);
    nsys::keep_one(items, &path);
}

/// Whether a file is no trace itself but stands beside one.
pub(crate) fn is_beside_a_set(path: &Path) -> bool {
    rocprofv3::is_beside_a_set(path) || nsys::is_beside(path)
}

/// What every reader ends with: what the trace says about itself, and times from its first record on.
fn finish(
    mut tables: RankTables,
    interner: Interner,
    (format, source): (&'static str, String),
    records: i64,
    (first_ns, last_ns): (i64, i64),
) -> RankTables {
    tables.meta.source = source;
    tables.meta.format = format.to_owned();
    tables.meta.events = records;
    (tables.meta.first_ns, tables.meta.last_ns) = (first_ns, last_ns);
    tables.names = interner.freeze();
    tables.shift(first_ns.saturating_neg());
    tables
}

/// Device, stream and launch sizes are small; what is not is held at the edge.
fn narrow(value: i64) -> i32 {
    value.clamp(i64::from(i32::MIN) + 1, i64::from(i32::MAX)) as i32
}

/// Every format, in the order they are asked.
pub const ALL: &[&dyn Format] = &[
    &kineto::Kineto,
    &nsys::Nsys,
    &rocprofv3::Rocprofv3,
    &rocpd::Rocpd,
    &torchmem::Torchmem,
    &tensorrt::Tensorrt,
    &metrics::Metrics,
    // Those that are known by a word anywhere in their beginning come last.
    &nccl::Nccl,
    &blaslog::BlasLog,
];
