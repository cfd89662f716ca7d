//! Exit codes: public, and never given another meaning.

use std::process::ExitCode;

use crate::error::ErrorKind;

/// How the program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Everything asked for was done.
    Fine,
    /// A gate that was asked for failed.
    Gate,
    /// The command line or the configuration is wrong.
    Usage,
    /// A tool, a permission or room on the disk is missing.
    Environment,
    /// The profiled or measured workload failed.
    Workload,
    /// The input is missing or cannot be read.
    Data,
    /// Rooflens itself is wrong.
    Bug,
    /// Ctrl-C; what was read until then was reported.
    Interrupted,
}

/// Each exit code with its meaning.
const CODES: [(Exit, u8, &str); 8] = [
    (Exit::Fine, 0, "success"),
    (Exit::Gate, 1, "a gate failed"),
    (Exit::Usage, 2, "the command line or the configuration is wrong"),
    (Exit::Environment, 3, "a tool, a permission or disk space is missing"),
    (Exit::Workload, 4, "the profiled or measured workload failed"),
    (Exit::Data, 5, "the input is missing or cannot be read"),
    (Exit::Bug, 70, "a bug in Rooflens: please report it"),
    (Exit::Interrupted, 130, "interrupted; what was read before was reported and saved"),
];

impl Exit {
    /// Each code with its meaning, in order.
    pub fn all() -> impl Iterator<Item = (u8, &'static str)> {
        CODES.iter().map(|(_, code, meaning)| (*code, *meaning))
    }

    /// The number.
    pub fn code(self) -> u8 {
        CODES.iter().find(|(exit, ..)| *exit == self).map_or(70, |(_, code, _)| *code)
    }
}

impl From<ErrorKind> for Exit {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Usage => Exit::Usage,
            ErrorKind::Environment => Exit::Environment,
            ErrorKind::Workload => Exit::Workload,
            ErrorKind::Data => Exit::Data,
            ErrorKind::Interrupted => Exit::Interrupted,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.code())
    }
}
