//! Which Python functions take the host time.

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::{Devices, FrameStat, Frames};

use crate::block::Level::Screen;
use crate::block::{Block, Cell, Column, Field};
use crate::section::Detail;

pub(super) fn blocks(findings: &Findings, detail: Detail) -> Vec<Block> {
    let Some(Frames(frames)) = findings.get::<Frames>() else { return vec![] };
    // On one screen the device comes first: functions only without a device.
    let devices = findings.get::<Devices>().is_some_and(|devices| !devices.0.is_empty());
    if frames.is_empty() || (detail.is_screen() && devices) {
        return vec![];
    }
    vec![Block::table("frames", FIELDS, frames, detail.rows())]
}

const FIELDS: &[Field<FrameStat>] = &[
    (Column::text("name", "function"), |row| Cell::code(&row.name)),
    (Column::number("count", "calls").at(Screen), |row| Cell::count(row.count)),
    (Column::number("total_ns", "total").at(Screen).help("Callees included."), |row| {
        Cell::Time(row.total_ns)
    }),
    (
        Column::number("working_self_ns", "self, working")
            .help("The part of self on threads that launch work, or call operators where none does."),
        |row| Cell::Time(row.working_self_ns),
    ),
    (Column::number("self_ns", "self").help("Without Python callees and without operators."), |row| {
        Cell::Time(row.self_ns)
    }),
];
