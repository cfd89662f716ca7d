//! What this machine has and lacks, a file for each kind of thing. To add one: a file here, a `mod` line
//! and an entry in `ALL`. Files are looked at, NVIDIA's driver is asked for its devices, and a few
//! programs for their version; nothing is changed or sent.

mod clock;
mod gpu;
mod host;
mod machine;
mod nsight;
mod own;
mod python;
mod room;

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::machine::{Machine, Python};
use crate::document::SchemaTag;

/// Status of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    /// As it should be.
    Ok,
    /// Not there; what needs it cannot be done here.
    Missing,
    /// There, but numbers may mislead or work may fail.
    Warning,
    /// Of no use on this machine.
    NotApplicable,
}

impl CheckStatus {
    /// The word on a screen.
    pub fn word(self) -> &'static str {
        match self {
            CheckStatus::Ok => "ok",
            CheckStatus::Missing => "missing",
            CheckStatus::Warning => "warning",
            CheckStatus::NotApplicable => "n/a",
        }
    }
}

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

/// One check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DoctorCheck {
    /// What.
    pub name: Cow<'static, str>,
    /// Its status.
    pub status: CheckStatus,
    /// What was found.
    pub found: String,
    /// What it is needed for, where that is not plain.
    pub needed: Option<Cow<'static, str>>,
    /// The command or word that helps.
    pub hint: Option<String>,
}

impl DoctorCheck {
    fn ok(name: &'static str, found: impl Into<String>) -> Self {
        DoctorCheck {
            name: name.into(),
            status: CheckStatus::Ok,
            found: found.into(),
            needed: None,
            hint: None,
        }
    }

    fn missing(name: &'static str, found: impl Into<String>, hint: impl Into<String>) -> Self {
        DoctorCheck { status: CheckStatus::Missing, hint: Some(hint.into()), ..DoctorCheck::ok(name, found) }
    }

    fn warning(name: &'static str, found: impl Into<String>, hint: impl Into<String>) -> Self {
        DoctorCheck { status: CheckStatus::Warning, ..DoctorCheck::missing(name, found, hint) }
    }

    fn not_applicable(name: &'static str, found: impl Into<String>) -> Self {
        DoctorCheck { status: CheckStatus::NotApplicable, ..DoctorCheck::ok(name, found) }
    }

    fn needed(mut self, needed: &'static str) -> Self {
        self.needed = Some(needed.into());
        self
    }
}

/// Every kind of check, in order.
const ALL: &[fn(&Machine) -> Vec<DoctorCheck>] =
    &[own::checks, host::checks, room::checks, clock::checks, python::checks, gpu::checks, nsight::checks];

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
        assert_eq!(files, ALL.len() + 2, "add the file's checks to ALL");
    }
}
