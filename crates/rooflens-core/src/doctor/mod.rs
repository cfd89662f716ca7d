//! What this machine has and lacks, a file for each kind of thing. To add one: a file here, a `mod` line
//! and an entry in `ALL`. Files are looked at, NVIDIA's driver is asked for its devices, and a few
//! programs for their version; nothing is changed or sent.

mod check;
mod gpu;
mod host;
mod machine;
mod nsight;
mod python;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::check::{CheckStatus, DoctorCheck};
pub use self::machine::{Machine, Python};
use crate::document::SchemaTag;

/// The JSON document: what this machine has and what is missing.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Diagnosis {
    /// `rooflens.doctor`.
    pub(crate) schema: SchemaTag,
    /// What was looked at, in order.
    pub(crate) checks: Vec<DoctorCheck>,
}

impl Diagnosis {
    /// Of these checks.
    pub fn new(checks: Vec<DoctorCheck>) -> Self {
        Diagnosis { schema: SchemaTag::new("doctor"), checks }
    }
}

const ALL: &[fn(&Machine) -> Vec<DoctorCheck>] = &[host::checks, python::checks, gpu::checks, nsight::checks];

/// Everything that is looked at, in order.
pub fn checks(machine: &Machine) -> Vec<DoctorCheck> {
    ALL.iter().flat_map(|check| check(machine)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_what_is_wrong_has_a_hint() {
        // A machine of which nothing is known: no check may fail on it.
        let empty = tempfile::tempdir().unwrap();
        let machine = Machine { path: Vec::new(), ..Machine::at(empty.path()) };
        let all = checks(&machine);
        let mut names: Vec<&str> = all.iter().map(|check| &*check.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all.len());
        for check in &all {
            let is_wrong = matches!(check.status, CheckStatus::Missing | CheckStatus::Warning);
            assert_eq!(check.hint.is_some(), is_wrong, "{check:?}");
            assert!(!check.found.is_empty(), "{check:?}");
        }
    }

    #[test]
    fn every_file_is_registered() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/doctor");
        let files = std::fs::read_dir(folder).unwrap().count();
        assert_eq!(files, ALL.len() + 3, "add the file's checks to ALL");
    }
}
