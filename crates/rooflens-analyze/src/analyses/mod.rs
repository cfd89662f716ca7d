//! The questions, one a file. The doc comment on a result's field is its documentation.

mod classes;
mod communication;
mod devices;
mod frames;
mod gaps;
mod health;
mod kernels;
mod launches;
mod memory;
mod modules;
mod operators;
mod phases;
mod trace;
mod verdict;

pub use classes::{ClassStat, Classes};
pub use communication::{CollectiveStat, Communication, RankWait};
pub use devices::{DeviceTime, Devices, Timeline};
pub use frames::{FrameStat, Frames};
pub use gaps::{GapExample, GapStat, Gaps};
pub use health::{Check, Health};
pub use kernels::{KernelStat, Kernels};
pub use launches::{ApiStat, Launches};
pub use memory::{DeviceMemory, Memory};
pub use modules::{LayerStat, ModuleStat, Modules};
pub use operators::{OperatorStat, Operators, ShapeStat};
pub use phases::{PhaseExample, PhaseStat, Phases};
pub use trace::Trace;
pub use verdict::Verdict;

use rooflens_schema::{Note, RankTables};

use crate::finding::{Finding, Findings, NotComputed};

/// A question and how to answer it.
pub trait Analysis: Sync {
    /// Name: key in JSON, file name under `findings/`, word for `list` and `explain`.
    fn name(&self) -> &'static str;
    /// The question it answers.
    fn question(&self) -> &'static str;
    /// How each number is made: the text of `rooflens explain`.
    fn explain(&self) -> &'static str;
    /// What the trace lacks where there is nothing to fold over, as "device activity".
    fn needs(&self) -> &'static str;
    /// A fold over the ranks.
    fn start(&self) -> Box<dyn Fold>;
}

/// Sees each rank once, then answers.
pub trait Fold: Send {
    /// Takes in one rank.
    fn rank(&mut self, tables: &RankTables);
    /// The answer, or `None` where no rank had the rows it needs. `earlier` holds the findings of
    /// the analyses before it in [`ALL`].
    fn finish(self: Box<Self>, earlier: &Findings) -> Option<Box<dyn Finding>>;
}

/// Every analysis, in the order of the report. An analysis may look at the findings before it.
pub const ALL: &[&dyn Analysis] = &[
    &trace::TraceAnalysis,
    &devices::DevicesAnalysis,
    &kernels::KernelsAnalysis,
    &classes::ClassesAnalysis,
    &operators::OperatorsAnalysis,
    &phases::PhasesAnalysis,
    &launches::LaunchesAnalysis,
    &gaps::GapsAnalysis,
    &modules::ModulesAnalysis,
    &frames::FramesAnalysis,
    &memory::MemoryAnalysis,
    &communication::CommunicationAnalysis,
    &health::HealthAnalysis,
    &verdict::VerdictAnalysis,
];

/// All analyses over a job, rank by rank.
pub struct Job {
    folds: Vec<(&'static dyn Analysis, Box<dyn Fold>)>,
}

impl Default for Job {
    fn default() -> Self {
        Job { folds: ALL.iter().map(|analysis| (*analysis, analysis.start())).collect() }
    }
}

impl Job {
    /// Takes in one rank, whose facts have been derived.
    pub fn rank(&mut self, tables: &RankTables) {
        for (_, fold) in &mut self.folds {
            fold.rank(tables);
        }
    }

    /// Every answer.
    pub fn finish(self, notes: Vec<Note>) -> Findings {
        let mut findings = Findings::default();
        findings.notes = notes;
        for (analysis, fold) in self.folds {
            match fold.finish(&findings) {
                Some(finding) => findings.insert(analysis.name(), finding),
                None => findings.not_computed.push(NotComputed {
                    analysis: analysis.name().to_owned(),
                    reason: format!("the trace has no {}", analysis.needs()),
                }),
            }
        }
        findings
    }
}

/// Derives the facts of each rank and answers every question: the whole of this crate in one call.
pub fn analyze(ranks: &mut [RankTables], notes: Vec<Note>) -> Findings {
    let mut job = Job::default();
    for tables in ranks {
        crate::facts::derive(tables);
        job.rank(tables);
    }
    job.finish(notes)
}
