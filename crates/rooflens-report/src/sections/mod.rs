//! The sections of the report, one a file. A section picks from the findings and orders; it neither
//! draws nor rounds. To add one: a file here, a `mod` line and an entry in [`ALL`].

pub(crate) mod advice;
mod comm_calls;
mod communication;
pub mod design;
mod devices;
mod engine_layers;
mod frames;
mod gaps;
mod gemms;
mod health;
mod inferences;
mod kernels;
mod launches;
mod ledger;
pub(crate) use ledger::tone as ledger_tone;
mod memory;
mod missing;
mod model;
mod modules;
mod next;
mod notes;
mod operators;
pub use operators::shapes as shapes_of;
mod phases;
mod roofline;
mod run;
mod server_metrics;
mod trace;
mod verdict;

use rooflens_analyze::Findings;
use rooflens_analyze::ledger::Line;
use rooflens_schema::tables::GapCause;

use crate::block::{Block, Tone};

/// How much of a section is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// One screen for the whole report.
    Screen {
        /// Rows of a table.
        rows: usize,
    },
    /// A page to read.
    Page {
        /// Rows of a table.
        rows: usize,
    },
    /// Everything there is.
    Full,
}

impl Detail {
    /// How many rows of a table are wanted.
    pub(crate) fn rows(self) -> usize {
        match self {
            Detail::Screen { rows } | Detail::Page { rows } => rows,
            Detail::Full => usize::MAX,
        }
    }

    /// The same with another number of rows.
    #[must_use]
    pub(crate) fn with_rows(self, rows: usize) -> Self {
        match self {
            Detail::Screen { .. } => Detail::Screen { rows },
            Detail::Page { .. } | Detail::Full => Detail::Page { rows },
        }
    }

    /// Whether everything has to fit on one screen.
    pub(crate) fn is_screen(self) -> bool {
        matches!(self, Detail::Screen { .. })
    }
}

/// A part of the report.
pub trait Section: Sync {
    /// Stable word: anchor in HTML.
    fn name(&self) -> &'static str;
    /// Heading.
    fn title(&self) -> &'static str;
    /// What there is to show; nothing where the finding is missing or not worth the room.
    fn blocks(&self, findings: &Findings, detail: Detail) -> Vec<Block>;
}

/// Every section, in the order of the report.
pub const ALL: &[&dyn Section] = &[
    &run::RunSection,
    &verdict::VerdictSection,
    &model::ModelSection,
    &trace::TraceSection,
    &devices::DevicesSection,
    &ledger::LedgerSection,
    &roofline::RooflineSection,
    &gaps::GapsSection,
    &advice::AdviceSection,
    &design::DesignSection,
    &kernels::KernelsSection,
    &operators::OperatorsSection,
    &phases::PhasesSection,
    &launches::LaunchesSection,
    &modules::ModulesSection,
    &frames::FramesSection,
    &memory::MemorySection,
    &communication::CommunicationSection,
    &comm_calls::CommCallsSection,
    &gemms::GemmsSection,
    &inferences::InferencesSection,
    &server_metrics::ServerMetricsSection,
    &engine_layers::EngineLayersSection,
    &health::HealthSection,
    &notes::NotesSection,
    &missing::MissingSection,
    &next::NextSection,
];

/// The section of that name.
pub fn find(name: &str) -> Option<&'static dyn Section> {
    ALL.iter().copied().find(|section| section.name() == name)
}

/// What a rank's device is called; the rank is left out where there is only one.
fn device_label(rank: i32, device: i32, one_rank: bool) -> String {
    let device = if device < 0 { "host".to_owned() } else { format!("device {device}") };
    if one_rank { device } else { format!("rank {rank} {device}") }
}

/// What stands for a line of the ledger.
pub(crate) fn line_tone(line: Line) -> Tone {
    ledger::tone(line)
}

/// What stands for idle time of a cause.
fn gap_tone(cause: GapCause) -> Tone {
    match cause {
        GapCause::LaunchBound => Tone::LaunchBound,
        GapCause::CpuBound => Tone::CpuBound,
        GapCause::Sync => Tone::Sync,
        GapCause::DataDependency => Tone::Dependency,
        GapCause::Dispatch => Tone::Dispatch,
        GapCause::None | GapCause::Tail | GapCause::Unknown => Tone::OtherIdle,
    }
}

/// `launch bound` for `launch_bound`.
pub fn words(word: &str) -> String {
    word.replace('_', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_registered_once() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/sections");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
            .filter(|name| name != "mod")
            .collect();
        let mut names: Vec<String> = ALL.iter().map(|section| section.name().to_owned()).collect();
        files.sort();
        names.sort();
        assert_eq!(files, names, "add the section to ALL, under the name of its file");
    }

    #[test]
    fn without_findings_no_section_fails() {
        let findings = Findings::default();
        for section in ALL {
            for detail in [Detail::Screen { rows: 0 }, Detail::Page { rows: 5 }, Detail::Full] {
                section.blocks(&findings, detail);
            }
            assert!(!section.title().is_empty());
        }
    }
}
