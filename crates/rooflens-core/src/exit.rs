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

impl Exit {
    /// Every code, in order.
    pub const ALL: &[Exit] = &[
        Exit::Fine,
        Exit::Gate,
        Exit::Usage,
        Exit::Environment,
        Exit::Workload,
        Exit::Data,
        Exit::Bug,
        Exit::Interrupted,
    ];

    /// The number.
    pub fn code(self) -> u8 {
        match self {
            Exit::Fine => 0,
            Exit::Gate => 1,
            Exit::Usage => 2,
            Exit::Environment => 3,
            Exit::Workload => 4,
            Exit::Data => 5,
            Exit::Bug => 70,
            Exit::Interrupted => 130,
        }
    }

    /// What it means.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Exit::Fine => "success",
            Exit::Gate => "a gate failed",
            Exit::Usage => "the command line or the configuration is wrong",
            Exit::Environment => "a tool, a permission or disk space is missing",
            Exit::Workload => "the profiled or measured workload failed",
            Exit::Data => "the input is missing or cannot be read",
            Exit::Bug => "a bug in Rooflens: please report it",
            Exit::Interrupted => "interrupted; what was read before was reported and saved",
        }
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
