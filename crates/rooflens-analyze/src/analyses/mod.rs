//! The questions, one a file. The doc comment on a result's field is its documentation.

mod classes;
mod comm_calls;
mod communication;
mod devices;
mod engine_layers;
mod frames;
mod gaps;
mod gemms;
mod health;
mod inferences;
mod kernels;
mod late_host;
mod launches;
mod ledger;
mod memory;
mod modules;
mod operators;
mod parts;
mod phases;
mod products;
mod server_metrics;
mod shape_rates;
mod stragglers;
mod trace;
mod verdict;

pub use crate::ledger::StepShape;
pub use classes::{ClassStat, Classes};
pub use comm_calls::{CommCalls, CommSize};
pub use communication::{CollectiveStat, Communication, Link, RankWait};
pub use devices::{DeviceTime, DeviceTimeline, Devices, Recognised};
pub use engine_layers::{EngineLayer, EngineLayers, LayerGroup};
pub use frames::{FrameStat, Frames};
pub use gaps::{GapExample, GapHost, GapStat, Gaps};
pub use gemms::{GemmShape, Gemms};
pub use health::{CHECKS as HEALTH_CHECKS, Health, HealthCheck};
pub use inferences::{DurationSpread, Inferences};
pub use kernels::{KernelStat, Kernels};
pub(crate) use late_host::{LateHost, LatePhase};
pub use launches::{ApiStat, Launches};
pub use ledger::{
    ClassLedger, FloorSource, LayerClass, LayerLedger, LayerTime, Ledger, LedgerLine, LineStep, OUTSIDE,
    PhaseLedger, Reachable, StageLedger, StepTime,
};
pub use memory::{DeviceMemory, Memory, MemoryAtEnd, SiteMemory};
pub use modules::{LayerStat, ModuleStat, Modules};
pub use operators::{OperatorStat, Operators, ShapeStat};
pub use parts::{PartStat, Parts, PartsOfPhase};
pub(crate) use phases::BACKWARD;
pub use phases::{Extent, FlawedSteps, PhaseExample, PhaseRole, PhaseStat, Phases};
pub use products::{ProductStat, Products};
pub use server_metrics::{DeviceMetrics, Gauge, ModelMetrics, Over, ServerMetrics};
pub use shape_rates::{DevicePeaks, RooflineRate, ShapeKernel, ShapeKernelRate, ShapeRate, ShapeRates};
pub use stragglers::{Excess, Straggler, Stragglers};
pub use trace::Trace;
pub use verdict::{Claim, Verdict};

use std::sync::{Mutex, PoisonError};
use std::thread;

use rooflens_schema::{Note, RankTables};

pub(crate) use crate::collectives::Algorithm;
use crate::finding::{Analysis, Findings, Fold, NotComputed};
use crate::timeline::TimelineFold;

/// Every analysis, in the order of the report. An analysis may look at the findings before it.
pub const ALL: &[Analysis] = &[
    trace::ANALYSIS,
    devices::ANALYSIS,
    kernels::ANALYSIS,
    classes::ANALYSIS,
    operators::ANALYSIS,
    phases::ANALYSIS,
    launches::ANALYSIS,
    gaps::ANALYSIS,
    late_host::ANALYSIS,
    communication::ANALYSIS,
    ledger::ANALYSIS,
    stragglers::ANALYSIS,
    modules::ANALYSIS,
    parts::ANALYSIS,
    products::ANALYSIS,
    shape_rates::ANALYSIS,
    frames::ANALYSIS,
    memory::ANALYSIS,
    comm_calls::ANALYSIS,
    gemms::ANALYSIS,
    engine_layers::ANALYSIS,
    inferences::ANALYSIS,
    server_metrics::ANALYSIS,
    health::ANALYSIS,
    verdict::ANALYSIS,
    crate::advice::ANALYSIS,
];

/// Rows from which the analyses of a rank share the cores.
const LARGE_RANK: usize = 100_000;

