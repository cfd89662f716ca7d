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

use crate::reading::Format;

pub use kineto::{ANALYSIS_CATEGORY, EXPORT_KEY, Export};

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

/// Every format, in the order they are asked.
pub const ALL: &[&Format] = &[
    &kineto::FORMAT,
    &nsys::FORMAT,
    &rocprofv3::FORMAT,
    &rocpd::FORMAT,
    &torchmem::FORMAT,
    &tensorrt::FORMAT,
    &metrics::FORMAT,
    // Those that are known by a word anywhere in their beginning come last.
    &nccl::FORMAT,
    &blaslog::FORMAT,
];
