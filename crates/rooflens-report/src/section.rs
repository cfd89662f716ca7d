//! What the sections of the report have in common.

use rooflens_analyze::Findings;
use rooflens_analyze::ledger::Line;

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
    pub(crate) fn rows(self) -> usize {
        match self {
            Detail::Screen { rows } | Detail::Page { rows } => rows,
            Detail::Full => usize::MAX,
        }
    }

    pub(crate) fn with_rows(self, rows: usize) -> Self {
        match self {
            Detail::Screen { .. } => Detail::Screen { rows },
            Detail::Page { .. } | Detail::Full => Detail::Page { rows },
        }
    }

    pub(crate) fn is_screen(self) -> bool {
        matches!(self, Detail::Screen { .. })
    }
}

/// A part of the report.
#[derive(Debug, Clone, Copy)]
pub struct Section {
    /// Stable word: anchor in HTML.
    pub name: &'static str,
    /// Heading.
    pub title: &'static str,
    /// Returns nothing if the finding is missing or not worth the room.
    pub(crate) draw: fn(&Findings, Detail) -> Vec<Block>,
}

impl Section {
    /// What there is to show; nothing if the finding is missing or not worth the room.
    pub fn blocks(&self, findings: &Findings, detail: Detail) -> Vec<Block> {
        (self.draw)(findings, detail)
    }
}

/// What a rank's device is called; the rank is left out where there is only one.
pub(crate) fn device_label(rank: i32, device: i32, one_rank: bool) -> String {
    let device = if device < 0 { "host".to_owned() } else { format!("device {device}") };
    if one_rank { device } else { format!("rank {rank} {device}") }
}

pub(crate) fn line_tone(line: Line) -> Tone {
    match line {
        Line::Floor => Tone::Floor,
        Line::Inefficiency | Line::Kernels => Tone::Compute,
        Line::Unneeded => Tone::Unneeded,
        Line::Communication => Tone::Communication,
        Line::CommWait => Tone::RankWait,
        Line::Copies => Tone::Copy,
        Line::LaunchBound => Tone::LaunchBound,
        Line::CpuBound => Tone::CpuBound,
        Line::Sync => Tone::Sync,
        Line::Dependency => Tone::Dependency,
        Line::Dispatch => Tone::Dispatch,
        Line::Unknown => Tone::OtherIdle,
    }
}

/// `launch bound` for `launch_bound`.
pub(crate) fn words(word: &str) -> String {
    word.replace('_', " ")
}