/// All analyses over a job, rank by rank.
pub struct JobAnalyses {
    folds: Vec<(&'static Analysis, Box<dyn Fold>)>,
    timeline: TimelineFold,
}

impl Default for JobAnalyses {
    fn default() -> Self {
        let folds = ALL.iter().map(|analysis| (analysis, (analysis.start)())).collect();
        JobAnalyses { folds, timeline: TimelineFold::default() }
    }
}

impl JobAnalyses {
    /// Takes in one rank, whose facts have been derived.
    pub fn rank(&mut self, tables: &RankTables) {
        // Threads would only be in the way of a small one.
        let rows = tables.kernels.len() + tables.ops.len() + tables.api.len() + tables.frames.len();
        let threads = match rows {
            ..LARGE_RANK => 1,
            _ => thread::available_parallelism().map_or(1, usize::from),
        };
        let folds = Mutex::new(self.folds.iter_mut());
        let next = || folds.lock().unwrap_or_else(PoisonError::into_inner).next();
        let work = || {
            while let Some((_, fold)) = next() {
                fold.rank(tables);
            }
        };
        thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(work);
            }
            // As long as the longest analyses, so that it begins first.
            self.timeline.rank(tables);
            work();
        });
    }

    /// Every answer.
    pub fn finish(self, notes: Vec<Note>) -> Findings {
        let mut findings = Findings::default();
        findings.notes = notes;
        for (analysis, fold) in self.folds {
            match fold.finish(&findings) {
                Some(finding) => findings.insert(analysis.name, finding),
                None => findings.not_computed.push(NotComputed {
                    analysis: analysis.name.to_owned(),
                    reason: format!("the trace has no {}", analysis.needs),
                }),
            }
        }
        findings.timeline = self.timeline.finish(findings.get::<Communication>().map(|found| &found.waiting));
        findings
    }
}

/// Derives the facts of each rank and answers every question: the whole of this crate in one call.
pub fn analyze(ranks: &mut [RankTables], notes: Vec<Note>) -> Findings {
    let mut job = JobAnalyses::default();
    for tables in ranks {
        crate::facts::derive(tables);
        job.rank(tables);
    }
    job.finish(notes)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::sample::{findings, some_of_everything};

    #[test]
    fn every_file_is_in_the_registry() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/analyses");
        let files = std::fs::read_dir(folder).expect("the sources");
        let names: BTreeSet<&str> = ALL.iter().map(|analysis| analysis.name).collect();
        for file in files {
            let path = file.expect("an entry").path();
            let name = path.file_stem().and_then(|stem| stem.to_str()).expect("a name");
            assert!(name == "mod" || names.contains(name), "add {name} to ALL");
        }
        assert_eq!(names.len(), ALL.len(), "two analyses have the same name");
    }

    #[test]
    fn every_analysis_explains_itself() {
        for analysis in ALL {
            let name = analysis.name;
            assert!(analysis.question.ends_with('?'), "{name}: a question ends with a question mark");
            assert!(analysis.explain.len() > 100, "{name}: explain each number");
            assert!(!analysis.needs.is_empty(), "{name}: say what is needed");
        }
    }

    fn as_json(findings: &Findings) -> Vec<(&'static str, String)> {
        findings.iter().map(|(name, finding)| (name, finding.to_json().to_string())).collect()
    }

    #[test]
    fn answers_do_not_depend_on_the_order_of_ids() {
        let ranks = |shifts: [usize; 3]| [0, 1, 2].map(|rank| some_of_everything(rank as i32, shifts[rank]));
        let found = findings(&ranks([0, 0, 0]));
        assert_eq!(found.not_computed, []);
        assert_eq!(as_json(&found), as_json(&findings(&ranks([5, 0, 17]))));
    }

    #[test]
    fn an_empty_trace_is_no_reason_to_fail() {
        let found = findings(&[RankTables::default()]);
        let computed: Vec<&str> = found.iter().map(|(name, _)| name).collect();
        assert_eq!(computed, ["trace", "health", "verdict"]);
        assert_eq!(found.not_computed.len(), ALL.len() - 3);
        assert_eq!(findings(&[]).iter().count(), 0);
    }
}
