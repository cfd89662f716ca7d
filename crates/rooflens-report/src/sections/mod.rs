//! The sections of the report, one a file. A section picks from the findings and orders; it neither
//! draws nor rounds. To add one: a file here, a `mod` line and an entry in [`ALL`].

pub(crate) mod advice;
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
mod launches;
mod ledger;
mod memory;
mod missing;
mod model;
mod modules;
mod notes;
pub(crate) mod operators;
mod phases;
mod roofline;
mod run;
mod server_metrics;
mod trace;
mod verdict;

use rooflens_analyze::Findings;

use crate::block::Block;
pub(crate) use crate::section::line_tone;
pub use crate::section::{Detail, Section};

const fn section(
    name: &'static str,
    title: &'static str,
    draw: fn(&Findings, Detail) -> Vec<Block>,
) -> Section {
    Section { name, title, draw }
}

/// Every section, in the order of the report.
pub const ALL: &[Section] = &[
    section("run", "What was measured", run::blocks),
    section("verdict", "Verdict", verdict::blocks),
    section("model", "Model and measurement", model::blocks),
    section("trace", "Trace", trace::blocks),
    section("devices", "Devices", devices::blocks),
    section("ledger", "Time ledger", ledger::blocks),
    section("roofline", "Roofline", roofline::blocks),
    section("gaps", "Idle by cause", gaps::blocks),
    section("advice", "Advice", advice::blocks),
    section("design", "Changes to the model's design", advice::design_blocks),
    section("kernels", "Kernels", kernels::blocks),
    section("operators", "Operators", operators::blocks),
    section("phases", "Steps and phases", phases::blocks),
    section("launches", "Launches", launches::blocks),
    section("modules", "Layers and modules", modules::blocks),
    section("frames", "Python functions", frames::blocks),
    section("memory", "Memory", memory::blocks),
    section("communication", "Communication", communication::blocks),
    section("comm_calls", "Collectives", comm_calls::blocks),
    section("gemms", "GEMMs", gemms::blocks),
    section("inferences", "Engine runs", inferences::blocks),
    section("server_metrics", "Server metrics", server_metrics::blocks),
    section("engine_layers", "Engine layers", engine_layers::blocks),
    section("health", "Trace health", health::blocks),
    section("notes", "Notes", notes::blocks),
    section("missing", "Not computed", missing::blocks),
    section("next", "Next", advice::next_blocks),
];

/// The section of that name.
pub fn find(name: &str) -> Option<&'static Section> {
    ALL.iter().find(|section| section.name == name)
}
