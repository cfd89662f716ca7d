//! Which Python functions take the host time.

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::{Devices, FrameStat, Frames};

use crate::block::{Block, Cell, Column, Field, Level, Table};
use crate::sections::{Detail, Section};

pub(super) struct FramesSection;

impl Section for FramesSection {
    fn name(&self) -> &'static str {
        "frames"
    }
    fn title(&self) -> &'static str {
        "Python functions"
    }
    fn blocks(&self, findings: &Findings, detail: Detail) -> Vec<Block> {
        let Some(Frames(frames)) = findings.get::<Frames>() else { return vec![] };
        // On one screen the device comes first: functions only where there is none.
        let devices = findings.get::<Devices>().is_some_and(|devices| !devices.0.is_empty());
        if frames.is_empty() || (detail.is_screen() && devices) {
            return vec![];
        }
        vec![Block::Table(Table::new("frames", FIELDS, frames, detail.rows()))]
    }
}

const FIELDS: &[Field<FrameStat>] = &[
    (Column::text("name", "function"), |frame| Cell::code(&frame.name)),
    (Column::number("count", "calls").at(Level::Screen), |frame| Cell::count(frame.count)),
    (Column::number("total_ns", "total").at(Level::Screen).help("Callees included."), |frame| {
        Cell::Time(frame.total_ns)
    }),
    (
        Column::number("working_self_ns", "self, working")
            .help("The part of self on threads that launch work, or call operators where none does."),
        |frame| Cell::Time(frame.working_self_ns),
    ),
    (Column::number("self_ns", "self").help("Without Python callees and without operators."), |frame| {
        Cell::Time(frame.self_ns)
    }),
];
