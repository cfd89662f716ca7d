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
mod host;
mod operators;
pub(crate) mod sequences;
mod stalls;
pub mod summary;
pub(crate) mod waits;

pub use charge::{KernelLines, Piece, pieces};
pub use class::is_needed;
pub use efficiency::{Achieved, KernelTime, OperatorTime};
#[cfg(test)]
pub(crate) use exchange::ExposedTransfers;
pub(crate) use exchange::{LATENCY_BOUND_NS, Transfers};
pub use operators::{Floor, OperatorFloor, StepAsked, StepModel, StepShape, kernels_floor_ns};
pub(crate) use stalls::{PrefillStall, Stalls};
pub(crate) use waits::Waits;

pub(crate) use charge::charges;
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

/// Declares the lines: name in JSON and tables, name for people, meaning.
macro_rules! lines {
    ($($(#[doc = $doc:literal])+ $line:ident = $name:literal, $title:literal, $meaning:literal;)+) => {
        /// A line of the ledger.
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
        )]
        #[serde(rename_all = "snake_case")]
        pub enum Line {
            $($(#[doc = $doc])+ $line,)+
        }

        impl Line {
            /// Every line, in the order of the ledger.
            pub const ALL: &[Line] = &[$(Line::$line),+];

            /// Name in JSON and tables.
            pub fn as_str(self) -> &'static str {
                match self { $(Line::$line => $name),+ }
            }

            /// Name for people.
            pub fn title(self) -> &'static str {
                match self { $(Line::$line => $title),+ }
            }

            /// Activities or gaps that are on it.
            pub fn meaning(self) -> &'static str {
                match self { $(Line::$line => $meaning),+ }
            }
        }
    };
}

lines! {
    /// Lower bound: the minimum time of the model's work on the device.
    Floor = "floor", "floor", "lower bound of the model's work on the device";
    /// Time of the model's kernels, above the least.
    Inefficiency = "inefficiency", "inefficiency", "the model's kernels, above their lower bound";
    /// Time of the model's kernels, without a lower bound.
    Kernels = "kernels", "kernels", "the model's kernels; no lower bound known";
    /// Work that the model does not need as kernels of their own: copies, casts, unfused elementwise work.
    Unneeded = "unneeded", "avoidable", "copies, casts and unfused elementwise kernels";
    /// Communication between devices with nothing else running; with several ranks, the transfer alone.
    Communication = "communication", "communication", "exposed communication: no compute overlaps it";
    /// In a collective with nothing else running, before the last rank has arrived.
    CommWait = "comm_wait", "waiting for other ranks", "in collectives: waiting for other ranks to arrive";
    /// Copies and fills by the driver with nothing else running.
    Copies = "copies", "copies", "exposed memory copies and fills: no compute overlaps them";
    /// Idle: the host launched one kernel after the other, slower than the device ran them.
    LaunchBound = "launch_bound", "launch bound", "idle: the host launched slower than the device ran";
    /// Idle: the host was busy with something else.
    CpuBound = "cpu_bound", "cpu bound", "idle: the host was busy with something else";
    /// Idle: the host had waited for the device.
    Sync = "sync", "sync", "idle: the host had waited for the device";
    /// Idle: queued work waited for another stream, a copy, a collective, or something unrecorded.
    Dependency = "dependency", "dependency", "idle: queued work did not start, and nothing recorded ran";
    /// Idle: the gap that the device needs between two queued activities.
    Dispatch = "dispatch", "dispatch", "idle: the gap the device needs between two activities";
    /// Idle, and the trace does not show why.
    Unknown = "unknown", "unknown", "idle: the trace does not say why";
}

impl Line {
    /// Whether the timeline did nothing.
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

/// The line of a class of kernels, without a lower bound.
pub(crate) fn class_line(class: KernelClass) -> Line {
    match class {
        KernelClass::Communication => Line::Communication,
        KernelClass::Memcpy | KernelClass::Memset => Line::Copies,
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
