//! A check of the machine, and its status.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    pub(super) fn ok(name: &'static str, found: impl Into<String>) -> Self {
        DoctorCheck {
            name: name.into(),
            status: CheckStatus::Ok,
            found: found.into(),
            needed: None,
            hint: None,
        }
    }

    pub(super) fn missing(name: &'static str, found: impl Into<String>, hint: impl Into<String>) -> Self {
        DoctorCheck { status: CheckStatus::Missing, hint: Some(hint.into()), ..DoctorCheck::ok(name, found) }
    }

    pub(super) fn warning(name: &'static str, found: impl Into<String>, hint: impl Into<String>) -> Self {
        DoctorCheck { status: CheckStatus::Warning, ..DoctorCheck::missing(name, found, hint) }
    }

    pub(super) fn not_applicable(name: &'static str, found: impl Into<String>) -> Self {
        DoctorCheck { status: CheckStatus::NotApplicable, ..DoctorCheck::ok(name, found) }
    }

    pub(super) fn needed(mut self, needed: &'static str) -> Self {
        self.needed = Some(needed.into());
        self
    }
}
