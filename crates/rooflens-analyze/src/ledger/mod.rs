//! The time ledger: every nanosecond of a timeline belongs to one activity and stands on one line.
//!
//! A device's timeline runs from its first activity to the end of its last. A moment belongs to the
//! activity that runs; where several run, to compute before communication before copies, and among
//! the same kind to the one that started first; where none runs, to the one that ends the gap. So each
//! moment has a phase, a step, a layer, a class and a line, and everything adds up, to the nanosecond.
//! A trace without device activity has the busiest host thread in the device's place: operators, each
//! less what is inside it, and the host's own code between them.

mod align;
mod charge;
mod class;
mod efficiency;
mod exchange;
mod fit;
mod floors;
mod host;
mod operators;
mod pieces;
pub(crate) mod sequences;
mod stalls;
pub mod summary;
pub(crate) mod waits;

pub use class::is_needed;
pub use efficiency::{Achieved, KernelTime, OperatorTime};
#[cfg(test)]
pub(crate) use exchange::ExposedTransfers;
pub(crate) use exchange::{LATENCY_BOUND_NS, Transfers};
pub use floors::{Floor, kernels_floor_ns};
pub use operators::{OperatorFloor, StepAsked, StepModel};
pub use pieces::{KernelLines, Piece, pieces};
pub(crate) use stalls::{PrefillStall, Stalls};
pub(crate) use waits::Waits;

pub(crate) use charge::{charges, each_stretch};
pub(crate) use class::{KernelClasses, of_operator};
pub(crate) use efficiency::{OperatorSum, PhaseEfficiency, Sum, of_phase};
pub(crate) use exchange::{Exchange, waited_ns};
pub(crate) use host::moments;
pub(crate) use sequences::{KernelNames, Sequences};

use rooflens_schema::tables::GapCause;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kernel_catalog::KernelClass;
use crate::role::Role;

/// A line of the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// Lower bound: the minimum time of the model's work on the device.
    Floor,
    /// Time of the model's kernels, above the least.
    Inefficiency,
    /// Time of the model's kernels, without a lower bound.
    Kernels,
    /// Work that the model does not need as kernels of their own: copies, casts, unfused elementwise work.
    Unneeded,
    /// Communication between devices with nothing else running; with several ranks, the transfer alone.
    Communication,
    /// In a collective with nothing else running, before the last rank has arrived.
    CommWait,
    /// Copies and fills by the driver with nothing else running.
    Copies,
    /// Idle: the host launched one kernel after the other, slower than the device ran them.
    LaunchBound,
    /// Idle: the host was busy with something else.
    CpuBound,
    /// Idle: the host had waited for the device.
    Sync,
    /// Idle: queued work waited for another stream, a copy, a collective, or something unrecorded.
    Dependency,
    /// Idle: the gap that the device needs between two queued activities.
    Dispatch,
    /// Idle, and the trace does not show why.
    Unknown,
}

impl Line {
    /// Every line, in the order of the ledger.
    pub const ALL: &[Line] = &[
        Line::Floor,
        Line::Inefficiency,
        Line::Kernels,
        Line::Unneeded,
        Line::Communication,
        Line::CommWait,
        Line::Copies,
        Line::LaunchBound,
        Line::CpuBound,
        Line::Sync,
        Line::Dependency,
        Line::Dispatch,
        Line::Unknown,
    ];

    /// Name in JSON and tables.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Line::Floor => "floor",
            Line::Inefficiency => "inefficiency",
            Line::Kernels => "kernels",
            Line::Unneeded => "unneeded",
            Line::Communication => "communication",
            Line::CommWait => "comm_wait",
            Line::Copies => "copies",
            Line::LaunchBound => "launch_bound",
            Line::CpuBound => "cpu_bound",
            Line::Sync => "sync",
            Line::Dependency => "dependency",
            Line::Dispatch => "dispatch",
            Line::Unknown => "unknown",
        }
    }

    /// Name for people.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Line::Unneeded => "avoidable",
            Line::CommWait => "waiting for other ranks",
            Line::LaunchBound => "launch bound",
            Line::CpuBound => "cpu bound",
            line => line.as_str(),
        }
    }

    /// What stands on it.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Line::Floor => "lower bound of the model's work on the device",
            Line::Inefficiency => "the model's kernels, above their lower bound",
            Line::Kernels => "the model's kernels; no lower bound known",
            Line::Unneeded => "copies, casts and unfused elementwise kernels",
            Line::Communication => "exposed communication: no compute overlaps it",
            Line::CommWait => "in collectives: waiting for other ranks to arrive",
            Line::Copies => "exposed memory copies and fills: no compute overlaps them",
            Line::LaunchBound => "idle: the host launched slower than the device ran",
            Line::CpuBound => "idle: the host was busy with something else",
            Line::Sync => "idle: the host had waited for the device",
            Line::Dependency => "idle: queued work did not start, and nothing recorded ran",
            Line::Dispatch => "idle: the gap the device needs between two activities",
            Line::Unknown => "idle: the trace does not say why",
        }
    }

    /// Whether the timeline did nothing.
    #[must_use]
    pub fn is_idle(self) -> bool {
        self >= Line::LaunchBound
    }

    /// The line of a gap.
    pub fn of_gap(cause: GapCause) -> Self {
        match cause {
            GapCause::LaunchBound => Line::LaunchBound,
            GapCause::CpuBound => Line::CpuBound,
            GapCause::Sync => Line::Sync,
            GapCause::DataDependency => Line::Dependency,
            GapCause::Dispatch => Line::Dispatch,
            GapCause::None | GapCause::Tail | GapCause::Unknown => Line::Unknown,
        }
    }
}

/// The line of a moment of the host: an operator of a class, or the host's own code between operators.
pub(crate) fn host_line(class: KernelClass, is_gap: bool) -> Line {
    match class {
        _ if is_gap => Line::CpuBound,
        KernelClass::Communication => Line::Communication,
        class if is_needed(class) => Line::Kernels,
        _ => Line::Unneeded,
    }
}

/// The line of an activity, without a lower bound.
pub(crate) fn line_of(role: Role, class: KernelClass) -> Line {
    match role {
        Role::Communication => Line::Communication,
        Role::Copy => Line::Copies,
        Role::Compute if is_needed(class) => Line::Kernels,
        Role::Compute => Line::Unneeded,
    }
}
